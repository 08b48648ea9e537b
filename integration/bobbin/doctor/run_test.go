package doctor

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// whatRunSays tests the error of `bobbin run` for each failure of a login. In at most two lines it must name the
// principal, the server or the file, and the remedy. The test would catch errors without a remedy, and submissions that
// leave something behind.
func whatRunSays(t *testing.T, alice *bobbintest.User) {
	c := alice.Cluster
	dir := alice.Scratch(t)
	alice.Write(t, dir+"/text", "some words\n")
	input := []string{suite.Program(t, "wordcount"), "--input", dir + "/text", "--output", dir + "/counts"}

	none := alice.With("KRB5CCNAME=FILE:" + filepath.Join(t.TempDir(), "none"))
	expired := alice.With("KRB5CCNAME=FILE:" + expiredCache(t, c))
	_, away := rewritten(t, c, "127.0.0.1:1")
	const keytab, principal = "security.kerberos.login.keytab", "security.kerberos.login.principal"
	by := func(user, path string, more ...string) []string {
		return options(append([]string{keytab + "=" + path, principal + "=" + user}, more...)...)
	}
	byAlice := func(more ...string) []string { return by("alice", c.Keytab("alice"), more...) }
	changed, gone, locked := outdated(t, c)
	before := left(t, alice)
	dead, halves := tokensOf(t, alice), tokensOf(t, alice)
	dead.cancel(t)
	delete(halves.all.Tokens, halves.yarn.Service)

	t.Run("each illness", func(t *testing.T) { // ends when all of these have ended
		for name, tc := range map[string]struct {
			user  *bobbintest.User
			flags []string
			says  []string
		}{
			"no ticket":                  {none, nil, []string{"none: no such file", "run kinit", keytab}},
			"an expired ticket":          {expired, nil, []string{"alice@" + cluster.Realm, "nn/localhost@" + cluster.Realm, "the ticket has expired: run kinit", "expired at 20"}},
			"a ticket in the kernel":     {alice.With("KRB5CCNAME=KEYRING:persistent:0"), nil, []string{"KEYRING:persistent:0 (KRB5CCNAME)", "FILE:", "kinit"}},
			"a keytab of nobody":         {none, options(keytab + "=" + c.Keytab("alice")), []string{c.Keytab("alice"), principal}},
			"a keytab that is not there": {none, by("alice", "/nowhere/k"), []string{"/nowhere/k: no such file", "ktadd"}},
			"a keytab that is a folder":  {none, by("alice", "/tmp"), []string{"read keytab /tmp", "is a directory"}},
			"a keytab of somebody else": {
				none, by("alice", c.Keytab("bob")),
				[]string{"alice@" + cluster.Realm, c.Keytab("bob"), "keys only of bob@" + cluster.Realm + " (kvno 2: aes256-cts-hmac-sha1-96, ", "ktadd"},
			},
			"another realm": {none, by("alice@OTHER.TEST", c.Keytab("alice")), []string{"alice@OTHER.TEST", "keys only of alice@" + cluster.Realm}},
			"keys of before": {
				none, by("claire", changed),
				[]string{"claire@" + cluster.Realm, changed + ", which has kvno 2: aes256-cts", "export the keytab anew"},
			},
			"a user who is gone":      {none, by("dave", gone), []string{"dave@" + cluster.Realm, "the kdc does not know this user: check the principal and its realm"}},
			"a user who is locked":    {none, by("erin", locked), []string{"erin@" + cluster.Realm, "the account or its password has expired, or is locked"}},
			"a clock that is off":     {none.With("KRB5_CONFIG=" + clockedConf(t, c)), byAlice(), []string{"alice@" + cluster.Realm, "set this machine's clock: it is 20m", " behind the kdc's: kdc 127.0.0.1:"}},
			"no KDC":                  {none.With("KRB5_CONFIG=" + away), byAlice("client.timeout=10s"), []string{"alice@" + cluster.Realm, "127.0.0.1:1", "connection refused", "correct its address in krb5.conf"}},
			"no krb5.conf":            {none.With("KRB5_CONFIG"), byAlice("security.kerberos.krb5-conf.path=/nowhere/k.conf"), []string{"/nowhere/k.conf", "krb5.conf"}},
			"no rule for the user":    {alice, options("flink.hadoop.hadoop.security.auth_to_local=RULE:[1:$1@$0](.*@OTHER.TEST)s/@.*//"), []string{"alice@" + cluster.Realm, "hadoop.security.auth_to_local"}},
			"a client without":        {alice, options("flink.hadoop.hadoop.security.authentication=simple"), []string{"SIMPLE", "set hadoop.security.authentication to kerberos"}},
			"less protection":         {alice, options("flink.hadoop.hadoop.rpc.protection=authentication"), []string{"alice@" + cluster.Realm, "nn/localhost@" + cluster.Realm, "the client accepts [auth], the server offers [auth-conf]", "hadoop.rpc.protection"}},
			"less on the way of data": {alice, options("flink.hadoop.dfs.data.transfer.protection=authentication"), []string{"write to DataNode 127.0.0", `log in with a block token of user "alice"`, "the client accepts [auth], the server offers [auth-conf]", "dfs.data.transfer.protection"}},
			"another ResourceManager": {
				alice, options("flink.yarn.resourcemanager.principal=yarn/_HOST@" + cluster.Realm),
				[]string{" on localhost:", ": authenticate: server advertises Kerberos principal rm/localhost@" + cluster.Realm, "yarn.resourcemanager.principal is yarn/localhost@" + cluster.Realm, "correct the site file"},
			},
			"another NameNode": {
				alice, options("flink.hadoop.dfs.namenode.kerberos.principal=hdfs/_HOST@" + cluster.Realm),
				[]string{": authenticate: server advertises Kerberos principal nn/localhost@" + cluster.Realm, "dfs.namenode.kerberos.principal is hdfs/localhost@" + cluster.Realm, "correct the site file"},
			},
			"a server of another realm": {
				alice, options("flink.hadoop.dfs.namenode.kerberos.principal=nn/_HOST@OTHER.TEST"),
				[]string{": authenticate: server nn/localhost is in realm " + cluster.Realm + " according to krb5.conf", "nn/localhost@OTHER.TEST", "[domain_realm]"},
			},
			"nobody who renews tokens": {
				alice, options("flink.yarn.resourcemanager.principal=", "flink.yarn.resourcemanager.principal.pattern=rm/*"),
				[]string{"yarn.resourcemanager.principal is not set: add it to yarn-site.xml"},
			},
			"no right to act for others": {
				none, append(by("bob", c.Keytab("bob")), "--proxy-user", "alice"),
				[]string{
					": AuthorizationException: User: bob@" + cluster.Realm + " is not allowed to impersonate alice",
					"allow bob to act for alice: set hadoop.proxyuser.bob.hosts",
				},
			},
			"tokens do not act for others": {
				none.With("HADOOP_TOKEN_FILE_LOCATION="+halves.write(t), "HADOOP_PROXY_USER=bob"), nil,
				[]string{"act as bob", "run kinit", keytab},
			},
			"tokens that are not there": {none.With("HADOOP_TOKEN_FILE_LOCATION=/nowhere/t"), nil, []string{"HADOOP_TOKEN_FILE_LOCATION", "/nowhere/t"}},
			"canceled tokens": {
				none.With("HADOOP_TOKEN_FILE_LOCATION=" + dead.write(t)), nil,
				[]string{"HDFS_DELEGATION_TOKEN", "can't be found in cache", "must get a new one"},
			},
			"tokens for HDFS alone": {none.With("HADOOP_TOKEN_FILE_LOCATION=" + halves.write(t)), nil, []string{"no token for the server and no Kerberos login", "kinit"}},
			"a keytab of no place":  {alice, byAlice("yarn.security.kerberos.ship-local-keytab=false"), []string{"localized-keytab-path", "absolute path on the nodes"}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				refused(t, tc.user.Run(t, bobbintest.Small(slices.Concat(tc.flags, input)...)...), tc.says...)
			})
		}
		for _, command := range [][]string{{"applications"}, {"logs", "application_1_0001"}, {"kill", "application_1_0001"}} {
			t.Run(command[0]+" without a ticket", func(t *testing.T) {
				t.Parallel()
				refused(t, none.Run(t, command...), "no such file", "run kinit", keytab)
				refused(t, expired.Run(t, command...), "alice@"+cluster.Realm, "rm/localhost@"+cluster.Realm, "the ticket has expired: run kinit")
			})
		}
	})
	if diff := cmp.Diff(before, left(t, alice)); diff != "" {
		t.Errorf("commands that were refused leave something behind (-before +after):\n%s", diff)
	}
	whatTheMasterSays(t, alice, input)
}

