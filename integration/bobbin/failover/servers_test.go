package failover

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client/cli"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestAMasterIsReplacedWithoutItsServers kills an ApplicationMaster at the moment in which servers of Hadoop fail. It
// would catch a next attempt that ends because of that, and is replaced by another one, or that does not wait for HDFS;
// and everything that TestASessionOutlivesItsMaster would.
func TestAMasterIsReplacedWithoutItsServers(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Pair), "kills the active ResourceManager and the NameNodes")
	u := suite.UserOf(t, c, bobbintest.Alice)
	for name, fail := range map[string]func(t *testing.T, c *cluster.Cluster, s *session, kill, replaced func()){
		"another ResourceManager is active": loseResourceManager,
		"another NameNode is active":        loseNameNode,
		"HDFS is away for a minute":         loseHDFS,
	} {
		for i := range cluster.Times(t, 3) {
			t.Run(name+"/"+strconv.Itoa(i+1), func(t *testing.T) {
				s := startSession(t, u, 1)
				before, first := processes(t, s.id), master(t, s.id)
				fail(t, c, s, func() { first.Kill(t) }, func() {
					wait.Until(t, "another attempt has begun", func() bool {
						now := bobbintest.ProcessesIn(t, s.id, bobbintest.ApplicationMaster)
						return len(now) == 1 && now[0].Container != first.Container
					})
				})
				s.checkFollowed(t)
				checkStayed(t, s.id, before)
				if attempt := master(t, s.id).Attempt(t); attempt != 2 {
					t.Errorf("attempt %d leads, want the second", attempt)
				}
				s.checkEnds(t)
				if err := c.Heal(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// loseResourceManager lets the other ResourceManager take over while it kills the ApplicationMaster.
func loseResourceManager(t *testing.T, c *cluster.Cluster, _ *session, kill, replaced func()) {
	first := rpctest.ActiveRM(t, c)
	kill()
	if err := c.Kill(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the other ResourceManager is active", func() (bool, error) {
		second, err := c.ActiveRM(t.Context())
		return err == nil && second != first, nil // none is active for a while
	})
	replaced()
}

// loseNameNode makes the other NameNode active once the next attempt has begun.
func loseNameNode(t *testing.T, c *cluster.Cluster, _ *session, kill, replaced func()) {
	if err := c.Kill(t.Context(), "namenode1"); err != nil {
		t.Fatal(err)
	}
	kill()
	replaced()
	if err := c.Activate(t.Context(), "namenode2"); err != nil {
		t.Fatal(err)
	}
}

// loseHDFS takes both NameNodes away for a minute. Meanwhile the next attempt runs and does not lead.
func loseHDFS(t *testing.T, c *cluster.Cluster, s *session, kill, replaced func()) {
	const outage = time.Minute
	for _, name := range []string{"namenode2", "namenode1"} {
		if err := c.Kill(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	end := time.Now().Add(outage)
	kill()
	replaced()
	checkReplacing(t, s)
	wait.Until(t, fmt.Sprintf("%v have passed", outage), func() bool { return time.Now().After(end) })
	if err := c.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// checkReplacing runs commands while the next attempt waits for HDFS. It would catch commands that wait for it, and those that
// take it for the end. Until the attempt has registered, YARN says that it is coming. Afterwards, and without Kerberos, a command finds
// the ApplicationMaster by its files on HDFS.
func checkReplacing(t *testing.T, s *session) {
	t.Helper()
	secure := os.Getenv(bobbintest.SecureVariable) == "1"
	for _, command := range [][]string{{"list", "-id", s.id}, {"status", "-id", s.id}, {"cancel", "-id", s.id, s.running[0].Job}} {
		got := s.user.Run(t, command...)
		replacing := got.Code == cli.ExitReplacing && strings.Contains(got.Stderr, "is being replaced")
		withoutFiles := !secure && got.Code == cli.ExitFailed && strings.Contains(got.Stderr, "NameNode bobbin did not answer")
		if !replacing && !withoutFiles {
			t.Errorf("%v: the user does not see that the ApplicationMaster is being replaced: %s", command, got)
		}
	}
}

// TestAnEndIsNotRepeated kills the ApplicationMaster of a job between the job's end and the end of its application. The
// ResourceManager is paused meanwhile, so that the application cannot end. The test would catch a job that runs again
// although it has ended, output that is written again, and an application without the job's status.
func TestAnEndIsNotRepeated(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "pauses the ResourceManager")
	u := suite.UserOf(t, c, bobbintest.Alice)
	for i := range cluster.Times(t, 3) {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			d := suite.Dawdle(t, u, "-p", "2", "-s", "1")
			first, files := master(t, d.Application), u.Files(t)
			if err := c.Pause(t.Context(), "resourcemanager"); err != nil {
				t.Fatal(err)
			}
			d.Release(t)
			wait.For(t, "the application's end is stored", func() (bool, error) {
				reigns, err := u.Reigns(t.Context(), files, d.Application)
				return slices.Equal(reigns, []bobbintest.Reign{{Epoch: 1, Ended: true}}), err
			})
			written := tree(t, u, d.Output)
			first.Kill(t)
			if err := c.Resume("resourcemanager"); err != nil {
				t.Fatal(err)
			}
			d.CheckSucceeds(t)
			if diff := cmp.Diff(written, tree(t, u, d.Output)); diff != "" {
				t.Errorf("the output was written again (-before +after):\n%s", diff)
			}
			checkOneRun(t, d)
		})
	}
}

// checkOneRun checks that an application had two attempts, and that each task has started once.
func checkOneRun(t *testing.T, d *bobbintest.Dawdler) {
	t.Helper()
	id, err := records.ParseApplicationID(d.Application)
	if err != nil {
		t.Fatal(err)
	}
	attempts, err := d.User.Client(t).YARN.Attempts(t.Context(), id)
	if err != nil || len(attempts) != 2 {
		t.Errorf("the attempts are %+v, %v, want two", attempts, err)
	}
	d.User.WaitLogs(t, d.Application)
	started := 0
	for _, text := range d.User.Logs(t, d.Application) {
		started += strings.Count(text, " of 2 starts\n")
	}
	if started != 2 {
		t.Errorf("%d tasks have started, want 2", started)
	}
}
