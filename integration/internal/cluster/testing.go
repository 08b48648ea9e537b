package cluster

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/testing/longtest"
)

// The variables that control tests. The package reads them only here.
const (
	// VersionVariable names the Hadoop release for clusters that tests start.
	VersionVariable = "HADOOP_VERSION"
	// TimesVariable changes how often a test repeats what goes wrong rarely: Times.
	TimesVariable = "BOBBIN_TEST_TIMES"
	// FiguresVariable names a file for figures of passing tests that people should see, because `go test` shows no
	// output of these tests. scripts/test prints the file.
	FiguresVariable = "BOBBIN_TEST_FIGURES"
)

// LongReason is the reason with which Long skips a test. No other test may be skipped.
const LongReason = "takes minutes: to run it, use make test-long or set " + longtest.Variable + "=1"

// Long skips a test that takes minutes, unless longtest.Variable is 1.
func Long(t testing.TB) {
	t.Helper()
	if !longtest.Is() {
		t.Skip(LongReason)
	}
}

// Thorough skips a test in Go's short mode, which `make test` has. `make test-thorough` runs it.
func Thorough(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("says little that others do not say: to run it, use make test-thorough, or no -short")
	}
}

// Times returns how often a test repeats what goes wrong rarely: once, or this often if longtest.Variable is 1.
// TimesVariable changes both.
func Times(t testing.TB, long int) int {
	t.Helper()
	if given := os.Getenv(TimesVariable); given != "" {
		times, err := strconv.Atoi(given)
		if err != nil || times < 1 {
			t.Fatalf("%s is %q: want a number above 0", TimesVariable, given)
		}
		return times
	}
	if longtest.Is() {
		return long
	}
	return 1
}

// Figure reports a measurement that a test does not assert, in one line: to the test's log, and to the file that
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

// ForTest starts a cluster for one test, which may change it in any way. It ends with the test. If the test failed, its
// folder with all logs stays and the test's output names it. Most tests use the clusters that a run shares: package
// clusters.
func ForTest(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	if cfg.Version == "" {
		cfg.Version = os.Getenv(VersionVariable)
	}
	c, err := Start(t.Context(), cfg)
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
