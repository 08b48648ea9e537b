package hadoopenv_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

const krb5Conf = `[libdefaults]
default_realm = EXAMPLE.COM
[realms]
EXAMPLE.COM = {
  kdc = 127.0.0.1:1
}
`

// machine is a user's machine: its folder and the variables of its environment.
type machine struct {
	dir       string
	variables map[string]string
}

// newMachine makes a machine with a cluster's configuration, with Kerberos or open, and alice's
// keytab.
func newMachine(t *testing.T, authentication string) machine {
	t.Helper()
	m := machine{dir: t.TempDir()}
	write := func(name, text string) string {
		path := filepath.Join(m.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("core-site.xml", `<configuration><property><name>hadoop.security.authentication</name><value>`+authentication+`</value></property></configuration>`)
	m.variables = map[string]string{
		"HADOOP_CONF_DIR": m.dir, "HADOOP_USER_NAME": "carol",
		"KRB5_CONFIG": write("krb5.conf", krb5Conf), "KRB5CCNAME": "FILE:" + filepath.Join(m.dir, "no-tickets"),
	}
	credstest.Keytab(t, filepath.Join(m.dir, "alice.keytab"), "alice@EXAMPLE.COM")
	return m
}

// with sets a variable.
func (m machine) with(name, value string) machine {
	m.variables = maps.Clone(m.variables)
	m.variables[name] = value
	return m
}

// tokens writes a file with bob's token for a NameNode, and names it.
func (m machine) tokens(t *testing.T) machine { return m.tokensOf(t, "bob@EXAMPLE.COM") }

// planted makes a credential cache that everybody can write.
func planted(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "krb5cc")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666)); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}

func (m machine) tokensOf(t *testing.T, owner string) machine {
	t.Helper()
	held := creds.New()
	held.Tokens["ns"] = credstest.Delegation("ha-hdfs:ns", identifier.Delegation{Owner: owner, Renewer: "rm"})
	path := filepath.Join(t.TempDir(), "tokens")
	if err := held.WriteFile(path, creds.Writable); err != nil {
		t.Fatal(err)
	}
	return m.with("HADOOP_TOKEN_FILE_LOCATION", path)
}

func (m machine) identify(t *testing.T, options map[string]string) (hadoopenv.Identity, error) {
	t.Helper()
	for name, value := range options {
		options[name] = strings.ReplaceAll(value, "DIR", m.dir)
	}
	c, err := config.New(config.Layer{Source: "-D", Values: options})
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return m.variables[name] }
	env, err := hadoopenv.Read(getenv, c)
	if err != nil {
		t.Fatal(err)
	}
	return env.Identify(getenv, c)
}

// TestWhoSomebodyIs would catch a client that acts as the user in HADOOP_USER_NAME on a cluster
// with Kerberos, and one that does not name its proxied user.
func TestWhoSomebodyIs(t *testing.T) {
	keytab := map[string]string{"security.kerberos.login.keytab": "DIR/alice.keytab", "security.kerberos.login.principal": "alice"}
	open, secure := newMachine(t, "simple"), newMachine(t, "kerberos")
	for _, c := range []struct {
		name       string
		on         machine
		options    map[string]string
		user, real string
		login      bool
	}{
		{"an open cluster believes the name", open, nil, "carol", "", false},
		{"an open cluster needs no keytab", open, maps.Clone(keytab), "carol", "", false},
		{"for somebody else, by an option", open, map[string]string{"security.proxy-user": "dave"}, "dave", "carol", false},
		{"for somebody else, by the environment", open.with("HADOOP_PROXY_USER", "erin"), nil, "erin", "carol", false},
		{"the option goes before the environment", open.with("HADOOP_PROXY_USER", "erin"), map[string]string{"security.proxy-user": "dave"}, "dave", "carol", false},
		{"for oneself", open, map[string]string{"security.proxy-user": "carol"}, "carol", "", false},
		{"the principal of the keytab", secure, maps.Clone(keytab), "alice", "", true},
		{"the keytab's for somebody else", secure.with("HADOOP_PROXY_USER", "erin"), maps.Clone(keytab), "erin", "alice", true},
		{"the owner of the tokens", secure.tokens(t), nil, "bob", "", false},
		{"though somebody has laid a ticket there", secure.tokens(t).with("KRB5CCNAME", planted(t)), nil, "bob", "", false},
		{"the keytab goes before the tokens", secure.tokens(t), maps.Clone(keytab), "alice", "", true},
		{"krb5.conf by an option", secure.with("KRB5_CONFIG", "/nowhere"), with(keytab, "security.kerberos.krb5-conf.path", "DIR/krb5.conf"), "alice", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.on.identify(t, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if got.User != c.user || got.RealUser != c.real || (got.Login != nil) != c.login {
				t.Errorf("got user %q, real user %q, login %t", got.User, got.RealUser, got.Login != nil)
			}
			var o yarnrpc.Auth
			got.Show(&o)
			if o.User.Effective != c.user || o.User.Real != c.real || (o.Login != nil) != c.login {
				t.Errorf("a connection is told %+v, with a login: %t", o.User, o.Login != nil)
			}
		})
	}
}

