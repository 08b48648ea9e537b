package taskexecutor

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// FuzzSaid sends messages of its peers to a worker with a running job: of the task host, which is
// user code, of the ResourceManager and of the JobMaster, in this order. It would catch a message
// that ends the worker with all its jobs, puts an allocation into two slots, or makes the worker
// spin.
func FuzzSaid(f *testing.F) {
	task := ids.ExecutionAttemptID{Vertex: -1, Subtask: 1 << 40}
	for _, messages := range [][3]msg.Message{
		{msg.HostReady{Host: "another"}, msg.RequestSlots{Slots: []msg.SlotOffer{{Index: 1, Allocation: "a1"}}, Job: "j2"}, msg.FreeSlots{Allocations: []ids.AllocationID{"a1", "a1"}}},
		{msg.HostLost{Failure: msg.Failure{Permanent: true}}, msg.RequestSlots{Slots: []msg.SlotOffer{{Index: -1}, {}, {}}}, msg.SlotOffersAnswered{Accepted: []ids.AllocationID{"a1"}, Rejected: []ids.AllocationID{"a1"}}},
		{msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{Execution: task}}}, msg.TaskExecutorRegistered{}, msg.DeployTasks{Host: "h"}},
		{
			msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{
				Execution: ids.ExecutionAttemptID{Epoch: 1}, State: msg.ExecutionFinished, Counters: map[string]int64{"c": 1},
				Partitions: []msg.WrittenPartition{{Output: 0, Dir: 1, Bytes: 7}, {Output: 3}},
			}}},
			msg.UpdateTokens{},
			msg.ReleasePartitions{Partitions: []ids.PartitionID{{Execution: ids.ExecutionAttemptID{Epoch: 1}, Output: 3}, {Output: 3}}},
		},
		{
			msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{
				Execution: ids.ExecutionAttemptID{Epoch: 1}, State: msg.ExecutionFinished, Partitions: []msg.WrittenPartition{{Output: -1, Dir: 9}},
			}}},
			msg.Heartbeat{},
			msg.Disconnect{},
		},
		{msg.HostHello{ProtocolVersion: -1}, msg.RequestSlots{Slots: []msg.SlotOffer{{Index: 1, Allocation: "a2"}}, Job: "j1", JobMaster: "m2", Program: msg.Program{SHA256: "5a"}, Memory: memory.Slot{Heap: -1}}, msg.RegisteredAtJobMaster{JobMaster: "m2"}},
		{msg.HostHello{ProtocolVersion: jobgraph.ProtocolVersion}, msg.ReleaseTaskExecutor{Cause: "c"}, msg.Disconnect{}},
		{msg.HostReady{}, msg.RequestSlots{Slots: []msg.SlotOffer{{Index: 1, Allocation: "a2"}}, Job: "j2", Program: msg.Program{Name: "../x", SHA256: "11", URI: "hdfs://ns/x"}}, msg.FreeSlots{Allocations: []ids.AllocationID{"a1"}}},
		{msg.UpdateTokens{Tokens: msg.Secret("a host's own")}, msg.UpdateTokens{Tokens: msg.Secret("new")}, msg.UpdateTokens{}},
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
	f.Fuzz(func(t *testing.T, host, resourceManager, jobMaster []byte) {
		w := busyWorker(t)
		for range 2 { // a second time, in the changed state
			if m, err := codec.Decode(host, msg.HostToTaskExecutor); err == nil {
				w.step(hostSaid{w.host, m})
			}
			if m, err := codec.Decode(resourceManager, msg.ResourceManagerToTaskExecutor); err == nil {
				w.step(roleSaid{1, m})
			}
			if m, err := codec.Decode(jobMaster, msg.JobMasterToTaskExecutor); err == nil {
				w.step(roleSaid{w.core.lastLink, m})
			}
			w.step(fetched{Copy: 1, File: "1/x"})
			w.step(fetchFailed{Copy: 2, Cause: "no such file"})
		}
		w.step(hostExited{w.host, Exit{How: "exit status 2"}})
		w.step(linkLost{Link: 1, Cause: "gone"})
	})
}