// leftovers is the state that submissions can leave behind.
type leftovers struct {
	Applications []string // on YARN
	Staging      bobbintest.Staging
}

// left returns the user's files, and the applications of all users.
func left(t *testing.T, u *bobbintest.User) leftovers {
	t.Helper()
	all := leftovers{Staging: u.Staging(t)}
	for _, app := range wait.Answer(t, "YARN's list of applications", func() ([]cluster.RMApp, error) { return u.Cluster.RM().Apps(t.Context()) }) {
		all.Applications = append(all.Applications, app.ID)
	}
	slices.Sort(all.Applications)
	return all
}

// whatTheMasterSays tests errors that only a node can find. They must reach the user's terminal too.
func whatTheMasterSays(t *testing.T, alice *bobbintest.User, input []string) {
	c := alice.Cluster
	const keytab, principal = "security.kerberos.login.keytab=", "security.kerberos.login.principal=alice"
	for name, tc := range map[string]struct{ options, says []string }{
		"a keytab that lies on no node": {
			[]string{keytab + c.Keytab("alice"), principal, "yarn.security.kerberos.ship-local-keytab=false", "yarn.security.kerberos.localized-keytab-path=/nowhere/k"},
			[]string{"/nowhere/k: no such file", "must lie on each node", "yarn.security.kerberos.ship-local-keytab"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := alice.Run(t, bobbintest.Small(slices.Concat(options(tc.options...), input)...)...)
			for _, want := range tc.says {
				if got.Code != 1 || !strings.Contains(got.Stderr, want) {
					t.Errorf("%q is not in %s", want, got)
				}
			}
			alice.CheckGone(t, alice.WaitEnded(t, got.Application(t)).ID)
		})
	}
}

