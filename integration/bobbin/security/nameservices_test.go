package security

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// away is the root of the other HDFS of a cluster with two.
const away = "hdfs://" + cluster.OtherNameservice

// TestAJobUsesTwoFileSystems runs jobs that read one HDFS and write another one. Each HDFS has its own keys. The test
// would catch a token that is used for the wrong NameNode, or that a process lacks; a token whose service name is not
// Hadoop's; and a token that YARN cancels although others need it, or does not cancel.
func TestAJobUsesTwoFileSystems(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.SecurePair)
	alice := suite.UserOf(t, c, bobbintest.Alice)
	bearer := func(file string) *bobbintest.User { return alice.WithoutTicket().With(creds.FileVariable + "=" + file) }
	forBoth := tokenFileOfHadoop(t, alice, alice.Conf(t).Get("fs.defaultFS"), away)
	forHome := withAway(t, forBoth, nil)
	onBoth := option("security.kerberos.access.hadoopFileSystems", away)

	t.Run("with a ticket", func(t *testing.T) {
		t.Parallel()
		d := suite.DawdleTo(t, alice, away, "-p", "1")
		given := checkHeldForBoth(t, d)
		d.CheckSucceeds(t)
		checkCancelled(t, alice, given)
	})
	t.Run("with a keytab", func(t *testing.T) {
		t.Parallel()
		noTicket := alice.WithoutTicket()
		d := suite.Dawdle(t, noTicket, slices.Concat(keytabOptions(alice), onBoth, []string{"-p", "1"})...)
		given := checkHeldForBoth(t, d)
		d.CheckSucceeds(t)
		checkCancelled(t, alice, given)
	})
	t.Run("with a file of tokens alone", func(t *testing.T) {
		t.Parallel()
		countWordsAway(t, bearer(forBoth), alice)
		d := suite.DawdleTo(t, bearer(forBoth), away, "-p", "1")
		given := checkHeldForBoth(t, d)
		if launcher := tokensForHDFS(t, forBoth); !cmp.Equal(launcher, given) {
			t.Errorf("the master has the tokens %v, want the launcher's, %v", given, launcher)
		}
		d.CheckSucceeds(t)
		checkKept(t, alice, given)
	})
	t.Run("with a token for one and a ticket for the other", func(t *testing.T) {
		t.Parallel()
		countWordsAway(t, alice.With(creds.FileVariable+"="+forHome), alice)
	})
	t.Run("not with a token for one alone", func(t *testing.T) {
		t.Parallel()
		refusedAway(t, suite.UserOf(t, c, carol))
	})
	t.Run("as the doctor says", func(t *testing.T) {
		t.Parallel()
		home := alice.Conf(t).Get("fs.defaultFS")
		examine(t, alice, onBoth, 0, home+"/ gives user alice a token", away+"/ gives user alice a token")
		examine(t, bearer(forBoth), onBoth, 0, "a job gets the token for "+home+"/ that the launcher passed in", "a job gets the token for "+away+"/ that the launcher passed in")
		examine(t, bearer(forHome), onBoth, 1, "the launcher passed in no token for "+away)
		examine(t, bearer(withAway(t, forBoth, deadAway(t, alice))), onBoth, 1, away, "can't be found in cache", "get new tokens")
	})
}

// TestAJobOutlivesItsTokensForTwoFileSystems would catch a master that obtains new tokens only for the file system of
// its own files, or workers that get new tokens only for that one.
func TestAJobOutlivesItsTokensForTwoFileSystems(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	short := cluster.ShortLives()
	short.OtherHDFS = true
	c := clusters.Own(t, short)
	alice := suite.UserOf(t, c, bobbintest.Alice).WithoutTicket()
	d := suite.TrickleTo(t, alice, away, 2*life, lastingFlags(alice)...)
	given := checkHeldForBoth(t, d)
	watch(t, d, time.Now().Add(cluster.TokenLife+time.Minute))
	checkCancelled(t, alice, given) // otherwise they have ended
	d.First(t, bobbintest.TaskExecutor).Kill(t)
	d.AwaitRestart(t)
	watch(t, d, time.Now().Add(time.Minute))
	d.CheckSucceeds(t)
}