// fuzzed is a worker under test.
type fuzzed struct {
	t     *testing.T
	core  *core
	now   time.Time
	host  ids.HostID // of its job
	ended bool

	killed bool          // the host
	sent   []msg.Message // to roles
}

// busyWorker has one job, with a host that is ready and runs a task.
func busyWorker(t *testing.T) *fuzzed {
	t.Helper()
	config := testConfig(2)
	config.PartitionDisks = 2
	w := workerOf(t, config)
	w.step(roleSaid{2, msg.DeployTasks{Host: w.host, Tasks: []msg.TaskDeployment{{Execution: ids.ExecutionAttemptID{Epoch: 1}}}}})
	return w
}

// workerOf has one job, with a host that is ready.
func workerOf(t *testing.T, config Config) *fuzzed {
	t.Helper()
	core, err := newCore(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &fuzzed{t: t, core: core, now: testEpoch}
	w.step(started{})
	w.step(linkOpened{1})
	w.step(roleSaid{1, msg.TaskExecutorRegistered{ResourceManager: "r1", HeartbeatInterval: time.Second, HeartbeatTimeout: time.Minute}})
	w.step(roleSaid{1, msg.RequestSlots{Slots: []msg.SlotOffer{{Allocation: "a1"}}, Job: "j1", JobMaster: "m1", Program: msg.Program{SHA256: "5a"}, Memory: testSlot}})
	w.step(linkOpened{2})
	w.step(roleSaid{2, msg.RegisteredAtJobMaster{JobMaster: "m1", HeartbeatInterval: time.Second, HeartbeatTimeout: time.Minute}})
	w.step(hostSaid{w.host, msg.HostHello{ProtocolVersion: jobgraph.ProtocolVersion}})
	w.step(hostSaid{w.host, msg.HostReady{DataAddress: "n1:1"}})
	if w.host == "" {
		t.Fatal("no host was started")
	}
	return w
}

func (w *fuzzed) step(event event) {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	before := timers(w.core)
	for _, effect := range w.core.Step(w.now, event) {
		if w.ended {
			w.t.Errorf("%s after the end", show(effect))
		}
		switch e := effect.(type) {
		case startHost:
			w.host = e.Host
		case end:
			w.ended = true
		case killHost:
			w.killed = true
		case sendRole:
			w.sent = append(w.sent, e.Message)
		default: // transcripts test these
		}
	}
	for _, d := range setSince(before, w.core) {
		if !d.at.After(w.now) {
			w.t.Errorf("timer %+v is set to %s at %s: it is due at once and again", d.timer, d.at, w.now)
		}
	}
	if served := w.served(); w.core.partitions != served || served > maxPartitions || w.core.reports < 0 || w.core.reports > maxReports {
		w.t.Errorf("there are %d partitions, and it counts %d, with %d bytes of reports", served, w.core.partitions, w.core.reports)
	}
	taken := make(map[ids.AllocationID]bool)
	for _, s := range w.core.slots.slots {
		if s.state != slotFree && taken[s.allocation] {
			w.t.Errorf("allocation %s has two slots", s.allocation)
		}
		taken[s.allocation] = s.state != slotFree || taken[s.allocation]
	}
}

// served counts the partitions.
func (w *fuzzed) served() (n int) {
	for _, j := range w.core.jobs {
		for _, f := range j.finished {
			n += len(f.partitions)
		}
	}
	return n
}

// TestAPeerThatWantsNoPauseGetsOne would catch a core whose step never ends.
func TestAPeerThatWantsNoPauseGetsOne(t *testing.T) {
	t.Parallel()
	core, err := newCore(testConfig(1))
	if err != nil {
		t.Fatal(err)
	}
	w := &fuzzed{t: t, core: core, now: testEpoch}
	w.step(started{})
	w.step(linkOpened{1})
	w.step(roleSaid{1, msg.TaskExecutorRegistered{ResourceManager: "r1"}})
	w.step(woken{})
}
