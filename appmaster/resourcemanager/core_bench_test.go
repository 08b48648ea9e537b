package resourcemanager

import (
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// BenchmarkAHeartbeat measures a message that changes nothing, while many jobs wait for workers, and with many kinds of
// workers. It would show work in each step that grows with the square of the jobs, or with the kinds.
func BenchmarkAHeartbeat(b *testing.B) {
	for _, size := range []struct{ jobs, kinds int }{{1, 1}, {1000, 1}, {1000, 2}, {255, 256}, {1, 256}} {
		b.Run(fmt.Sprintf("jobs=%d/kinds=%d", size.jobs, size.kinds), func(b *testing.B) {
			c := crowded(b, size.jobs, size.kinds)
			heartbeat := taskExecutorSaid{From: actor.Peer{Connection: 1, Resource: "w1"}, Message: msg.Heartbeat{}}
			for b.Loop() {
				c.Step(testEpoch, heartbeat)
			}
		})
	}
}

// crowded makes a core with a full worker, jobs that wait for slots, and kinds of workers that jobs have used or use.
func crowded(t testing.TB, jobs, kinds int) *core {
	c, err := newCore(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	for n := range kinds - 1 {
		declareOne(c, "j0", sized(n), 1)
		declareOne(c, "j0", sized(n), 0)
	}
	declareOne(c, "j0", msg.ResourceProfile{}, 2)
	c.Step(testEpoch, workersReported{Events: []WorkerEvent{WorkerStarting{Worker: "w1", Spec: testConfig().Worker, Host: "h"}}})
	c.Step(testEpoch, taskExecutorSaid{From: actor.Peer{Connection: 1, Resource: "w1"}, Message: registration("w1")})
	for n := range jobs {
		profile := msg.ResourceProfile{}
		if kinds > 1 {
			profile = sized(n % (kinds - 1))
		}
		declareOne(c, ids.JobID(fmt.Sprintf("j%d", n+1)), profile, 2)
	}
	return c
}

// declareOne registers the JobMaster of a job, if it is new, and declares slots of one size.
func declareOne(c *core, job ids.JobID, profile msg.ResourceProfile, slots int) []effect {
	jobMaster := ids.JobMasterID("m-" + string(job))
	c.Step(testEpoch, jobMasterRegistering{msg.RegisterJobMaster{Job: job, JobMaster: jobMaster}})
	return c.Step(testEpoch, requirementsDeclared{msg.DeclareRequirements{
		Job: job, JobMaster: jobMaster, Needs: []msg.SlotNeed{{Profile: profile, Slots: slots, Part: slots}},
	}})
}

// sized is one of many sizes of slots.
func sized(n int) msg.ResourceProfile {
	return msg.ResourceProfile{CPU: 1, TaskHeap: int64(100+n) << 20}
}
