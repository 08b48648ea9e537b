// Package clusters gives tests the clusters that a whole run shares: one of each Kind, for any number of packages and
// processes. A test says which kind it needs, and what it changes:
//
//	c := clusters.Use(t, clusters.Open)
//	c := clusters.Change(t, clusters.Victim, "kills the ResourceManager")
//
// A cluster starts when the first test asks for it. Tests that use a cluster share it. A test that changes a cluster
// has it alone, and the harness heals the daemons at the end of that test. A test that holds a cluster must not ask for
// the same cluster by the other function, because it would wait for itself.
//
// All state is in the run's folder (RunVariable): for each kind a folder, two locks, and a mark while a test changes
// the cluster. Main ends the clusters that this process's run has started. A run of several processes names a folder,
// and its starter cleans up.
//
// The package starts no goroutines and has no state in memory.
package clusters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/filelock"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// RunVariable names the folder of a run with several test processes. The clusters outlive these processes.
const RunVariable = "BOBBIN_TEST_RUN"

// Use returns the run's cluster of a kind, which other tests use at the same time. The test must not change its
// daemons.
func Use(t testing.TB, k Kind) *cluster.Cluster {
	t.Helper()
	skip(t, k)
	r := run(t)
	return attach(t, r, hold(t, r, func(ctx context.Context) (Kind, func(), error) {
		unlock, err := filelock.Shared(ctx, r.lock(k))
		return k, unlock, err
	}))
}

// Change gives the run's cluster of a kind to this test alone, until the test ends. If the kind has a Twin, the test gets
// the cluster that is free first. what says in a few words what the test does to the daemons, for people who look why
// others wait. At the end of the test, Change heals the daemons. The test must not have parallel subtests, because other
// tests that wait for the cluster may take all places for parallel tests.
func Change(t testing.TB, k Kind, what string) *cluster.Cluster {
	t.Helper()
	skip(t, k)
	r := run(t)
	began := time.Now()
	k = hold(t, r, func(ctx context.Context) (Kind, func(), error) { return r.free(ctx, k) })
	waited := time.Since(began)
	c := attach(t, r, k)
	t.Logf("%s, after %.0f s of waiting for it: %s", k, waited.Seconds(), what)
	if err := os.WriteFile(r.mark(k), []byte(what), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the release of the lock
		// The next test restarts the cluster if this test has failed, or if the daemons cannot be healed.
		if !t.Failed() {
			if err := c.Heal(wait.Context(t)); err != nil {
				t.Errorf("%s, after a test that %s: %v", k, what, err)
			}
		}
		if t.Failed() {
			tell(t, c)
			retire(t, r, k)
		} else if err := os.Remove(r.mark(k)); err != nil {
			t.Error(err)
		}
	})
	return c
}

// skip skips the test in Go's short mode if the kind takes no part in it.
func skip(t testing.TB, k Kind) {
	t.Helper()
	if testing.Short() && !k.Short() {
		t.Skipf("a short run has no cluster %s", k)
	}
}

// Own starts a cluster for one test, which ends with the test. It is for configurations that no cluster of the run has.
// On a secure one, blocks are encrypted as on the run's clusters. NodeManagers report as often as the run's, unless cfg
// says otherwise.
func Own(t testing.TB, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	if !slices.Contains(cfg.Users, Alice) {
		cfg.Users = append(slices.Clone(cfg.Users), Alice)
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = heartbeat
	}
	if cfg.Kerberos != nil {
		cfg.HDFS = maps.Clone(cfg.HDFS)
		encrypt(&cfg)
	}
	return cluster.ForTest(t, cfg)
}

// attach returns the run's cluster of a kind, which the test holds. It starts the cluster if it does not run.
func attach(t testing.TB, r folder, k Kind) *cluster.Cluster {
	t.Helper()
	c, err := r.start(context.WithoutCancel(t.Context()), k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tell(t, c)
		if err := c.Close(); err != nil {
			t.Errorf("leave cluster: %v", err)
		}
	})
	return c
}

