package taskexecutor

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestHeartbeatsBringTheLastMetrics would catch a worker whose metrics stay those of its start, or come to a JobMaster.
func TestHeartbeatsBringTheLastMetrics(t *testing.T) {
	t.Parallel()
	s := &script{t: t, now: time.Unix(1000, 0)}
	for _, line := range []string{"start 2", "opened 1", "registered"} {
		s.command(line)
	}
	for n := 1; n <= 2; n++ {
		want := msg.WorkerMetrics{Process: msg.ProcessMetrics{Goroutines: n}}
		s.step(measured{want})
		s.now = s.core.Alarm()
		var got *msg.WorkerMetrics
		for _, e := range s.core.Step(s.now, woken{}) {
			if sent, is := e.(sendRole); is {
				got = sent.Message.(msg.SlotReport).Metrics
			}
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("heartbeat %d (-want +got):\n%s", n, diff)
		}
	}
}

// TestServedPartitionsAreMeasured would catch a worker that shows no partitions, or those that it had at an earlier time.
func TestServedPartitionsAreMeasured(t *testing.T) {
	t.Parallel()
	w := servingWorker(t)
	for task := range 2 {
		w.finish(task, 1, nil)
	}
	var shown []msg.WorkerMetrics
	for _, e := range w.core.Step(w.now, measured{msg.WorkerMetrics{Process: msg.ProcessMetrics{Threads: 1}}}) {
		if e, is := e.(showMetrics); is {
			shown = append(shown, e.Metrics)
		}
	}
	want := msg.WorkerMetrics{Process: msg.ProcessMetrics{Threads: 1}, Partitions: &msg.ServedPartitions{Number: 2, Bytes: 2 * fileSize}}
	if diff := cmp.Diff([]msg.WorkerMetrics{want}, shown, cmpopts.IgnoreUnexported(msg.ServedPartitions{})); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	w.step(roleSaid{w.core.jobs["j1"].link.id, msg.ReleasePartitions{Partitions: []ids.PartitionID{{Execution: ids.ExecutionAttemptID{Epoch: 1}}}}})
	if got := w.core.measures().Partitions; got == nil || got.Number != 1 || got.Bytes != fileSize {
		t.Errorf("the next heartbeat has %+v, want the partition that is left", got)
	}
}

// TestHostsAreReportedWhileTheyHaveSlots would catch metrics that the ResourceManager takes for a lie, because they have more hosts
// than slots, and a container that seems to use less than it does while the host of an ended job still ends.
func TestHostsAreReportedWhileTheyHaveSlots(t *testing.T) {
	t.Parallel()
	s := &script{t: t, now: time.Unix(1000, 0)}
	for _, line := range []string{"start 1", "opened 1", "registered", "request 0 a1 j1", "opened 2", "admitted j1", "accept j1 a1"} {
		s.command(line)
	}
	reported := func() string {
		t.Helper()
		s.step(measured{msg.WorkerMetrics{Hosts: []msg.HostMetrics{{Job: "j0", Resident: 1}, {Job: "j1", Resident: 2}}}})
		s.now = s.now.Add(s.core.rm.watch.interval)
		for _, e := range s.core.Step(s.now, woken{}) {
			if sent, is := e.(sendRole); is && sent.Link == 1 {
				m := sent.Message.(msg.SlotReport)
				if err := m.Metrics.Check(len(m.Slots)); err != nil {
					t.Error(err)
				}
				var hosts []string
				for _, h := range m.Metrics.Hosts {
					hosts = append(hosts, fmt.Sprint(h.Job, " ", h.Resident))
				}
				return strings.Join(hosts, ", ")
			}
		}
		return "no heartbeat"
	}
	const want = "j1 2b"
	if got := reported(); got != want {
		t.Errorf("hosts %s, want %s: j0 has ended, and j1 has its slot", got, want)
	}
	s.command("free j1 a1")
	if got := reported(); got != want {
		t.Errorf("hosts %s, want %s: the host of j1 still ends", got, want)
	}
}

// processHost is a host with a pid.
type processHost struct {
	Host
	pid int
}

func (h processHost) PID() int { return h.pid }

func (h processHost) Control() control.Channel { return nil }

