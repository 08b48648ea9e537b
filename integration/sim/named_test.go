package sim_test

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// long is a seed whose first job has two workers and runs from 2.5 s to 66.6 s. The commit begins at
// 66.525 s and renames _SUCCESS at 66.609 s. The master hears of its end at 66.614 s.
const long = 20

func one(at time.Duration, kind sim.FaultKind, victim int, lasts time.Duration) sim.Schedule {
	return sim.Schedule{Seed: long, Jobs: 1, Faults: []sim.Fault{{At: at, Kind: kind, Victim: victim, Time: lasts}}}
}

// hit is a call that a fault must hit.
func hit(call string) map[string]int { return map[string]int{call: 1} }

// named has a schedule for each failure of docs/reliability.md that the simulation can show, and the least
// counts that show that it has met this failure. Without a fault the job has a master, two workers, two
// task hosts and four streams.
var named = map[string]struct {
	sim.Schedule
	least sim.Facts
}{
	"task host killed":                   {one(30*time.Second, sim.KillHost, 0, 0), sim.Facts{Hosts: 3, Reruns: 1}},
	"task host frozen":                   {one(30*time.Second, sim.FreezeHost, 0, time.Minute), sim.Facts{Hosts: 3, Reruns: 1}},
	"worker killed":                      {one(30*time.Second, sim.KillWorker, 0, 0), sim.Facts{Workers: 3, Reruns: 1}},
	"worker frozen":                      {one(30*time.Second, sim.FreezeWorker, 0, time.Minute), sim.Facts{Workers: 3, Reruns: 1}},
	"machine lost":                       {one(30*time.Second, sim.LoseWorker, 0, 0), sim.Facts{Workers: 3, Reruns: 1}},
	"node of a worker stops":             {one(30*time.Second, sim.StopNode, 1, 150*time.Second), sim.Facts{Workers: 3, Reruns: 1}},
	"node of the master stops":           {one(30*time.Second, sim.StopNode, 0, 150*time.Second), sim.Facts{Masters: 2}},
	"streams cut":                        {one(30*time.Second, sim.CutStreams, 0, 0), sim.Facts{Streams: 6, Reruns: 1}},
	"streams stall":                      {one(30*time.Second, sim.StallStreams, 0, time.Minute), sim.Facts{Workers: 3, Streams: 6, Reruns: 1}},
	"master killed":                      {one(30*time.Second, sim.KillMaster, 0, 0), sim.Facts{Masters: 2}},
	"master killed after the commit":     {one(66612*time.Millisecond, sim.KillMaster, 0, 0), sim.Facts{Masters: 2}},
	"master frozen":                      {one(30*time.Second, sim.FreezeMaster, 0, 4*time.Minute), sim.Facts{Masters: 2}},
	"ResourceManager away":               {one(30*time.Second, sim.StopYARN, 0, 30*time.Second), sim.Facts{Calls: hit("refused allocate")}},
	"ResourceManager away at the end":    {one(time.Minute, sim.StopYARN, 0, 40*time.Second), sim.Facts{Calls: hit("refused finishApplicationMaster")}},
	"ResourceManager away at submission": {one(0, sim.StopYARN, 0, 30*time.Second), sim.Facts{Calls: hit("refused getNewApplication")}},
	"answer to the submission lost":      {sim.Schedule{Seed: 38, Jobs: 1, Faults: []sim.Fault{{Kind: sim.ShakeYARN, Time: 2 * time.Second}}}, sim.Facts{Calls: hit("unanswered submitApplication")}},
	"answer to the end lost":             {sim.Schedule{Seed: 14, Jobs: 1, Faults: []sim.Fault{{At: 2621 * time.Millisecond, Kind: sim.ShakeYARN, Time: 10 * time.Second}}}, sim.Facts{Calls: hit("unanswered finishApplicationMaster")}},
	"HDFS away during the commit":        {one(66605*time.Millisecond, sim.StopHDFS, 0, time.Minute), sim.Facts{Calls: hit("held rename2")}},
	"answer to the commit lost":          {sim.Schedule{Seed: 1, Jobs: 1, Faults: []sim.Fault{{At: 11558 * time.Millisecond, Kind: sim.ShakeHDFS, Time: time.Second}}}, sim.Facts{Calls: hit("unanswered rename2")}},
}

// TestNamedSchedules would catch a failure of docs/reliability.md that breaks a rule, and a schedule that
// does not meet its failure any more.
func TestNamedSchedules(t *testing.T) {
	t.Parallel()
	for name, n := range named {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := n.Run(nil)
			if err != nil {
				t.Fatal(err)
			}
			report(t, n.Schedule, r)
			got, least := r.Facts, n.least
			if got.Masters < least.Masters || got.Workers < least.Workers || got.Hosts < least.Hosts || got.Streams < least.Streams ||
				got.Reruns < least.Reruns {
				t.Errorf("the run has %+v, want at least %+v", got, least)
			}
			for call, times := range least.Calls {
				if got.Calls[call] < times {
					t.Errorf("the fault hits %v, want %s", got.Calls, call)
				}
			}
		})
	}
}