// hold takes a kind's lock until the test ends. If a mark exists, its process has ended during a change of the cluster.
// Then the state of the cluster is unknown, and hold restarts the cluster.
func hold(t testing.TB, r folder, lock func(context.Context) (Kind, func(), error)) Kind {
	t.Helper()
	for {
		k, unlock, err := lock(wait.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		if !r.marked(k) {
			t.Cleanup(unlock)
			return k
		}
		unlock()
		alone, err := filelock.Exclusive(wait.Context(t), r.lock(k))
		if err != nil {
			t.Fatal(err)
		}
		if r.marked(k) {
			retire(t, r, k)
		}
		alone()
	}
}

// free takes the exclusive lock of a kind or of its twin, and returns the kind that it has taken.
func (r folder) free(ctx context.Context, k Kind) (Kind, func(), error) {
	kinds := []Kind{k}
	if twin := k.Twin(); twin != "" {
		kinds = append(kinds, twin)
	}
	var locks []string
	for _, k := range kinds {
		locks = append(locks, r.lock(k))
	}
	at, unlock, err := filelock.ExclusiveAny(ctx, locks...)
	return kinds[at], unlock, err
}

// tell reports the place of the logs of a failed test's cluster, and their ends if the test has waited in vain.
func tell(t testing.TB, c *cluster.Cluster) {
	t.Helper()
	if _, err := os.Stat(c.LogDir()); err != nil || !t.Failed() { // the cluster was retired
		return
	}
	t.Logf("logs of the cluster: %s", c.LogDir())
	if wait.Over(t) {
		t.Logf("they end with\n%s", c.LogEnds())
	}
}

// retire ends a cluster whose state is unknown after a test, and keeps its logs.
func retire(t testing.TB, r folder, k Kind) {
	t.Helper()
	kept, err := r.retire(k)
	if err != nil {
		t.Error(err)
	}
	t.Logf("logs of the cluster: %s", filepath.Join(kept, "logs"))
}

// folder is the run's folder.
type folder string

func run(t testing.TB) folder {
	t.Helper()
	dir := os.Getenv(RunVariable)
	if dir == "" {
		t.Fatalf("%s is not set: call clusters.Main in the package's TestMain", RunVariable)
	}
	return folder(dir)
}

func (r folder) dir(k Kind) string  { return filepath.Join(string(r), string(k)) }
func (r folder) lock(k Kind) string { return r.dir(k) + ".use" }
func (r folder) mark(k Kind) string { return r.dir(k) + ".changed" }

func (r folder) marked(k Kind) bool {
	_, err := os.Stat(r.mark(k))
	return err == nil
}

// retire ends the processes of a cluster, and renames its folder.
func (r folder) retire(k Kind) (kept string, err error) {
	kept = r.dir(k) + "-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	if err := cluster.Down(r.dir(k)); err != nil && !errors.Is(err, cluster.ErrNotRunning) {
		return kept, err
	}
	if err := os.Rename(r.dir(k), kept); err != nil && !errors.Is(err, os.ErrNotExist) {
		return kept, err
	}
	if err := os.Remove(r.mark(k)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return kept, err
	}
	return kept, r.note(k, "retired")
}

// start attaches to the run's cluster of a kind, or starts it.
func (r folder) start(ctx context.Context, k Kind) (*cluster.Cluster, error) {
	unlock, err := filelock.Exclusive(ctx, filepath.Join(string(r), string(k)+".start"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	running, err := cluster.Find(r.dir(k)) // the test that started or healed it has checked its health
	if !errors.Is(err, cluster.ErrNotRunning) {
		return running, err
	}
	if _, err := os.Stat(r.dir(k)); err == nil { // a daemon has ended by itself
		if _, err := r.retire(k); err != nil {
			return nil, err
		}
	}
	data := r.dir(k) + ".data"
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	cfg, err := k.config(data)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(RaceReports(string(r))), 0o777); err != nil {
		return nil, err
	}
	cfg.ContainerEnvironment = []string{"GORACE=" + RaceOptions()}
	cfg.Dir, cfg.Version = r.dir(k), os.Getenv(cluster.VersionVariable)
	if err := r.note(k, "started"); err != nil {
		return nil, err
	}
	c, err := cluster.StartDetached(ctx, cfg)
	if err != nil {
		return nil, err
	}
	err = k.prepare(func(class string, args ...string) error {
		_, err := c.CLI(ctx, class, args...)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, cluster.Down(r.dir(k)))
	}
	return cluster.Find(r.dir(k)) // like every other test
}

// note adds a line to the run's list of events of its clusters.
func (r folder) note(k Kind, what string) error {
	file, err := os.OpenFile(filepath.Join(string(r), "clusters.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s %s %s\n", time.Now().Format(time.TimeOnly), k, what)
	return errors.Join(err, file.Close())
}

// RaceReports returns the beginning of the names of the race detector's report files. Programs in containers of a run's
// clusters and users of RaceOptions write these files. run is the run's folder.
func RaceReports(run string) string { return filepath.Join(run, "races", "report") }

// Races returns the content of these files, or "" if there was no race.
func Races(run string) (string, error) {
	reports, err := filepath.Glob(RaceReports(run) + "*")
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, report := range reports {
		text, err := os.ReadFile(report)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "%s: %s\n", report, text)
	}
	return all.String(), nil
}

// RaceOptions returns the value of GORACE for these files. Without the second option, each program sleeps for a second
// before it ends.
func RaceOptions() string {
	return "log_path=" + RaceReports(os.Getenv(RunVariable)) + " atexit_sleep_ms=0"
}

// End ends the cluster of a kind in a run's folder, and the one of its Twin, if they run. Their logs stay.
func End(dir string, k Kind) error {
	r := folder(dir)
	var errs []error
	for _, k := range []Kind{k, k.Twin()} {
		if k == "" {
			continue
		}
		if err := cluster.Down(r.dir(k)); err != nil && !errors.Is(err, cluster.ErrNotRunning) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