// TestMetricsOfHosts would catch a host whose children do not count, and a job that comes twice while its host is replaced.
func TestMetricsOfHosts(t *testing.T) {
	t.Parallel()
	child := exec.CommandContext(t.Context(), "cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}()
	s := &shell{
		TaskExecutor: &TaskExecutor{env: Environment{Status: func(time.Time) msg.ProcessMetrics { return msg.ProcessMetrics{Threads: 7} }}},
		hosts: map[ids.HostID]*hostControl{
			"h1": {job: "b", host: processHost{pid: os.Getpid()}, memory: memory.Slot{Heap: 5}, said: said{process: &msg.ProcessMetrics{Goroutines: 9}, pool: &msg.BufferPool{Used: 2, Total: 8}, managed: &msg.ManagedMemory{Used: 3, Total: 7}}},
			"h2": {job: "b", host: processHost{pid: child.Process.Pid}, memory: memory.Slot{Heap: 5}, said: said{pool: &msg.BufferPool{Used: 1, Total: 8}, managed: &msg.ManagedMemory{Used: 1, Total: 7}}},
			"h3": {job: "a", host: processHost{pid: child.Process.Pid}, memory: memory.Slot{Heap: 3}},
			"h4": {job: "c"}, // starts
			"h5": {job: "d", host: processHost{}},
		},
	}
	m := s.metrics(time.Unix(1000, 0))
	if m.Process.Threads != 7 || len(m.Hosts) != 2 {
		t.Fatalf("%+v", m)
	}
	a, b := m.Hosts[0], m.Hosts[1]
	if a.Job != "a" || a.Share != (memory.Slot{Heap: 3}).Share() || a.Resident <= 0 || b.Job != "b" || b.Share != (memory.Slot{Heap: 5}).Share() || b.Resident < a.Resident+config.Mebibyte || a.Process != nil || b.Process == nil || b.Process.Goroutines != 9 || a.Pool != nil || b.Pool == nil || b.Pool.Used != 3 || b.Pool.Total != 8 {
		t.Errorf("%+v", m.Hosts)
	}
	if b.Managed == nil || b.Managed.Used != 4 || b.Managed.Total != 7 {
		t.Errorf("managed memory is %+v, want the sum of both hosts in that of one", b.Managed)
	}
}

// TestHostsAreNotTrusted would catch a host whose latencies or goroutines are no numbers, which the ResourceManager would take for a
// lie of the worker, and those of a host that is replaced by a new one that has measured nothing.
func TestHostsAreNotTrusted(t *testing.T) {
	t.Parallel()
	h := &hostControl{}
	good := &msg.HDFSMetrics{NameNode: msg.CallMetrics{Calls: 7}}
	for _, said := range []*msg.HDFSMetrics{good, nil, {NameNode: msg.CallMetrics{Calls: -1}}, {Read: msg.CallMetrics{Latency: &metrics.Summary{Max: math.Inf(1)}}}} {
		h.hear(msg.Heartbeat{HDFS: said}, time.Unix(1000, 0))
		if got := h.saidLast().hdfs; got != good {
			t.Errorf("after %+v: %+v", said, got)
		}
	}
	uses := &msg.ProcessMetrics{CPUTime: 7}
	for _, said := range []*msg.ProcessMetrics{uses, nil, {Goroutines: -1}, {CPULoad: math.NaN()}} {
		h.hear(msg.Heartbeat{Process: said}, time.Unix(1000, 0))
		if got := h.saidLast(); got.process != uses || got.hdfs != good {
			t.Errorf("after %+v: %+v", said, got)
		}
	}
	pool := &msg.BufferPool{Used: 1, Total: 2}
	for _, said := range []*msg.BufferPool{pool, nil, {Used: -1}, {Total: math.MaxInt}} {
		h.hear(msg.Heartbeat{Pool: said}, time.Unix(1000, 0))
		if got := h.saidLast(); got.pool != pool || got.process != uses {
			t.Errorf("after %+v: %+v", said, got)
		}
	}
	managed := &msg.ManagedMemory{Used: 1, Total: 2}
	for _, said := range []*msg.ManagedMemory{managed, nil, {Used: -1}, {Total: math.MaxInt64}} {
		h.hear(msg.Heartbeat{Managed: said}, time.Unix(1000, 0))
		if got := h.saidLast(); got.managed != managed {
			t.Errorf("after %+v: %+v", said, got)
		}
	}
	if fresh := new(msg.ProcessMetrics); older(uses, fresh) != uses || older(nil, fresh) != fresh || older(fresh, uses) != uses || older(uses, nil) != uses {
		t.Error("the memory of a new host hides that of the one that it replaces")
	}
	if fresh := new(msg.HDFSMetrics); busier(good, fresh) != good || busier(nil, fresh) != fresh || busier(fresh, good) != good || busier(good, nil) != good {
		t.Error("the metrics of a new host hide those of the one that it replaces")
	}
}
