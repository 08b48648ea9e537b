package jobmaster

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// BenchmarkJob10000x10000 runs a job with 100 million channels on 1000 workers with ten slots each,
// from its start to its end, with the loss of one worker while the consumers run. It measures only the
// JobMaster's own time. Flink 1.13 needs 17 s to deploy such a job, and 170 ms to find the tasks to restart.
func BenchmarkJob10000x10000(b *testing.B) {
	for _, kind := range []jobgraph.Kind{jobgraph.Pipelined, jobgraph.Blocking} {
		b.Run(cmp.Or(string(kind), "pipelined"), func(b *testing.B) { benchmarkLargeJob(b, kind) })
	}
}

func benchmarkLargeJob(b *testing.B, kind jobgraph.Kind) {
	const parallelism, workers, slots = 10_000, 1_000, 10
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "j",
		Vertices: []jobgraph.Vertex{{Name: "read", Parallelism: parallelism, Source: true}, {Name: "count", Parallelism: parallelism}},
		Edges:    []jobgraph.Edge{{From: 0, To: 1, Pattern: jobgraph.AllToAll, Kind: kind}},
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
			say(msg.RegisterAtJobMaster{Resource: from.Resource, Host: "n", PartitionAddress: "n:2"})
			var offers msg.OfferSlots
			for s := range slots {
				offers.Offers = append(offers.Offers, msg.SlotOffer{Index: s, Allocation: ids.AllocationID(fmt.Sprint(n, "/", s))})
			}
			say(offers)
			say(msg.HostReady{Host: ids.HostID(fmt.Sprint("h", n)), DataAddress: "n:1"})
		}
		// until lets the tasks of a vertex go on until they are in a state: cancelled ones end, and others run.
		until := func(vertex int, state msg.ExecutionState) {
			for i := range core.graph.Vertex(vertex) {
				e := &core.graph.Vertex(vertex)[i]
				if e.State.Final() || e.State == state || e.Resource == "" {
					continue
				}
				change := msg.TaskStateChange{Execution: e.ID, State: state}
				switch {
				case e.State == msg.ExecutionCanceling:
					change.State = msg.ExecutionCanceled
				case state == msg.ExecutionFinished && vertex == 0 && kind == jobgraph.Blocking:
					change.Partitions = []msg.WrittenPartition{{}}
				}
				from := actor.Peer{Connection: core.byResource[e.Resource].connection, Resource: e.Resource}
				step(taskExecutorSaid{From: from, Message: changed(change)})
			}
		}
		step(started{})
		step(resourceManagerSaid{msg.JobMasterRegistered{}})
		for n := range workers {
			join(n)
		}
		until(0, msg.ExecutionRunning)
		if kind == jobgraph.Blocking {
			until(0, msg.ExecutionFinished)
		}
		until(1, msg.ExecutionRunning)
		step(resourceManagerSaid{msg.TaskExecutorTerminated{Resource: "w7", Cause: "killed"}})
		for vertex := range 2 {
			until(vertex, msg.ExecutionCanceled)
		}
		join(workers)
		for vertex := range 2 {
			until(vertex, msg.ExecutionRunning)
			until(vertex, msg.ExecutionFinished)
		}
		if core.status != msg.JobFinished || deployed < 3*parallelism {
			b.Fatalf("job is %s after %d deployments", core.status, deployed)
		}
	}
}

// BenchmarkLossAfterTakeover loses a worker with ten tasks of a source that this master has taken over. As it does not know which splits
// they have read, all 10,000 tasks of the source run again, and so do the 10,000 that read from it. It measures only this step.
func BenchmarkLossAfterTakeover(b *testing.B) {
	const parallelism, workers, slots = 10_000, 1_000, 10
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "j",
		Vertices: []jobgraph.Vertex{{Name: "read", Parallelism: parallelism, Source: true}, {Name: "count", Parallelism: parallelism}},
		Edges:    []jobgraph.Edge{{From: 0, To: 1, Pattern: jobgraph.AllToAll, Kind: jobgraph.Blocking}},
	}
	g.Digest = g.ComputeDigest()
	settings, err := Configured(config.Config{}, g)
	if err != nil {
		b.Fatal(err)
	}
	settings.Job, settings.JobMaster, settings.Epoch, settings.TakenOver = "j1", "m2", 2, testEpoch
	for b.Loop() {
		b.StopTimer()
		core, err := newCore(settings)
		if err != nil {
			b.Fatal(err)
		}
		core.Step(testEpoch, started{})
		core.Step(testEpoch, resourceManagerSaid{msg.JobMasterRegistered{}})
		for n := range workers {
			from := actor.Peer{Connection: actor.ConnectionID(n + 1), Resource: ids.ResourceID(fmt.Sprint("w", n))}
			say := func(m msg.Message) { core.Step(testEpoch, taskExecutorSaid{From: from, Message: m}) }
			say(msg.RegisterAtJobMaster{Resource: from.Resource, Host: "n", PartitionAddress: "n:2"})
			held := msg.HeldPartitions{Last: true}
			var offers msg.OfferSlots
			for s := range slots {
				id := ids.ExecutionAttemptID{Epoch: 1, Subtask: n*slots + s}
				held.Tasks = append(held.Tasks, msg.TaskStateChange{Execution: id, State: msg.ExecutionFinished, Partitions: []msg.WrittenPartition{{}}, Inputs: []uint64{0}})
				offers.Offers = append(offers.Offers, msg.SlotOffer{Index: s, Allocation: ids.AllocationID(fmt.Sprint(n, "/", s))})
			}
			say(held)
			say(offers)
			say(msg.HostReady{Host: ids.HostID(fmt.Sprint("h", n)), DataAddress: "n:1"})
		}
		if deployed := core.graph.Counts(1)[msg.ExecutionDeploying]; deployed != parallelism {
			b.Fatalf("%d tasks are deployed, of %d", deployed, parallelism)
		}
		b.StartTimer()
		core.Step(testEpoch, resourceManagerSaid{msg.TaskExecutorTerminated{Resource: "w7", Cause: "killed"}})
		b.StopTimer()
		if again := core.graph.Counts(0)[msg.ExecutionFinished]; again != 0 {
			b.Fatalf("%d tasks of the source do not run again", again)
		}
		b.StartTimer()
	}
}