// countWordsAway is countWords with the output on the other HDFS.
func countWordsAway(t *testing.T, who, owner *bobbintest.User, flags ...string) {
	t.Helper()
	files, err := owner.Cluster.OtherHDFS()
	if err != nil {
		t.Fatal(err)
	}
	countWordsTo(t, files, owner.ScratchOn(t, away), who, owner, flags...)
}

// The services of tokens, with the names that Hadoop's own programs use.
const serviceAway = "ha-hdfs:" + cluster.OtherNameservice

func serviceAtHome(t *testing.T, u *bobbintest.User) string {
	t.Helper()
	authority := strings.TrimPrefix(u.Conf(t).Get("fs.defaultFS"), "hdfs://")
	if len(u.Conf(t).Get("dfs.nameservices")) > 0 && !strings.Contains(authority, ":") { // of two NameNodes
		return "ha-hdfs:" + authority
	}
	return strings.Replace(authority, "localhost", "127.0.0.1", 1)
}

// tokensForHDFS returns a file's tokens for HDFS, by their services.
func tokensForHDFS(t *testing.T, file string) map[string]*creds.Token {
	t.Helper()
	held, err := creds.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return forHDFS(t, held)
}

func forHDFS(t *testing.T, held *creds.Credentials) map[string]*creds.Token {
	t.Helper()
	tokens := make(map[string]*creds.Token)
	for _, token := range held.Tokens {
		if token.Kind != creds.KindHDFSDelegation {
			continue
		}
		if tokens[token.Service] != nil {
			t.Errorf("there are two tokens for %s", token.Service)
		}
		tokens[token.Service] = token
	}
	return tokens
}

// checkHeldForBoth checks that the master and the workers of a job have one token for each HDFS, and returns those with
// which the master started.
func checkHeldForBoth(t *testing.T, d *bobbintest.Dawdler) (given map[string]*creds.Token) {
	t.Helper()
	want := []string{serviceAtHome(t, d.User), serviceAway}
	for _, role := range []bobbintest.Role{bobbintest.ApplicationMaster, bobbintest.TaskExecutor} {
		for _, p := range d.Processes(t, role) {
			held := forHDFS(t, p.Credentials(t))
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(held))); diff != "" {
				t.Errorf("%v has tokens for other file systems (-want +got):\n%s", p, diff)
			}
			if role == bobbintest.ApplicationMaster {
				given = held
			}
		}
	}
	for service, token := range given {
		if about, err := identifier.DecodeDelegation(token); err != nil || about.Renewer != renewer {
			t.Errorf("the token for %s: %+v, %v; want the ResourceManager to renew it", service, about, err)
		}
	}
	return given
}

// checkCancelled waits until no NameNode knows the tokens of an ended job, because YARN has cancelled them.
func checkCancelled(t *testing.T, owner *bobbintest.User, tokens map[string]*creds.Token) {
	t.Helper()
	rm := resourceManager(t, owner)
	for service, token := range tokens {
		wait.For(t, "the token for "+service+" is cancelled", func() (bool, error) {
			_, err := rm.RenewDelegationToken(t.Context(), rootOf(service), token)
			if errors.Is(err, yarnrpc.ErrInvalidToken) {
				return true, nil
			}
			return false, err
		})
	}
}

// checkKept waits until YARN has finished with the tokens of an ended job, and checks that they are still valid.
func checkKept(t *testing.T, owner *bobbintest.User, tokens map[string]*creds.Token) {
	t.Helper()
	rm := resourceManager(t, owner)
	for service, token := range tokens {
		about, err := identifier.DecodeDelegation(token)
		if err != nil {
			t.Fatal(err)
		}
		says := []string{"Did not cancel", "Service: " + service, fmt.Sprintf("sequenceNumber=%d,", about.Sequence)}
		wait.For(t, "YARN lets go of the token for "+service, func() (bool, error) {
			return logged(t, owner.Cluster, "resourcemanager", says), nil
		})
		if _, err := rm.RenewDelegationToken(t.Context(), rootOf(service), token); err != nil {
			t.Errorf("renew the launcher's token for %s: %v", service, err)
		}
	}
}

