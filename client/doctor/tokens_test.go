package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// tokenUntil is a token of alice for a NameNode; end is when it ends for good.
func tokenUntil(service string, end time.Time) *creds.Token { return tokenFor("rm", service, end) }

// tokenFor is such a token with a renewer. It was issued a week before its end.
func tokenFor(renewer, service string, end time.Time) *creds.Token {
	return credstest.Delegation(service, identifier.Delegation{
		Owner: "alice@EXAMPLE.TEST", Renewer: renewer, Issued: end.Add(-7 * 24 * time.Hour), Max: end,
	})
}

// tokens gives the user a file of tokens.
func (m *machine) tokens(held ...*creds.Token) {
	m.t.Helper()
	all := creds.New()
	for _, token := range held {
		all.Tokens[token.Service] = token
	}
	path := filepath.Join(m.t.TempDir(), "tokens")
	if err := all.WriteFile(path, creds.Writable); err != nil {
		m.t.Fatal(err)
	}
	m.env[creds.FileVariable] = path
}

// A file of tokens tells more than a failed login with them. The test would catch a doctor that overlooks dead
// tokens, or that asks a user with tokens for a ticket.
func TestTokensThatWereHandedOn(t *testing.T) {
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		spoil        func(*machine)
		check        string
		status       Status
		text, remedy string
	}{
		"a file that is not there": {
			func(m *machine) { m.env[creds.FileVariable] = "/nowhere/tokens" },
			"credentials", Failed, "/nowhere/tokens: no such file", "unset HADOOP_TOKEN_FILE_LOCATION",
		},
		"a file that is not there, on an open cluster": {
			func(m *machine) {
				m.properties["hadoop.security.authentication"] = "simple"
				m.env[creds.FileVariable] = "/nowhere/tokens"
			},
			"credentials", Failed, "/nowhere/tokens: no such file", "unset HADOOP_TOKEN_FILE_LOCATION",
		},
		"an empty file": {func(m *machine) { m.tokens() }, "credentials", Warning, "holds no tokens", "the launcher"},
		"a token of yesterday": {
			func(m *machine) { m.tokens(tokenUntil("ha-hdfs:ns", now.Add(-24*time.Hour))) },
			"credentials", Failed, "HDFS_DELEGATION_TOKEN for ha-hdfs:ns of alice@EXAMPLE.TEST, whose maximum lifetime ended", "get new tokens",
		},
		"an identifier that is none": {
			func(m *machine) {
				m.tokens(&creds.Token{Kind: creds.KindHDFSDelegation, Service: "ns", Identifier: []byte("nonsense")})
			},
			"credentials", Failed, "HDFS_DELEGATION_TOKEN for ns", "get new tokens",
		},
		"a token beside a ticket": {
			func(m *machine) { m.tokens(tokenUntil("ha-hdfs:ns", now.Add(time.Hour))) },
			"credentials", OK, "of alice@EXAMPLE.TEST, which ends at ", "",
		},
		"a token in place of a ticket": {
			func(m *machine) {
				m.env["KRB5CCNAME"] = "/nowhere/cache"
				m.tokens(tokenUntil("ha-hdfs:ns", now.Add(time.Hour)))
			},
			"credentials", OK, "the tokens are user alice's", "",
		},
		"no login is tried then": {
			func(m *machine) {
				m.env["KRB5CCNAME"] = "/nowhere/cache"
				m.tokens(tokenUntil("ha-hdfs:ns", now.Add(time.Hour)))
			},
			"login", Skipped, "tokens are used", "",
		},
		"a token of another kind": {
			func(m *machine) { m.tokens(&creds.Token{Kind: "kms-dt", Service: "kms:9600"}) },
			"credentials", OK, "holds a kms-dt for kms:9600", "",
		},
		"tokens for somebody else": {
			func(m *machine) {
				m.env["KRB5CCNAME"] = "/nowhere/cache"
				m.env["HADOOP_PROXY_USER"] = "bob"
				m.tokens(tokenUntil("ha-hdfs:ns", now.Add(time.Hour)))
			},
			"credentials", Failed, "no ticket in /nowhere/cache", "run kinit",
		},
		"for somebody else": {
			func(m *machine) { m.env["HADOOP_PROXY_USER"] = "bob" },
			"credentials", OK, "is user alice, who acts for bob", "",
		},
		"for somebody else, on an open cluster": {
			func(m *machine) {
				m.properties["hadoop.security.authentication"] = "simple"
				m.options["security.proxy-user"] = "bob"
			},
			"credentials", OK, "you are user alice, who acts for bob", "",
		},
		"neither a ticket nor a keytab": {
			func(m *machine) { m.options["security.kerberos.login.use-ticket-cache"] = "false" },
			"credentials", Failed, "there is no login", "security.kerberos.login.keytab",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.kerberized("127.0.0.1:1")
			tc.spoil(m)
			m.wants(m.examine(), tc.check, tc.status, tc.text, tc.remedy)
		})
	}
}

