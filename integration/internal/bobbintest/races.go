package bobbintest

import (
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// Plain is the same suite with binaries that have no race detector: for its tests of what our processes hold of memory, of
// which the detector takes several times as much. The suite's Run ends it.
func (s *Suite) Plain() *Suite {
	if s.plain == nil {
		s.plain = NewSuite(s.kind)
	}
	return s.plain
}

// watched are a package's tests, and then what the race detector says.
type watched struct {
	tests interface{ Run() int }
	*binaries
}

// Run gives the tests' exit code, or that of a failure.
func (w watched) Run() int { return w.checked(w.tests.Run()) }

// checked tells what the race detector has found in the suite's processes, in commands and containers alike, and makes the
// exit code of a suite that has races a failure's. A process that has one goes on, so that no restart hides it.
func (b *binaries) checked(code int) int {
	if !b.race {
		return code
	}
	races, err := clusters.Races(os.Getenv(clusters.RunVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, "look for reports of races:", err)
		return 1
	}
	if races != "" {
		fmt.Fprint(os.Stderr, races)
		return 1
	}
	return code
}
