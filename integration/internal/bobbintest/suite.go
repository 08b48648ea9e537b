// Package bobbintest is what tests need to use bobbin as people do: the binaries,
// a real cluster, a user with a terminal, and eyes for what an application leaves
// on YARN, on HDFS and among this machine's processes.
//
//	var suite = bobbintest.NewSuite(cluster.Config{})
//
//	func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		alice := suite.User(t, "alice")
//		got := alice.Run(t, "run", "-t", "yarn-per-job", suite.Program(t, "wordcount"), "--input", …)
//
// Everything that waits does so for a condition, at most Patience. The package
// starts a goroutine for each command, which ends with it; commands end with
// their test.
package bobbintest

import (
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// ProtectionVariable makes the clusters of every suite secure ones, with Kerberos and this protection of calls and data:
// authentication, integrity or privacy. Its users then log in instead of naming themselves, and nothing else in
// a test changes. Suites that ask for Kerberos themselves keep theirs.
const ProtectionVariable = "BOBBIN_TEST_PROTECTION"

// Alice is an ordinary user of every suite's cluster: she has a home on HDFS and
// no power over others.
const Alice = "alice"

// Suite is what the tests of a package share: a cluster and the binaries, neither
// made before a test asks for it.
type Suite struct {
	*cluster.Shared
	binaries binaries
}

// NewSuite makes the suite of a package; cfg is for cluster.NewShared.
func NewSuite(cfg cluster.Config) *Suite {
	return &Suite{Shared: cluster.NewShared(ours(cfg))}
}

// ours is a configuration with what all suites' clusters have.
func ours(cfg cluster.Config) cluster.Config {
	if !slices.Contains(cfg.Users, Alice) {
		cfg.Users = append(slices.Clone(cfg.Users), Alice)
	}
	if protection := os.Getenv(ProtectionVariable); protection != "" && cfg.Kerberos == nil {
		cfg.Kerberos = &cluster.Kerberos{Protection: protection}
	}
	if cfg.Kerberos != nil {
		// The default is 3DES, which Java decrypts at 1 MB/s: containers would wait half a minute for a binary.
		cfg.HDFS = maps.Clone(cfg.HDFS)
		if cfg.HDFS == nil {
			cfg.HDFS = make(map[string]string)
		}
		cfg.HDFS["dfs.encrypt.data.transfer.cipher.suites"] = "AES/CTR/NoPadding"
	}
	return cfg
}

// OwnCluster starts a cluster for one test, as cluster.ForTest does, with what the shared one has.
func (s *Suite) OwnCluster(t *testing.T, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	return cluster.ForTest(t, ours(cfg))
}

// Run runs the package's tests, then ends what they shared. It returns the exit
// code.
func (s *Suite) Run(m *testing.M) int {
	defer s.binaries.remove()
	if signal.Ignored(syscall.SIGHUP) { // by nohup: commands would inherit that, which respect it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	return s.Shared.Run(m)
}

// User gives somebody who uses bobbin on the shared cluster, by the user's name
// there.
func (s *Suite) User(t testing.TB, name string) *User {
	t.Helper()
	return s.UserOf(t, s.Cluster(t), name)
}

// UserOf gives somebody who uses bobbin on a cluster that is the test's own. On a
// secure one the user has a ticket.
func (s *Suite) UserOf(t testing.TB, c *cluster.Cluster, name string) *User {
	t.Helper()
	u := &User{Name: name, Cluster: c, bobbin: s.Bobbin(t), home: t.TempDir(), patience: Patience}
	if c.Secure() {
		u.tickets = filepath.Join(u.home, "tickets")
		u.Kinit(t)
	}
	return u
}

// Bobbin is the path of the binary of that name.
func (s *Suite) Bobbin(t testing.TB) string {
	t.Helper()
	return s.Program(t, "bobbin")
}

// Program is the path of a program's binary: bobbin, one of examples/ or one of
// integration/internal/programs/.
func (s *Suite) Program(t testing.TB, name string) string {
	t.Helper()
	path, err := s.binaries.path(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
