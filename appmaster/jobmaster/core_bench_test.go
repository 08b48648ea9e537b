package jobmaster

import (
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// BenchmarkJob10000x10000 runs a job with 100 million channels on 1000 workers with ten slots each,
// from its start to its end, with the loss of one worker. It measures only the JobMaster's own
// time. Flink 1.13 needs 17 s to deploy such a job, and 170 ms to find the tasks to restart.
func BenchmarkJob10000x10000(b *testing.B) {
	const parallelism, workers, slots = 10_000, 1_000, 10
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "j",
		Vertices: []jobgraph.Vertex{{Name: "read", Parallelism: parallelism, Source: true}, {Name: "count", Parallelism: parallelism}},
		Edges:    []jobgraph.Edge{{From: 0, To: 1, Pattern: jobgraph.AllToAll}},
	}
	g.Digest = g.ComputeDigest()
	settings, err := Configured(config.Config{}, g)
	if err != nil {
		b.Fatal(err)
	}
	settings.Job, settings.JobMaster = "j1", "m1"
	b.ReportAllocs()
	for b.Loop() {
		core, err := newCore(settings)
		if err != nil {
			b.Fatal(err)
		}
		deployed := 0
		step := func(event event) {
			for _, effect := range core.Step(testEpoch, event) {
				if sent, is := effect.(sendTaskExecutor); is {
					if d, is := sent.Message.(msg.DeployTasks); is {
						deployed += len(d.Tasks)
					}
				}
			}
		}
		join := func(n int) {
			from := actor.Peer{Connection: actor.ConnectionID(n + 1), Resource: ids.ResourceID(fmt.Sprint("w", n))}
			say := func(m msg.Message) { step(taskExecutorSaid{From: from, Message: m}) }
			say(msg.RegisterAtJobMaster{Resource: from.Resource, Host: "n"})
			var offers msg.OfferSlots
			for s := range slots {
				offers.Offers = append(offers.Offers, msg.SlotOffer{Index: s, Allocation: ids.AllocationID(fmt.Sprint(n, "/", s))})
			}
			say(offers)
			say(msg.HostReady{Host: ids.HostID(fmt.Sprint("h", n)), DataAddress: "n:1"})
		}
		all := func(attempt int, state msg.ExecutionState) {
			for e := range core.graph.All() {
				if e.ID.Attempt == attempt && !e.State.Final() && e.State != state {
					from := actor.Peer{Connection: core.byResource[e.Resource].connection, Resource: e.Resource}
					step(taskExecutorSaid{From: from, Message: changed(msg.TaskStateChange{Execution: e.ID, State: state})})
				}
			}
		}
		step(started{})
		step(resourceManagerSaid{msg.JobMasterRegistered{}})
		for n := range workers {
			join(n)
		}
		all(0, msg.ExecutionRunning)
		step(resourceManagerSaid{msg.TaskExecutorTerminated{Resource: "w7", Cause: "killed"}})
		all(0, msg.ExecutionCanceled)
		join(workers)
		all(1, msg.ExecutionRunning)
		all(1, msg.ExecutionFinished)
		if core.status != msg.JobFinished || deployed != 4*parallelism {
			b.Fatalf("job is %s after %d deployments", core.status, deployed)
		}
	}
}
