package sim_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// TestSchedulesDrawEachDuty would catch a duty of the roles that no schedule asks for any more. -v prints how often
// each is drawn.
func TestSchedulesDrawEachDuty(t *testing.T) {
	t.Parallel()
	const schedules = 500 // drawn, not run
	drawn := make(map[string]int)
	var names []string
	for n := range uint64(schedules) {
		for _, d := range sim.Draw(n + 1).Duties() {
			if n == 0 {
				names = append(names, d.Name)
			}
			if d.Asked {
				drawn[d.Name]++
			}
		}
	}
	for _, name := range names {
		t.Logf("%-28s %d of %d schedules", name, drawn[name], schedules)
		if drawn[name]*50 < schedules {
			t.Errorf("%s is drawn in %d of %d schedules", name, drawn[name], schedules)
		}
	}
}
