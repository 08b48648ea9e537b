// Package bobbintest helps tests to use bobbin like a person does. It has the binaries, a user with a terminal, and
// functions that find the traces of an application on YARN, on HDFS and among this machine's processes.
//
//	var suite = bobbintest.NewSuite(clusters.Open)
//
//	func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		alice := suite.User(t, "alice")
//		got := alice.Run(t, "run", "-t", "yarn-per-job", suite.Program(t, "wordcount"), "--input", …)
//
// A test that changes daemons takes a cluster for itself, and uses a user of that cluster:
//
//	c := clusters.Change(t, suite.Kind(clusters.Victim), "kills the ResourceManager")
//	alice := suite.UserOf(t, c, "alice")
//
// All waits use package wait. The package starts a goroutine for each command, which ends with the command. Commands
// end with their test.
package bobbintest

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/internal/testing/longtest"
)

// SecureVariable, if it is 1, makes every suite of open clusters use secure ones, with Kerberos and privacy. Its users
// then log in instead of naming themselves. Nothing else in a test changes.
const SecureVariable = "BOBBIN_TEST_SECURE"

// Alice is an ordinary user of every cluster. She has a home on HDFS and no rights over other users.
const Alice = clusters.Alice

// Suite is the state that the tests of a package share: a kind of cluster, and the binaries. Each is made when a test
// first needs it.
type Suite struct {
	kind     clusters.Kind
	binaries binaries
	plain    *Suite
}

// NewSuite makes the suite of a package whose tests use the run's cluster of this kind.
func NewSuite(kind clusters.Kind) *Suite { return &Suite{kind: kind} }

// Racing makes the suite use binaries with the race detector. It is for tests of our processes' own concurrency. A race
// that a process reports fails the suite.
func (s *Suite) Racing() *Suite {
	s.binaries.race = true
	return s
}

// RacingIfLong is Racing in the long run. The detector makes a job take several times the processor's time, so that only some
// suites have it in each run.
func (s *Suite) RacingIfLong() *Suite {
	s.binaries.race = longtest.Is()
	return s
}

// Kind returns the kind of cluster that a test takes when it wants this kind.
func (s *Suite) Kind(k clusters.Kind) clusters.Kind {
	if os.Getenv(SecureVariable) == "1" {
		return k.Secured()
	}
	return k
}

// Cluster returns the run's cluster, which tests use at the same time.
func (s *Suite) Cluster(t testing.TB) *cluster.Cluster {
	t.Helper()
	return clusters.Use(t, s.Kind(s.kind))
}

// Run runs the package's tests, then ends their shared parts. It returns the exit code.
func (s *Suite) Run(m *testing.M) int {
	defer s.Plain().binaries.remove()
	defer s.binaries.remove()
	if signal.Ignored(syscall.SIGHUP) { // by nohup: the commands would inherit and respect that
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	return clusters.Main(watched{m, &s.binaries})
}

// User returns a user of bobbin on the shared cluster, with this name.
func (s *Suite) User(t testing.TB, name string) *User {
	t.Helper()
	return s.UserOf(t, s.Cluster(t), name)
}

// UserOf returns a user of bobbin on a cluster that the test has taken. On a secure cluster the user has a ticket.
func (s *Suite) UserOf(t testing.TB, c *cluster.Cluster, name string) *User {
	t.Helper()
	u := &User{Name: name, Cluster: c, bobbin: s.Bobbin(t), home: t.TempDir()}
	if c.Secure() {
		u.tickets = filepath.Join(u.home, "tickets")
		u.Kinit(t)
	}
	return u
}

// Bobbin returns the path of the bobbin binary.
func (s *Suite) Bobbin(t testing.TB) string {
	t.Helper()
	return s.Program(t, "bobbin")
}

// Program returns the path of a program's binary: bobbin, a program of examples/ or of integration/internal/programs/.
func (s *Suite) Program(t testing.TB, name string) string {
	t.Helper()
	path, err := s.binaries.path(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