// logged reports whether a line in the log of a daemon, or of either daemon of a pair, contains all this.
func logged(t *testing.T, c *cluster.Cluster, kind string, parts []string) bool {
	t.Helper()
	for _, daemon := range c.Daemons() {
		if strings.HasPrefix(daemon, kind) && said(t, filepath.Join(c.LogDir(), daemon+".log"), parts...) > 0 {
			return true
		}
	}
	return false
}

// resourceManager returns the file systems that a user knows, with the ResourceManager's login, because it renews
// tokens.
func resourceManager(t *testing.T, u *bobbintest.User) *dfs.FS {
	t.Helper()
	return rpctest.FS(t, dfs.Options{Conf: u.Conf(t), User: "rm", Login: rpctest.FromKeytab(t, u.Cluster, "rm/localhost")})
}

// rootOf returns the root of the file system for a token's service.
func rootOf(service string) string {
	if service == serviceAway {
		return away
	}
	return "/"
}

// withAway writes a copy of a file of tokens with this token for the other HDFS, or without one if it is nil.
func withAway(t *testing.T, file string, token *creds.Token) string {
	t.Helper()
	given, err := creds.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	delete(given.Tokens, serviceAway)
	if token != nil {
		given.Tokens[serviceAway] = token
	}
	return handOn(t, given)
}

// deadAway returns a cancelled token for the other HDFS.
func deadAway(t *testing.T, u *bobbintest.User) *creds.Token {
	t.Helper()
	files := u.Files(t)
	token, err := files.DelegationToken(t.Context(), away, renewer)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.CancelDelegationToken(t.Context(), away, token); err != nil {
		t.Fatal(err)
	}
	return token
}

// refusedAway submits with tokens that are not valid for the other HDFS.
func refusedAway(t *testing.T, u *bobbintest.User) {
	input, elsewhere := u.Scratch(t)+"/text", "/tmp/refused"
	u.Write(t, input, "some words\n")
	none := tokenFile(t, u)
	dead := withAway(t, none, deadAway(t, u))
	wordcount := suite.Program(t, "wordcount")
	jobs := map[string][]string{
		"its input":            {wordcount, "--input", away + "/tmp", "--output", elsewhere},
		"its output":           {wordcount, "--input", input, "--output", away + elsewhere},
		"what an option names": append(option("security.kerberos.access.hadoopFileSystems", away), wordcount, "--input", input, "--output", elsewhere),
	}
	for file, says := range map[string]string{none: "kinit", dead: "can't be found in cache"} {
		bearer := u.WithoutTicket().With(creds.FileVariable + "=" + file)
		for what, job := range jobs {
			got := bearer.Run(t, bobbintest.Small(job...)...)
			if got.Code != 1 || !holdsAll(got.Stderr, []string{away, says}) || strings.Count(got.Stderr, "\n") > 2 {
				t.Errorf("%s: want exit code 1 and a line with %s and %q, got %s", what, away, says, got)
			}
		}
	}
	if apps := u.Apps(t, "wordcount"); len(apps) > 0 {
		t.Errorf("YARN has %v", apps)
	}
	if left := u.Staging(t); len(left.Applications) > 0 || len(left.Cache) > 0 {
		t.Errorf("staged files are left: %+v", left)
	}
	for _, output := range []string{elsewhere, away + elsewhere} {
		if names := u.Names(t, output); len(names) > 0 {
			t.Errorf("%s holds %v", output, names)
		}
	}
}

// examine runs `bobbin doctor` and checks its exit code and these texts.
func examine(t *testing.T, u *bobbintest.User, flags []string, code int, says ...string) {
	t.Helper()
	if got := u.Run(t, append([]string{"doctor"}, flags...)...); got.Code != code || !holdsAll(got.Stdout, says) {
		t.Errorf("want exit code %d and %q, got %s", code, says, got)
	}
}
