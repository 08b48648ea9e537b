package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// TestMessagesSurviveTheWire would catch a field that is dropped, renamed or changed between two
// processes.
func TestMessagesSurviveTheWire(t *testing.T) {
	execution := ids.ExecutionAttemptID{Epoch: 4, Vertex: 1, Subtask: 2, Attempt: 3}
	messages := []msg.Message{
		msg.Heartbeat{},
		msg.Heartbeat{Process: &msg.ProcessMetrics{Resident: 1, Budget: 2, HeapUsed: 3, HeapCommitted: 4, HeapMax: 5, Runtime: 6, CPUTime: 7, CPULoad: 0.5, Goroutines: 8, Threads: 9, Collections: 10, CollectionTime: 11}},
		msg.Heartbeat{HDFS: &msg.HDFSMetrics{Read: msg.CallMetrics{Calls: 1, Failures: 2, Latency: &metrics.Summary{Count: 3, P99: 0.5}}}},
		msg.TaskExecutorRegistered{Instance: "i", ResourceManager: "r", HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second},
		msg.SlotReport{Slots: []msg.SlotStatus{{Index: 0}, {Index: 1, Allocation: "a", Job: "j"}}},
		msg.SlotReport{Metrics: &msg.WorkerMetrics{Process: msg.ProcessMetrics{Resident: 1, CPULoad: 0.5}, Hosts: []msg.HostMetrics{{Job: "j", Resident: 2, Share: 3, HDFS: &msg.HDFSMetrics{NameNode: msg.CallMetrics{Calls: 4}}, Process: &msg.ProcessMetrics{Threads: 5}, Pool: &msg.BufferPool{Used: 6, Total: 7}}}, Port: 9250, HDFS: &msg.HDFSMetrics{}, Partitions: &msg.ServedPartitions{Number: 8, Bytes: 9}}},
		msg.TaskStatesChanged{Changes: []msg.TaskStateChange{
			{Execution: execution, State: msg.ExecutionFailed, Failure: msg.NewFailure("boom", "stack"), Counters: map[string]int64{"words": 7}},
		}},
		msg.TasksProgress{Tasks: []msg.TaskProgress{
			{Execution: execution, Metrics: msg.TaskMetrics{Queues: msg.Queues{In: 3, Out: 4, InUsage: 5, OutUsage: 6}}},
			{Execution: execution, User: &msg.UserMetrics{Dropped: 5, Metrics: []msg.UserMetric{
				{Operator: 1, Kind: metrics.KindMeter, Name: "m", Value: 6, Rate: 0.1},
				{Kind: metrics.KindHistogram, Name: "h", Summary: &metrics.Summary{Count: 7, P999: 0.25}},
			}}},
		}},
		msg.SlotRequestsAnswered{Refused: []msg.SlotRefusal{{SlotOffer: msg.SlotOffer{Index: 1, Allocation: "a"}, Reason: "held"}}},
		msg.SplitAssigned{Execution: execution, Split: &jobgraph.Split{Base: "hdfs://n/", Parts: []jobgraph.Part{{Name: "a", Length: 5, FileModTime: 1_700_000_000_123}}, Hosts: []string{"h"}}},
		msg.SplitAssigned{Execution: execution},
		msg.UpdateTokens{Tokens: msg.Secret{0, 1, 0xff}},
		msg.StartHost{Host: "h", Tokens: msg.Secret{7}, Memory: memory.Slot{Heap: 100, OffHeap: 1, Managed: 2, Network: 3}},
		msg.CollectBatch{Execution: execution, Sequence: 4, Records: []byte{1, 0}},
		msg.CommitPrepared{Execution: execution, Winners: []string{"e1-v0-s0-a0", "e1-v0-s1-a2"}},
		msg.CommitGranted{Execution: execution},
		msg.Inquire{Number: 7, Host: "h", Inquiry: msg.Inquiry{
			Topic: msg.AboutLog, File: "a.log", Part: msg.Part{Offset: -5, Length: 7, ID: 1 << 63},
			Profile: msg.ProfileRequest{Mode: msg.ProfileCPU, Duration: time.Second, Keep: 3},
		}},
		msg.Inquired{Number: 7, Answer: msg.InquiryAnswer{
			Fault: "failed", Reason: "disk", Files: []msg.FileDetails{{Name: "a.log", Size: 5, Modified: time.UnixMilli(1_700_000_000_123).UTC(), ID: 1 << 63}},
			Offset: 3, Content: []byte{0, 0xff}, Profiles: []msg.ProfileDetails{{Mode: msg.ProfileCPU, State: msg.ProfileRunning}},
			Hosts: []msg.HostDetails{{Host: "h", Job: "j"}},
		}},
		msg.DeployTasks{Host: "h", Tasks: []msg.TaskDeployment{{Execution: execution, Winners: []string{"e1-v0-s0-a0"}}, {Execution: execution}}},
		msg.ExecuteJob{Graph: jobgraph.JobGraph{ProtocolVersion: 1, Vertices: []jobgraph.Vertex{{Name: "v", Parallelism: 2}}}},
	}
	for _, want := range messages {
		t.Run(msg.Kind(want), func(t *testing.T) {
			data, err := codec.Encode(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := codec.Decode(data, msg.KindsOf(want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decoded message differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheWidestCommitIsReported would catch a job whose commit task is wide enough to write, and has no room to say what
// it commits: its worker would end the host that sends a longer message.
func TestTheWidestCommitIsReported(t *testing.T) {
	m := msg.CommitPrepared{Winners: make([]string, jobgraph.MaxParallelism)}
	for i := range m.Winners {
		m.Winners[i] = fmt.Sprintf("e%d-v%d-s%d-a%d", 9999, jobgraph.MaxVertices-1, i, 99999)
	}
	data, err := codec.Encode(m)
	if err != nil || len(data) > msg.MaxWorkerMessage {
		t.Fatalf("%d winners take %d bytes: %v", len(m.Winners), len(data), err)
	}
	if _, err := codec.Decode(data, msg.TaskExecutorToJobMaster); err != nil {
		t.Error(err)
	}
}

// TestTheMeasuresOfManyHostsAreReported would catch a worker with many task hosts whose report is too long, so that the
// ApplicationMaster ends it.
func TestTheMeasuresOfManyHostsAreReported(t *testing.T) {
	most := msg.CallMetrics{Calls: math.MaxInt64, Failures: math.MaxInt64, Latency: &metrics.Summary{
		Count: math.MaxInt64, Sum: math.Pi, Min: math.Pi, Max: math.Pi, Mean: math.Pi, StdDev: math.Pi,
		P50: math.Pi, P75: math.Pi, P90: math.Pi, P95: math.Pi, P98: math.Pi, P99: math.Pi, P999: math.Pi,
	}}
	process := msg.ProcessMetrics{
		Resident: math.MaxInt64, Budget: math.MaxInt64, HeapUsed: math.MaxInt64, HeapCommitted: math.MaxInt64, HeapMax: math.MaxInt64, Runtime: math.MaxInt64,
		CPUTime: math.MaxInt64, CPULoad: math.Pi, Goroutines: math.MaxInt64, Threads: math.MaxInt64, Collections: math.MaxInt64, CollectionTime: math.MaxInt64,
	}
	const slots, jobID, allocation = 3495, "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"
	m := msg.SlotReport{Metrics: &msg.WorkerMetrics{}}
	for i := range slots {
		m.Slots = append(m.Slots, msg.SlotStatus{Index: i, Allocation: allocation, Job: jobID})
	}
	for range msg.MostMeasuredHosts {
		m.Metrics.Hosts = append(m.Metrics.Hosts, msg.HostMetrics{
			Job: jobID, Resident: math.MaxInt64, Share: math.MaxInt64,
			HDFS: &msg.HDFSMetrics{NameNode: most, Read: most, Write: most}, Process: &process, Pool: &msg.BufferPool{Used: math.MaxInt64, Total: math.MaxInt64},
		})
	}
	data, err := codec.Encode(m)
	if err != nil || len(data) > 1088<<10 {
		t.Errorf("it takes %d bytes, want 1,088 KiB at most, see msg.MaxWorkerMessage: %v", len(data), err)
	}
}

// TestTheLongestAnswerIsTaken would catch a process whose worker, or whose ApplicationMaster, ends it because it shows
// the stacks of its goroutines.
func TestTheLongestAnswerIsTaken(t *testing.T) {
	answer := msg.InquiryAnswer{Content: make([]byte, msg.MaxGoroutines)}
	data, err := codec.Encode(msg.Inquired{Number: 1 << 60, Answer: answer})
	if err != nil || len(data) > 513<<10 || answer.Check(msg.AboutGoroutines) != nil {
		t.Errorf("it takes %d bytes: %v", len(data), err)
	}
}

// TestFewBytesMakeNoLargeMessage would catch a peer that fills a role's memory with elements of one
// byte each.
func TestFewBytesMakeNoLargeMessage(t *testing.T) {
	const elements = 4 << 20
	body := []byte("\xa1\x65Slots\x9a") // {"Slots": [{}, {}, …]}
	body = binary.BigEndian.AppendUint32(body, elements)
	body = append(body, bytes.Repeat([]byte{0xa0}, elements)...)
	data := append([]byte("\x82\x6aSlotReport"), body...)
	if m, err := codec.Decode(data, msg.TaskExecutorToResourceManager); !errors.Is(err, codec.ErrMalformed) {
		t.Errorf("%d bytes became %v, %v", len(data), m, err)
	}
	if m, err := codec.Decode(data[:9], msg.TaskExecutorToResourceManager); !errors.Is(err, codec.ErrMalformed) {
		t.Errorf("half a message became %v, %v", m, err)
	}
	few := append([]byte("\x82\x6aSlotReport"), "\xa1\x65Slots\x82\xa0\xa0"...)
	if m, err := codec.Decode(few, msg.TaskExecutorToResourceManager); err != nil || len(m.(msg.SlotReport).Slots) != 2 {
		t.Errorf("two empty slots became %v, %v", m, err)
	}
}

// TestOtherKindsAreNotDecoded would catch a role that decodes messages which its peer may not send,
// such as a JobGraph from a worker, with all the memory of it.
func TestOtherKindsAreNotDecoded(t *testing.T) {
	for name, kinds := range map[string]msg.Kinds{
		"worker to ResourceManager": msg.TaskExecutorToResourceManager, "ResourceManager to worker": msg.ResourceManagerToTaskExecutor,
		"worker to JobMaster": msg.TaskExecutorToJobMaster, "JobMaster to worker": msg.JobMasterToTaskExecutor,
		"host to worker": msg.HostToTaskExecutor, "worker to host": msg.TaskExecutorToHost,
		"driver to starter": msg.DriverToStarter, "starter to driver": msg.StarterToDriver,
	} {
		for _, m := range []msg.Message{
			msg.RegisterTaskExecutor{},
			msg.RequestSlots{},
			msg.RegisterAtJobMaster{},
			msg.DeployTasks{},
			msg.CommitPrepared{},
			msg.CommitGranted{},
			msg.HostHello{},
			msg.StartHost{},
			msg.ExecuteJob{},
			msg.JobEnded{},
			msg.RegisterJobMaster{},
		} {
			data, err := codec.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			got, err := codec.Decode(data, kinds)
			if kinds.Allow(m) != (err == nil) || err != nil && !errors.Is(err, msg.ErrKind) {
				t.Errorf("%s, %s: got %v, %v", name, msg.Kind(m), got, err)
			}
		}
	}
	strange := append([]byte("\x82\x64Evil"), 0xa0)
	if m, err := codec.Decode(strange, msg.HostToTaskExecutor); !errors.Is(err, msg.ErrKind) {
		t.Errorf("an unknown kind gives %v, %v", m, err)
	}
}

// FuzzDecode would catch bytes from a peer that crash a role.
func FuzzDecode(f *testing.F) {
	for _, m := range []msg.Message{msg.Heartbeat{}, msg.OfferSlots{Offers: []msg.SlotOffer{{Index: 1, Allocation: "a"}}}} {
		data, err := codec.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := codec.Decode(data, msg.KindsOf(msg.Heartbeat{}, msg.OfferSlots{}, msg.DeployTasks{}, msg.StartHost{}, msg.ExecuteJob{}))
		if err != nil {
			return
		}
		if _, err := codec.Encode(m); err != nil {
			t.Errorf("decoded %s does not encode: %v", msg.Kind(m), err)
		}
	})
}
