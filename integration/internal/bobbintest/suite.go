// Package bobbintest is what tests need to use bobbin as people do: the binaries,
// a user with a terminal, and eyes for what an application leaves on YARN, on HDFS
// and among this machine's processes.
//
//	var suite = bobbintest.NewSuite(clusters.Open)
//
//	func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		alice := suite.User(t, "alice")
//		got := alice.Run(t, "run", "-t", "yarn-per-job", suite.Program(t, "wordcount"), "--input", …)
//
// A test that changes daemons has a user of the cluster that it takes for that:
//
//	c := clusters.Change(t, suite.Kind(clusters.Victim), "kills the ResourceManager")
//	alice := suite.UserOf(t, c, "alice")
//
// Everything that waits does so as package wait does. The package starts a goroutine
// for each command, which ends with it; commands end with their test.
package bobbintest

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// SecureVariable, if it is 1, has every suite of open clusters test on secure ones, with Kerberos and privacy. Its users then
// log in instead of naming themselves, and nothing else in a test changes.
const SecureVariable = "BOBBIN_TEST_SECURE"

// Alice is an ordinary user of every cluster: she has a home on HDFS and no power over others.
const Alice = clusters.Alice

// Suite is what the tests of a package share: a kind of cluster and the binaries, neither made before a test asks for it.
type Suite struct {
	kind     clusters.Kind
	binaries binaries
	plain    *Suite
}

// NewSuite makes the suite of a package whose tests use the run's cluster of a kind.
func NewSuite(kind clusters.Kind) *Suite { return &Suite{kind: kind} }

// Racing has the suite use binaries with the race detector: for tests that are about what our own processes do at once.
// A race that one of them reports fails the suite.
func (s *Suite) Racing() *Suite {
	s.binaries.race = true
	return s
}

// Kind is the kind of cluster that a test which wants this one is to take.
func (s *Suite) Kind(k clusters.Kind) clusters.Kind {
	if os.Getenv(SecureVariable) == "1" {
		return k.Secured()
	}
	return k
}

// Cluster is the run's cluster that the suite's tests use at the same time.
func (s *Suite) Cluster(t testing.TB) *cluster.Cluster {
	t.Helper()
	return clusters.Use(t, s.Kind(s.kind))
}

// Run runs the package's tests, then ends what they shared. It returns the exit code.
func (s *Suite) Run(m *testing.M) int {
	defer s.Plain().binaries.remove()
	defer s.binaries.remove()
	if signal.Ignored(syscall.SIGHUP) { // by nohup: commands would inherit that, which respect it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	return clusters.Main(watched{m, &s.binaries})
}

// User gives somebody who uses bobbin on the shared cluster, by the user's name there.
func (s *Suite) User(t testing.TB, name string) *User {
	t.Helper()
	return s.UserOf(t, s.Cluster(t), name)
}

// UserOf gives somebody who uses bobbin on a cluster that the test has taken. On a secure one the user has a ticket.
func (s *Suite) UserOf(t testing.TB, c *cluster.Cluster, name string) *User {
	t.Helper()
	u := &User{Name: name, Cluster: c, bobbin: s.Bobbin(t), home: t.TempDir()}
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

// Program is the path of a program's binary: bobbin, one of examples/ or one of integration/internal/programs/.
func (s *Suite) Program(t testing.TB, name string) string {
	t.Helper()
	path, err := s.binaries.path(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