// options returns flags of `bobbin run`.
func options(all ...string) []string {
	var flags []string
	for _, option := range all {
		flags = append(flags, "-D", option)
	}
	return flags
}

// refused checks that a command has failed with all of these texts in few lines. Lines before the error may report
// progress and servers that do not answer.
func refused(t *testing.T, got bobbintest.Outcome, says ...string) {
	t.Helper()
	if got.Code != 1 {
		t.Error(got)
	}
	const begin = "bobbin: "
	said := got.Stderr
	if i := strings.LastIndex("\n"+said, "\n"+begin); i >= 0 {
		said = said[i:]
	}
	for _, want := range says {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, got.Stderr)
		}
	}
	if lines := strings.Count(said, "\n"); lines > 2 || !strings.HasPrefix(said, begin) {
		t.Errorf("%d lines: %s", lines, got.Stderr)
	}
}

// expiredCache makes a file with a ticket of alice that has expired.
func expiredCache(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "expired")
	if err := c.Kinit(t.Context(), "alice", cache, "-l", "1s", "-r", "1s"); err != nil {
		t.Fatal(err)
	}
	held, err := kerberos.ReadCache(cache)
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the ticket expires", func() bool { return !time.Now().Before(held.TGT.End) })
	return cache
}

// outdated holds keytabs of claire, whose keys have changed since, of dave, who was deleted, and of erin, whose login
// is disabled.
func outdated(t *testing.T, c *cluster.Cluster) (changed, gone, locked string) {
	t.Helper()
	changed, gone, locked = newUser(t, c, "claire"), newUser(t, c, "dave"), newUser(t, c, "erin")
	if err := c.Kadmin(t.Context(), "cpw -randkey claire", "delprinc -force dave", "modprinc -expire yesterday erin"); err != nil {
		t.Fatal(err)
	}
	return changed, gone, locked
}

// newUser makes a principal for one test, and returns its keytab.
func newUser(t *testing.T, c *cluster.Cluster, name string) (keytab string) {
	t.Helper()
	keytab = filepath.Join(t.TempDir(), name)
	if err := c.Kadmin(t.Context(), "addprinc -randkey "+name, "ktadd -q -k "+keytab+" "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Kadmin(wait.Context(t), "delprinc -force "+name); err != nil {
			t.Log(err) // the test may have deleted it
		}
	})
	return keytab
}

// tokens holds alice's tokens for HDFS and YARN, as another launcher has them.
type tokens struct {
	files      *dfs.FS
	hdfs, yarn *creds.Token
	all        *creds.Credentials
}

func tokensOf(t *testing.T, alice *bobbintest.User) *tokens {
	t.Helper()
	held := &tokens{files: alice.Files(t), all: creds.New()}
	var err error
	if held.hdfs, err = held.files.DelegationToken(t.Context(), "/", "rm"); err != nil {
		t.Fatal(err)
	}
	if held.yarn, err = rpctest.Client(t, alice.Cluster, alice.Name).DelegationToken(t.Context(), "rm"); err != nil {
		t.Fatal(err)
	}
	for _, token := range []*creds.Token{held.hdfs, held.yarn} {
		held.all.Tokens[token.Service] = token
	}
	return held
}

// cancel makes the NameNode cancel its token.
func (h *tokens) cancel(t *testing.T) {
	t.Helper()
	if err := h.files.CancelDelegationToken(t.Context(), "/", h.hdfs); err != nil {
		t.Fatal(err)
	}
}

// write writes the tokens to a file, and returns its path.
func (h *tokens) write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := h.all.WriteFile(path, creds.Writable); err != nil {
		t.Fatal(err)
	}
	return path
}
