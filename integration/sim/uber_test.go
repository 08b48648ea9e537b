package sim_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// TestTheWorkerBesideItsMasterServesTheFloor would catch a floor of one worker (slotmanager.number-of-slots.min)
// that costs a container although the master's has room, a job that then gets another worker, and one that gets
// none beside its master.
func TestTheWorkerBesideItsMasterServesTheFloor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tasks         int // of each vertex
		floor         int // in slots; a worker has two
		workers, uber int
	}{
		"no floor":                         {tasks: 2, workers: 1, uber: 1},
		"a floor of one worker":            {tasks: 2, floor: 2, workers: 1, uber: 1},
		"a floor of one, and a job of two": {floor: 1, workers: 2, uber: 1},
		"a floor of two workers":           {tasks: 2, floor: 3, workers: 2, uber: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := uber(sim.Schedule{Seed: long, Jobs: 1, Tasks: c.tasks, Floor: c.floor})
			r, err := s.Run(nil)
			if err != nil {
				t.Fatal(err)
			}
			report(t, s, r)
			if workers, beside := r.Facts[sim.Workers], r.Facts[sim.Uber]; workers != c.workers || beside != c.uber {
				t.Errorf("the run has %d workers, %d of them beside the master, want %d and %d", workers, beside, c.workers, c.uber)
			}
		})
	}
}
