package sim_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// TestFinishedTasksRunOnce would catch a task host, or a master, whose end makes tasks run again although their partitions are on the
// workers: they would write more partitions than without the fault.
func TestFinishedTasksRunOnce(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sim.Schedule{"all exchanges are blocking": blocking("", 0, 0), "waves": larger()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written := func(faults ...sim.Fault) int {
				one := s
				one.Faults = faults
				r, err := one.Run(nil)
				if err != nil {
					t.Fatal(err)
				}
				report(t, one, r)
				return r.Facts[sim.Partitions]
			}
			want := written()
			for _, kind := range []sim.FaultKind{sim.KillHost, sim.KillMaster} {
				if got := written(sim.Fault{Call: sinks, Kind: kind}); got != want {
					t.Errorf("with the fault %q tasks write %d partitions, want %d", kind, got, want)
				}
			}
		})
	}
}
