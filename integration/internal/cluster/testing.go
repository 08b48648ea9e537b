package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// The variables that steer tests. They are read here and nowhere else in the package.
const (
	// TestClusterVariable names the folder of a running cluster that tests with a shared cluster attach to.
	TestClusterVariable = "BOBBIN_TEST_CLUSTER"
	// VersionVariable names the Hadoop release for clusters that tests start.
	VersionVariable = "HADOOP_VERSION"
	// LongVariable is 1 where the tests that take minutes run, too: `make test-long`.
	LongVariable = "BOBBIN_TEST_LONG"
	// FiguresVariable names a file for the figures that people are to see of tests that pass: `go test` shows none of
	// their output. scripts/test prints the file.
	FiguresVariable = "BOBBIN_TEST_FIGURES"
)

// Long skips a test that takes minutes, unless the long ones are to run.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv(LongVariable) != "1" {
		t.Skip("takes minutes: make test-long runs it, as does " + LongVariable + "=1")
	}
}

// Figure tells what a test has measured and does not assert, in one line: in the test's log, and in the file that
// FiguresVariable names.
func Figure(t testing.TB, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	name := os.Getenv(FiguresVariable)
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = fmt.Fprintf(file, "%s: %s\n", t.Name(), line)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Error(err)
	}
}

// ForTest starts a cluster for one test, which may do with it what it likes: kill, pause and restart daemons. It ends with the
// test; if the test failed, its folder with all logs stays and the test's output says where.
func ForTest(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), forTests(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.Keep()
			t.Logf("logs of the cluster: %s", c.LogDir())
		}
		if err := c.Close(); err != nil {
			t.Errorf("close cluster: %v", err)
		}
	})
	return c
}

func forTests(cfg Config) Config {
	if cfg.Version == "" {
		cfg.Version = os.Getenv(VersionVariable)
	}
	return cfg
}

// Shared is the cluster that all tests of a package use. They may submit what they like, but must leave its daemons alone.
//
//	var hadoop = cluster.NewShared(cluster.Config{})
//
//	func TestMain(m *testing.M) { os.Exit(hadoop.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		c := hadoop.Cluster(t)
//
// It is the running cluster that BOBBIN_TEST_CLUSTER names, provided that one has what the Config asks for, and
// otherwise one that the first test starts. A cluster that is named and does not run is an error.
type Shared struct {
	cfg   Config
	start sync.Once // guards c, err
	c     *Cluster
	err   error
}

// NewShared starts nothing yet.
func NewShared(cfg Config) *Shared { return &Shared{cfg: cfg} }

// Run runs the package's tests, then ends the cluster if they started one, and so it does with others that they
// share. It returns the exit code.
func (s *Shared) Run(m *testing.M, others ...*Shared) int {
	code := s.end(m.Run())
	for _, other := range others {
		code = other.end(code)
	}
	return code
}

func (s *Shared) end(code int) int {
	if s.c == nil {
		return code
	}
	if code != 0 {
		s.c.Keep()
		fmt.Fprintf(os.Stderr, "logs of the cluster: %s\n", s.c.LogDir())
	}
	if err := s.c.Close(); err != nil {
		fmt.Fprintf(os.Stderr, "close cluster: %v\n", err)
		return 1
	}
	return code
}

// Cluster returns the shared cluster. The test fails if there is none.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	// Not the test's context: the cluster outlives the test that is the first to ask for it.
	s.start.Do(func() { s.c, s.err = s.open(context.WithoutCancel(t.Context())) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.c
}

func (s *Shared) open(ctx context.Context) (*Cluster, error) {
	cfg := forTests(s.cfg).withDefaults()
	dir := os.Getenv(TestClusterVariable)
	if dir == "" {
		return Start(ctx, cfg)
	}
	c, err := Attach(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", TestClusterVariable, err)
	}
	if !c.spec.satisfies(cfg) {
		return Start(ctx, cfg)
	}
	if err := c.makeHomes(ctx, cfg.Users); err != nil {
		return nil, err
	}
	return c, nil
}

// satisfies says whether the cluster is as good as one started with cfg.
func (s *spec) satisfies(cfg Config) bool {
	memory, errMemory := strconv.Atoi(s.YARN["yarn.nodemanager.resource.memory-mb"])
	cores, errCores := strconv.Atoi(s.YARN["yarn.nodemanager.resource.cpu-vcores"])
	return errMemory == nil && memory >= cfg.MemoryMB &&
		errCores == nil && cores >= cfg.VCores &&
		s.NodeManagers >= cfg.NodeManagers &&
		s.HA == cfg.HA && s.NameNodeHA == cfg.NameNodeHA && s.OtherHDFS == cfg.OtherHDFS &&
		reflect.DeepEqual(s.Kerberos, cfg.Kerberos) &&
		(s.Kerberos == nil || isSubset(cfg.Users, s.users())) && // the others have no principal
		(cfg.Version == "" || cfg.Version == s.Version) &&
		len(differences(cfg.Core, s.Core)) == 0 &&
		len(differences(cfg.HDFS, s.HDFS)) == 0 &&
		len(differences(cfg.YARN, s.YARN)) == 0 &&
		len(differences(cfg.Scheduler, s.Scheduler)) == 0
}

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}
