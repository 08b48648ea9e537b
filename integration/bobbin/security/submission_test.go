package security

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// keytabOptions are the options of a login from a user's keytab.
func keytabOptions(u *bobbintest.User) []string {
	return slices.Concat(
		option("security.kerberos.login.keytab", u.Cluster.Keytab(u.Name)),
		option("security.kerberos.login.principal", u.Name+"@"+cluster.Realm),
		option("security.kerberos.krb5-conf.path", u.Cluster.Krb5Conf()),
	)
}

// renewer is the ResourceManager's name as the renewer of tokens.
const renewer = "rm"

// tokenFile makes a credentials file like other launchers do: with a token for the ResourceManager, and one for HDFS.
func tokenFile(t *testing.T, u *bobbintest.User) string {
	t.Helper()
	token, err := u.Files(t).DelegationToken(t.Context(), "/", renewer)
	if err != nil {
		t.Fatal(err)
	}
	return handOn(t, withYARN(t, u, token))
}

// tokenFileOfHadoop is tokenFile with tokens that Hadoop's own command gets for the file systems of these roots.
func tokenFileOfHadoop(t *testing.T, u *bobbintest.User, roots ...string) string {
	t.Helper()
	var tokens []*creds.Token
	for _, root := range roots {
		file := filepath.Join(t.TempDir(), "tokens")
		if out, err := u.Java(t, "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher", "-fs", root, "--renewer", renewer, file).CombinedOutput(); err != nil {
			t.Fatalf("hdfs fetchdt of %s: %v\n%s", root, err, out)
		}
		fetched, err := creds.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range fetched.Tokens { // under the name of its kind
			tokens = append(tokens, token)
		}
	}
	return handOn(t, withYARN(t, u, tokens...))
}

// withYARN returns these tokens and one for the ResourceManager.
func withYARN(t *testing.T, u *bobbintest.User, tokens ...*creds.Token) *creds.Credentials {
	t.Helper()
	token, err := rpctest.Client(t, u.Cluster, u.Name).DelegationToken(t.Context(), renewer)
	if err != nil {
		t.Fatal(err)
	}
	given := creds.New()
	for _, token := range append(tokens, token) {
		given.Tokens[token.Service] = token
	}
	return given
}

// handOn writes tokens into a file, and returns its path.
func handOn(t *testing.T, tokens *creds.Credentials) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := tokens.WriteFile(file, creds.Writable); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSubmission would catch a way to log in that bobbin does not support, a job that needs more credentials than the
// client passes on, and results that do not belong to the user for whom the job runs. TestAJobUsesTwoFileSystems tests
// that one file of tokens serves several jobs.
func TestSubmission(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	t.Run("with a keytab", func(t *testing.T) {
		t.Parallel()
		countWords(t, alice.WithoutTicket().With("KRB5_CONFIG"), alice, keytabOptions(alice)...)
	})
	t.Run("with a keytab that lies on the nodes", func(t *testing.T) {
		t.Parallel()
		flags := slices.Concat(keytabOptions(alice),
			option("yarn.security.kerberos.ship-local-keytab", false),
			option("yarn.security.kerberos.localized-keytab-path", alice.Cluster.Keytab(alice.Name)))
		countWords(t, alice.WithoutTicket().With("KRB5_CONFIG"), alice, flags...)
	})
	t.Run("with somebody else's file of tokens, beside a ticket that is not to be used", func(t *testing.T) {
		t.Parallel()
		bearer := suite.User(t, bob).With("HADOOP_TOKEN_FILE_LOCATION=" + tokenFile(t, alice))
		countWords(t, bearer, alice, option("security.kerberos.login.use-ticket-cache", false)...)
	})
	t.Run("for somebody else", func(t *testing.T) {
		t.Parallel()
		countWords(t, alice, suite.User(t, bob), "--proxy-user", bob)
	})
	t.Run("for somebody else, by the environment, with a keytab", func(t *testing.T) {
		t.Parallel()
		countWords(t, alice.WithoutTicket().With("HADOOP_PROXY_USER="+bob), suite.User(t, bob), keytabOptions(alice)...)
	})
	t.Run("with a ticket, to a queue of one's own", func(t *testing.T) {
		t.Parallel()
		own := suite.User(t, small)
		countWords(t, own, own, option("yarn.application.queue", "small")...)
	})
}

// TestSubmissionIsRefused would catch an error without a remedy, and anything that a refused submission leaves behind.
func TestSubmissionIsRefused(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice, other := suite.User(t, bobbintest.Alice), suite.User(t, bob)
	noTicket := alice.WithoutTicket()
	for name, c := range map[string]struct {
		who   *bobbintest.User
		flags []string
		says  []string
	}{
		"without a ticket":                    {noTicket, nil, []string{"no-tickets", "kinit"}},
		"with somebody else's keytab":         {noTicket, slices.Concat(keytabOptions(other), option("security.kerberos.login.principal", "alice")), []string{"alice@" + cluster.Realm, "bob@" + cluster.Realm, other.Cluster.Keytab(bob)}},
		"with a keytab that is not here":      {noTicket, slices.Concat(keytabOptions(alice), option("security.kerberos.login.keytab", "/nowhere/k.keytab")), []string{"/nowhere/k.keytab", "no such file"}},
		"for somebody else without the right": {other, []string{"--proxy-user", bobbintest.Alice}, []string{"bob@" + cluster.Realm, "not allowed to impersonate alice"}},
		"to a queue of somebody else's":       {alice, option("yarn.application.queue", "small"), []string{"small", bobbintest.Alice}},
		"with less protection than there is":  {alice, option("flink.hadoop.hadoop.rpc.protection", "authentication"), []string{"hadoop.rpc.protection", "auth-conf"}},
		"to servers of another principal":     {alice, option("flink.yarn.resourcemanager.principal", "yarn/_HOST@"+cluster.Realm), []string{"rm/localhost@" + cluster.Realm, "yarn/localhost@" + cluster.Realm}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input := t.TempDir() // before the user is known, no cluster gets a call
			got := c.who.Run(t, bobbintest.Small(append(c.flags, suite.Program(t, "wordcount"), "--input", "file://"+input, "--output", "/tmp/refused")...)...)
			if got.Code != 1 {
				t.Errorf("exit code %d, want 1", got.Code)
			}
			for _, want := range c.says {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("the error does not say %q: %s", want, got)
				}
			}
		})
	}
}
