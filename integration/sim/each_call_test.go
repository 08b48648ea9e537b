package sim_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// eachCall makes TestTheMasterFailsAtEachCall take every call. Otherwise it takes a part of them.
var eachCall = flag.Bool("each", false, "let the master fail at every call to YARN and HDFS, not at some of them")

// some is how many calls lie between two that are taken without -each.
const some = 12

// callSeed draws the jobs of TestTheMasterFailsAtEachCall.
const callSeed = 5

// ofFirst are the calls of the first attempt.
const ofFirst = "^appattempt[^ ]*_000001 "

// TestTheMasterFailsAtEachCall would catch a moment at which the end of a master loses a job, runs an ended one again, or
// leaves half an output: the master is killed, and becomes a zombie, before and after each of its calls to YARN and HDFS.
func TestTheMasterFailsAtEachCall(t *testing.T) {
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
				failAtEachCall(t, mode, fault)
			})
		}
	}
}

func failAtEachCall(t *testing.T, mode sim.Mode, fault sim.Fault) {
	t.Helper()
	step := 1
	if !*eachCall {
		step = some
	}
	fault.Call = ofFirst
	taken := 0
	for skip := int(callSeed) % step; ; skip += step {
		fault.Skip = skip
		s := sim.Schedule{Seed: callSeed, Jobs: 2, Mode: mode, Tasks: 2, Faults: []sim.Fault{fault}}
		r, err := s.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Facts[sim.Struck] == 0 { // the master makes no more calls
			break
		}
		taken++
		report(t, s, r)
	}
	if least := 30 / step; taken < least {
		t.Errorf("the master has failed at %d calls, want %d or more", taken, least)
	}
}