// desk issues tokens with this end, or refuses.
type desk struct {
	held    *creds.Token
	dead    error // the held token is refused
	end     time.Time
	refuses error
	keeps   error // tokens cannot be canceled
	open    int   // tokens that were obtained and not canceled
	told    []string
}

func (d *desk) TokenOf(context.Context, string, *creds.Credentials) (*creds.Token, error) {
	return d.held, nil
}

func (d *desk) Stat(_ context.Context, uri string) (filesystem.FileInfo, error) {
	return filesystem.FileInfo{URI: uri, IsDir: true}, d.dead
}

func (d *desk) DelegationToken(_ context.Context, uri, renewer string) (*creds.Token, error) {
	d.told = append(d.told, uri+" "+renewer)
	if d.refuses != nil {
		return nil, d.refuses
	}
	d.open++
	return tokenUntil(uri, d.end), nil
}

func (d *desk) CancelDelegationToken(context.Context, string, *creds.Token) error {
	if d.keeps == nil {
		d.open--
	}
	return d.keeps
}

// The doctor obtains the tokens of a job as a test. It would catch a token that stays alive, and a renewer that
// cannot renew.
func TestTokensForAJobAreTried(t *testing.T) {
	end := time.Date(2027, 1, 8, 0, 0, 0, 0, time.UTC)
	secure := new(hadoopconf.Conf).With("test", map[string]string{
		"hadoop.security.authentication": "kerberos", "yarn.resourcemanager.principal": "rm/host@EXAMPLE.TEST",
	})
	dead := fmt.Errorf("stat: %w", &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.token.SecretManager.InvalidToken", Message: "gone"})
	refused := &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.AccessControlException", Message: "no"}
	for name, tc := range map[string]struct {
		desk         desk
		login        *kerberos.Login
		status       Status
		text, remedy string
		end          time.Time
	}{
		"it is":                {desk{end: end}, new(kerberos.Login), OK, "rm may renew it until " + moment(end), "", end},
		"it was handed on":     {desk{held: tokenUntil("a", end)}, nil, OK, "the token for hdfs://a/ that the launcher passed in", "", end},
		"nobody renews it":     {desk{held: tokenFor("", "a", end)}, nil, OK, "the token for hdfs://a/ that the launcher passed in", "", end.Add(-6 * 24 * time.Hour)},
		"YARN cannot renew it": {desk{held: tokenFor("bob", "a", end)}, nil, Failed, `the token for a names "bob"`, "whose renewer is the ResourceManager", time.Time{}},
		"it is dead":           {desk{held: tokenUntil("a", end), dead: dead}, nil, Failed, "hdfs://a/ rejects the token that the launcher passed in: InvalidToken: gone", "get new tokens", time.Time{}},
		"it was not":           {desk{}, nil, Failed, "no token for hdfs://a/", "kinit", time.Time{}},
		"the cluster is open":  {desk{refuses: fmt.Errorf("get: %w", dfs.ErrNoTokens)}, new(kerberos.Login), OK, "is open", "", time.Time{}},
		"it is refused":        {desk{refuses: refused}, new(kerberos.Login), Failed, "gives user alice no token: AccessControlException: no", "access", time.Time{}},
		"it stays":             {desk{end: end, keeps: errors.New("away")}, new(kerberos.Login), Warning, "cannot be canceled: away", "by itself", end},
	} {
		t.Run(name, func(t *testing.T) {
			v := &visit{conf: secure, who: hadoopenv.Identity{User: "alice", Login: tc.login}}
			got, ends := v.tryTokens(t.Context(), &tc.desk, []string{"hdfs://a/"}, "rm/host@R")
			has := slices.ContainsFunc(got, func(f Finding) bool {
				return f.Status == tc.status && strings.Contains(f.Text, tc.text) && strings.Contains(f.Remedy, tc.remedy)
			})
			if !has || !ends.Equal(tc.end) {
				t.Errorf("got %+v, until %v", got, ends)
			}
			if tc.desk.keeps == nil && tc.desk.open != 0 {
				t.Error("a token lives on")
			}
			if told := strings.Join(tc.desk.told, ", "); told != "" && told != "hdfs://a/ rm/host@R" {
				t.Errorf("asked for %s", told)
			}
		})
	}
}

// Jobs that run for weeks depend on the place of the keytab, and on how YARN uses it. The test would catch a
// doctor that promises too much.
func TestHowLongAJobCanLive(t *testing.T) {
	end := time.Date(2027, 1, 8, 0, 0, 0, 0, time.UTC)
	const (
		keytab   = "security.kerberos.login.keytab"
		shipped  = "yarn.security.kerberos.ship-local-keytab"
		place    = "yarn.security.kerberos.localized-keytab-path"
		attempts = "yarn.application-attempts"
		replaces = "yarn.resourcemanager.proxy-user-privileges.enabled"
	)
	for name, tc := range map[string]struct {
		options    map[string]string
		properties map[string]string
		real       string
		elsewhere  bool // files are staged on another file system than fs.defaultFS
		status     Status
		texts      []string
	}{
		"without a keytab":              {nil, nil, "", false, OK, []string{"can use HDFS until " + moment(end) + " at the latest;"}},
		"with one":                      {map[string]string{keytab: "k", attempts: "1"}, nil, "", false, OK, []string{"which finds it as krb5.keytab", "without limit: the ApplicationMaster"}},
		"with one on the nodes":         {map[string]string{keytab: "k", attempts: "1", shipped: "false", place: "/etc/k"}, nil, "", false, OK, []string{"the keytab /etc/k of its node"}},
		"with one nowhere":              {map[string]string{keytab: "k", shipped: "false"}, nil, "", false, Failed, []string{"absolute path"}},
		"with one for somebody else":    {map[string]string{keytab: "k"}, nil, "carol", false, OK, []string{"it belongs to carol", "can use HDFS until " + moment(end) + " at the latest;"}},
		"with one and second attempts":  {map[string]string{keytab: "k"}, nil, "", false, Warning, []string{"no second ApplicationMaster after " + moment(end) + " at the latest"}},
		"with one, where YARN has one":  {map[string]string{keytab: "k"}, map[string]string{"yarn.resourcemanager.am.max-attempts": "1"}, "", false, OK, []string{"without limit: the ApplicationMaster"}},
		"with one and all that helps":   {map[string]string{keytab: "k", attempts: "2"}, map[string]string{replaces: "true"}, "", false, OK, []string{"without limit: the ApplicationMaster"}},
		"second attempts and no keytab": {map[string]string{attempts: "2"}, nil, "", false, OK, []string{"can use HDFS until " + moment(end) + " at the latest;"}},
		"with one, staged elsewhere":    {map[string]string{keytab: "k", attempts: "2"}, map[string]string{replaces: "true"}, "", true, Warning, []string{"no second ApplicationMaster after " + moment(end), "only for fs.defaultFS"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			maps.Copy(m.options, tc.options)
			m.examine() // sets the options
			options, err := m.patient.Options()
			if err != nil {
				t.Fatal(err)
			}
			v := &visit{config: options, conf: new(hadoopconf.Conf).With("test", tc.properties), who: hadoopenv.Identity{User: "alice", RealUser: tc.real}}
			findings := v.life(end, !tc.elsewhere)
			if f, has := v.keytabOfMaster(); has {
				findings = append(findings, f)
			}
			worst := Skipped
			var all []string
			for _, f := range findings {
				worst = worse(worst, f.Status)
				all = append(all, f.Text)
			}
			if worst != tc.status {
				t.Errorf("%s, want %s: %+v", worst, tc.status, findings)
			}
			for _, text := range tc.texts {
				if !strings.Contains(strings.Join(all, "\n"), text) {
					t.Errorf("%q is not in %q", text, all)
				}
			}
		})
	}
}

// TestLogsAreOnAFileSystem would catch a doctor without a warning if NodeManagers get no token to write a job's
// logs.
func TestLogsAreOnAFileSystem(t *testing.T) {
	conf := new(hadoopconf.Conf).With("test", map[string]string{
		"fs.defaultFS": "hdfs://home:8020", "yarn.log-aggregation-enable": "true", "yarn.nodemanager.remote-app-log-dir": "hdfs://logs:8020/logs",
	})
	fsys := dfs.New(dfs.Options{Conf: conf, User: "alice"})
	defer fsys.Close()
	for login, want := range map[*kerberos.Login]string{nil: "hdfs://home:8020/", new(kerberos.Login): "hdfs://home:8020/ hdfs://logs:8020/"} {
		v := &visit{conf: conf, who: hadoopenv.Identity{User: "alice", Login: login}}
		if got, err := v.roots(fsys); err != nil || strings.Join(got, " ") != want {
			t.Errorf("with a login: %t, got %q, %v, want %q", login != nil, got, err, want)
		}
	}
}