func with(options map[string]string, name, value string) map[string]string {
	options = maps.Clone(options)
	options[name] = value
	return options
}

// TestTokensAreTheUsers would catch an application that gets another user's tokens, above all those
// of the service that acts for its user, and a login without effect because servers prefer tokens.
func TestTokensAreTheUsers(t *testing.T) {
	keytab := map[string]string{"security.kerberos.login.keytab": "DIR/alice.keytab", "security.kerberos.login.principal": "alice"}
	secure := newMachine(t, "kerberos")
	for _, c := range []struct {
		name    string
		on      machine
		options map[string]string
		kept    bool
	}{
		{"one's own, beside a login", secure.tokensOf(t, "alice@EXAMPLE.COM"), maps.Clone(keytab), true},
		{"one's own, by a short name", secure.tokensOf(t, "alice"), maps.Clone(keytab), true},
		{"those of whom one acts for", secure.tokens(t), with(keytab, "security.proxy-user", "bob"), true},
		{"without a login", secure.tokens(t), nil, true},
		{"somebody else's", secure.tokens(t), maps.Clone(keytab), false},
		{"of another realm", secure.tokensOf(t, "alice@ELSEWHERE.COM"), maps.Clone(keytab), false},
		{"one's own while one acts for another", secure.tokensOf(t, "alice@EXAMPLE.COM"), with(keytab, "security.proxy-user", "bob"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.on.identify(t, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if kept := len(got.Credentials.Tokens) > 0; kept != c.kept {
				t.Errorf("user %s has %v", got.User, got.Credentials)
			}
		})
	}
}

// TestWithoutALoginTheRemedyIsNamed would catch a submission that starts and then gets each
// server's own refusal.
func TestWithoutALoginTheRemedyIsNamed(t *testing.T) {
	secure := newMachine(t, "kerberos")
	for _, c := range []struct {
		name    string
		on      machine
		options map[string]string
		want    string
	}{
		{"no ticket", secure, nil, "kinit"},
		{"a keytab without a principal", secure, map[string]string{"security.kerberos.login.keytab": "DIR/alice.keytab"}, "security.kerberos.login.principal"},
		{"a principal without a keytab", secure, map[string]string{"security.kerberos.login.principal": "alice"}, "security.kerberos.login.keytab"},
		{"a principal that the keytab does not have", secure, map[string]string{"security.kerberos.login.keytab": "DIR/alice.keytab", "security.kerberos.login.principal": "zoe"}, "alice@EXAMPLE.COM"},
		{"tickets switched off", secure, map[string]string{"security.kerberos.login.use-ticket-cache": "false"}, "security.kerberos.login.keytab"},
		{"for somebody else with tokens alone", secure.tokens(t), map[string]string{"security.proxy-user": "dave"}, "kinit"},
		{"tokens that are not there", secure.with("HADOOP_TOKEN_FILE_LOCATION", "/nowhere"), nil, "HADOOP_TOKEN_FILE_LOCATION"},
		{"no krb5.conf", secure.with("KRB5_CONFIG", "/nowhere"), nil, "/nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.on.identify(t, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to name %s", err, c.want)
			}
		})
	}
	if _, err := secure.identify(t, nil); !errors.Is(err, hadoopenv.ErrNoLogin) {
		t.Errorf("got %v", err)
	}
}
