package sim_test

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// suspects has a schedule for each rule that Bobbin is known to break without high availability, and what it
// does then. In most of them the master freezes until another attempt has begun, and continues because its
// NodeManager does not hear of that.
var suspects = map[string]struct {
	mode       sim.Mode
	rule, does string
	faults     []sim.Fault
}{
	"access.json has no fence": {
		sim.PerJob, "an old attempt leaves access.json alone", "delete", []sim.Fault{
			{Call: "appattempt.* load", Kind: sim.FreezeMaster, Time: 3 * minute},
			{Call: "appattempt.* load", Kind: sim.CutManager, Victim: 1, Time: 5 * minute},
		},
	},
	"a program starts again after a commit": {
		sim.Application, "a later attempt does not write an output again", "output exists already", []sim.Fault{
			{Call: commits, Kind: sim.KillMaster},
		},
	},
}

// TestKnownSuspects would catch a mend of one of these faults: then its rule must hold for all schedules.
func TestKnownSuspects(t *testing.T) {
	t.Parallel()
	for name, s := range suspects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schedule := sim.Schedule{Seed: long, Jobs: 1, Mode: s.mode, Faults: s.faults}
			r, err := schedule.Run(nil)
			if err != nil {
				t.Fatal(err)
			}
			report(t, schedule, r)
			if found := r.Suspects[s.rule]; found == nil || !strings.Contains(found.Error(), s.does) {
				t.Errorf("the rule %q is broken by %v, want one that does %s: move the rule from suspected to rules in watch.go if this is mended, and delete this schedule",
					s.rule, found, s.does)
			}
		})
	}
}
