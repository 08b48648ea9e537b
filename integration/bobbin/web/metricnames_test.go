package web

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/flink"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// TestFlinksMetricsHaveFlinksNames would catch a metric that docs/METRICS.md calls Flink's and that Flink does not have.
func TestFlinksMetricsHaveFlinksNames(t *testing.T) {
	t.Parallel()
	known := flink.Strings(t)
	checked := 0
	for _, d := range metrics.Definitions() {
		if d.Flink {
			checked++
			for part := range strings.SplitSeq(d.Name, ".") {
				if !known[part] && !isTimeOfState(known, part) {
					t.Errorf("%s: no class of Flink's runtime has %q", d.Name, part)
				}
			}
		}
	}
	if checked < 40 || known["numBuffersIn"] || known["startWorkFailures"] {
		t.Errorf("%d names were checked, and Flink has %d strings, some of which it should not have", checked, len(known))
	}
}

// isTimeOfState reports whether a name is of a state's time: Flink composes these of the state and an ending.
func isTimeOfState(known map[string]bool, name string) bool {
	for _, ending := range []string{"State", "Time", "TimeTotal"} {
		state, ends := strings.CutSuffix(name, ending)
		if ends && known[ending] && (known[state] || known[strings.ToUpper(state)]) {
			return true
		}
	}
	return false
}
