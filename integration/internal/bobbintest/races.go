package bobbintest

import (
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// Plain returns the same suite with binaries without the race detector. It is for tests that measure memory, of which
// the detector takes several times as much. The suite's Run ends it.
func (s *Suite) Plain() *Suite {
	if !s.binaries.race {
		return s
	}
	if s.plain == nil {
		s.plain = NewSuite(s.kind)
	}
	return s.plain
}

// watched combines a package's tests with the reports of the race detector.
type watched struct {
	tests interface{ Run() int }
	*binaries
}

// Run returns the tests' exit code, or 1 if the race detector has reported a race.
func (w watched) Run() int { return w.checked(w.tests.Run()) }

// checked collects the race detector's reports from the suite's processes, both commands and containers. If there is
// one, the suite's exit code is a failure. A process continues after a race, so that no restart hides it.
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
