package sim_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// eachCall makes TestTheMasterFailsAtEachCall take every call. Otherwise it takes a part of them.
var eachCall = flag.Bool("each", false, "let the master fail at every call to YARN and HDFS, not at some of them")

// some is how many calls lie between two that are taken without -each.
const some = 12

// callSeed draws the jobs of TestTheMasterFailsAtEachCall, and says which calls are taken without -each.
var callSeed = flag.Uint64("each-seed", 5, "draw the jobs of TestTheMasterFailsAtEachCall")

// ofFirst and ofSecond are the calls of these attempts.
const (
	ofFirst  = "^appattempt[^ ]*_000001 "
	ofSecond = "^appattempt[^ ]*_000002 "
)

// TestTheMasterFailsAtEachCall would catch a moment at which the end of a master loses a job, runs an ended one again, or
// leaves half an output: the master is killed, and becomes a zombie, before and after each of its calls to YARN and HDFS. The
// same happens to its successor, which also takes over: the first master is then killed as it stores its first commit.
func TestTheMasterFailsAtEachCall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	failures := map[string]sim.Fault{
		"killed before": {Kind: sim.KillMaster},
		"killed after":  {Kind: sim.KillMaster, After: true},
		"zombie before": {Kind: sim.MakeZombie, Time: 5 * minute},
		"zombie after":  {Kind: sim.MakeZombie, Time: 5 * minute, After: true},
	}
	for _, mode := range []sim.Mode{sim.PerJob, sim.Session, sim.Application} {
		for name, fault := range failures {
			t.Run(fmt.Sprintf("%#v %s", mode, name), func(t *testing.T) {
				t.Parallel()
				fault.Call = ofFirst
				failAtEachCall(t, mode, fault)
			})
			t.Run(fmt.Sprintf("%#v successor %s", mode, name), func(t *testing.T) {
				t.Parallel()
				fault.Call = ofSecond
				failAtEachCall(t, mode, sim.Fault{Call: ofFirst + "rename2 .*/commit-", Kind: sim.KillMaster}, fault)
			})
		}
	}
}

// failAtEachCall lets the last fault strike at each of its calls.
func failAtEachCall(t *testing.T, mode sim.Mode, faults ...sim.Fault) {
	t.Helper()
	step := uint64(1)
	if !*eachCall {
		step = some
	}
	taken := 0
	for skip := *callSeed % step; ; skip += step {
		s := sim.Schedule{Seed: *callSeed, Jobs: 2, Mode: mode, Tasks: 2, Faults: slices.Clone(faults)}
		s.Faults[len(faults)-1].Skip = int(skip)
		r, err := s.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Facts[sim.Struck] < len(faults) { // the master makes no more calls
			break
		}
		taken++
		report(t, s, r)
	}
	if least := 30 / int(step); taken < least {
		t.Errorf("the master has failed at %d calls, want %d or more", taken, least)
	}
}
