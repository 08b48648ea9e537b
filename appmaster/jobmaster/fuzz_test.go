package jobmaster

import (
	"slices"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// FuzzTaskExecutorSays sends messages of a TaskExecutor to a running job, also those that come from
// a task host with user code. It would catch a message that crashes the ApplicationMaster, a task
// that is counted twice or not at all, and a short message that causes a flood of answers.
func FuzzTaskExecutorSays(f *testing.F) {
	task := func(v, s int) ids.ExecutionAttemptID { return ids.ExecutionAttemptID{Vertex: v, Subtask: s} }
	for _, messages := range [][]msg.Message{
		{changed(msg.TaskStateChange{Execution: task(0, 0), State: msg.ExecutionFailed}), msg.HostLost{Host: "h1"}, msg.HostReady{Host: "h2"}},
		{msg.RequestSplit{Execution: task(0, 1)}, msg.RequestSplit{Execution: task(2, 0)}, changed(msg.TaskStateChange{Execution: task(0, 1), State: msg.ExecutionFinished})},
		{msg.CollectBatch{Execution: task(2, 0), Records: []byte{1, 'x'}}, msg.CollectBatch{Execution: task(2, 0), Sequence: 1 << 62}, changed(msg.TaskStateChange{Execution: task(2, 0), State: "DONE"})},
		{msg.CommitPrepared{Execution: task(3, 0), Winners: []string{"a", "b"}}, msg.CommitPrepared{Execution: task(1, 0)}, changed(msg.TaskStateChange{Execution: task(3, 0), State: msg.ExecutionFinished})},
		{msg.OfferSlots{Offers: []msg.SlotOffer{{Allocation: "a1"}, {Allocation: "a3", Index: -1}}}, msg.RegisterAtJobMaster{Resource: "w1"}, msg.Disconnect{Cause: "c"}},
		{msg.HostLost{Host: "h1", Reason: msg.HostStopped}, msg.HostLost{Reason: msg.HostUnavailable}, msg.OfferSlots{Offers: []msg.SlotOffer{{Allocation: "a3"}}}},
		{msg.HostLost{Host: "h1", Reason: msg.HostFull}, msg.HostReady{Host: "h2"}, msg.HostLost{Host: "h2", Reason: msg.HostUnavailable}},
		{msg.TasksProgress{Tasks: []msg.TaskProgress{{Execution: task(-1, 9), Metrics: msg.TaskMetrics{Traffic: msg.Traffic{ReadBytes: -1}}}}}, msg.HostLost{Host: "h1", Failure: msg.Failure{Permanent: true}}, msg.Heartbeat{}},
	} {
		var encoded [3][]byte
		for i, m := range messages {
			data, err := codec.Encode(m)
			if err != nil {
				f.Fatal(err)
			}
			encoded[i] = data
		}
		f.Add(encoded[0], encoded[1], encoded[2])
	}
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		from := actor.Peer{Connection: 1, Resource: "w1"}
		c, now := deployedJob(t, from), testEpoch
		for _, data := range [][]byte{first, second, third} {
			m, err := codec.Decode(data, msg.TaskExecutorToJobMaster)
			if err != nil {
				continue
			}
			now = now.Add(time.Second)
			effects := c.Step(now, taskExecutorSaid{From: from, Message: m})
			if limit := 64 + len(data); len(effects) > limit {
				t.Errorf("%s of %d bytes has %d effects", msg.Kind(m), len(data), len(effects))
			}
			checkDetails(t, c.details())
		}
		c.Step(now.Add(time.Second), taskExecutorDisconnected{From: from, Cause: "gone"})
		c.Step(now.Add(time.Hour), woken{})
		checkDetails(t, c.details())
	})
}

// deployedJob is a job whose tasks run on one worker.
func deployedJob(t *testing.T, worker actor.Peer) *core {
	t.Helper()
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "j",
		Vertices: []jobgraph.Vertex{
			{Name: "read", Parallelism: 2, Source: true, Splits: []jobgraph.Split{{Base: "a/", Hosts: []string{"n1", "n1"}}, {Base: "b/"}}},
			{Name: "count", Parallelism: 2},
			{Name: "collect", Parallelism: 1, Collect: "top"},
			{Name: "commit", Parallelism: 1, Commit: true},
		},
		Edges: []jobgraph.Edge{
			{From: 0, To: 1, Pattern: jobgraph.AllToAll},
			{From: 1, To: 2, Pattern: jobgraph.AllToAll},
			{From: 1, Output: 1, To: 3, Pattern: jobgraph.AllToAll},
		},
	}
	g.Digest = g.ComputeDigest()
	options, err := Configured(config.Config{}, g)
	if err != nil {
		t.Fatal(err)
	}
	options.Job, options.JobMaster = "j1", "m1"
	options.Restart.FixedDelay.Attempts = 1
	c, err := newCore(options)
	if err != nil {
		t.Fatal(err)
	}
	c.Step(testEpoch, started{})
	c.Step(testEpoch, resourceManagerSaid{msg.JobMasterRegistered{}})
	for _, m := range []msg.Message{
		msg.RegisterAtJobMaster{Resource: worker.Resource, Host: "n1"},
		msg.OfferSlots{Offers: []msg.SlotOffer{{Allocation: "a1"}, {Allocation: "a2", Index: 1}}},
		msg.HostReady{Host: "h1", DataAddress: "n1:1"},
	} {
		c.Step(testEpoch, taskExecutorSaid{From: worker, Message: m})
	}
	for e := range c.graph.All() {
		if e.State != msg.ExecutionDeploying {
			t.Fatalf("task %s is %s", e.ID, e.State)
		}
		running := changed(msg.TaskStateChange{Execution: e.ID, State: msg.ExecutionRunning})
		c.Step(testEpoch, taskExecutorSaid{From: worker, Message: running})
	}
	return c
}

func checkDetails(t *testing.T, d msg.JobDetails) {
	t.Helper()
	for _, v := range d.Vertices {
		total := 0
		for _, n := range v.Tasks {
			total += n
		}
		if total != v.Parallelism {
			t.Errorf("vertex %s has %v, which are not %d tasks", v.Name, v.Tasks, v.Parallelism)
		}
	}
	if failed := tasksFailed(d); len(d.TaskFailures) != min(failed, maxTaskFailures) {
		t.Errorf("of %d tasks that are FAILED, %d say why", failed, len(d.TaskFailures))
	}
	for _, e := range slices.Concat(d.Exceptions, d.TaskFailures) {
		if len(e.Failure.Message)+len(e.Failure.Stack) > 128<<10 {
			t.Errorf("a failure has %d bytes", len(e.Failure.Message)+len(e.Failure.Stack))
		}
	}
}

func tasksFailed(d msg.JobDetails) (n int) {
	for _, v := range d.Vertices {
		n += v.Tasks[msg.ExecutionFailed]
	}
	return n
}
