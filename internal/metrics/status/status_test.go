package status_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/status"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// It would catch a metric that this release of Go does not know any more, and pages instead of bytes.
func TestReadKnowsAllOfThisProcess(t *testing.T) {
	runtime.GC()
	r := status.New(1 << 30)
	m := r.Read(time.Unix(1000, 0))
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	if m.HeapUsed < 10_000 || m.HeapCommitted < m.HeapUsed || m.Runtime < m.HeapCommitted || m.Goroutines < 1 || m.Threads < 1 ||
		m.Collections < 1 || m.CPUTime <= 0 || m.Budget != 1<<30 || m.HeapMax != 0 && m.HeapMax < m.HeapUsed {
		t.Errorf("%+v", m)
	}
	if runtime.GOOS == "linux" && (m.Resident < m.HeapUsed || m.Resident > 16<<30) {
		t.Errorf("%+v", m)
	}
}

// It would catch a load that a second reader, within the same second, sets to that of a moment.
func TestLoadIsOfSeconds(t *testing.T) {
	r := status.New(0)
	now := time.Unix(1000, 0)
	if m := r.Read(now); m.CPULoad != 0 {
		t.Errorf("load %v before anything is measured", m.CPULoad)
	}
	for start := time.Now(); time.Since(start) < 20*time.Millisecond; { // uses the processor
	}
	if m := r.Read(now.Add(time.Second)); m.CPULoad != 0 {
		t.Errorf("load %v after one second, want the last value, 0", m.CPULoad)
	}
	load := r.Read(now.Add(10 * time.Second)).CPULoad
	if load <= 0 || load > 1 {
		t.Errorf("load %v", load)
	}
	if m := r.Read(now.Add(11 * time.Second)); m.CPULoad != load {
		t.Errorf("load %v after one more second, want %v", m.CPULoad, load)
	}
}

// It would catch a sample of the Status scope that the table of metrics does not have, or has with another kind.
func TestSamplesAreInTheTable(t *testing.T) {
	scope := metrics.Scope{Level: metrics.JobManager}
	process := status.New(0).Read(time.Unix(1000, 0))
	hosts := msg.WorkerMetrics{Hosts: []msg.HostMetrics{{Job: "j", Process: &process, Pool: &msg.BufferPool{Used: 9, Total: 8}, Managed: &msg.ManagedMemory{}, HDFS: &msg.HDFSMetrics{}}}}
	known := func(ids.JobID) (string, bool) { return "count", true }
	for _, s := range append(status.Samples(scope, process), status.OfWorker("node2", "w1", hosts, known)...) {
		if d, known := metrics.Lookup(s.Scope.Level, s.Name); !known || d.Kind != s.Kind {
			t.Errorf("%s, a %s, is in the table as %+v", s.Name, s.Kind, d)
		}
		if strings.HasSuffix(s.Name, ".AvailableMemorySegments") && s.Value != 0 {
			t.Errorf("%s is %v although more buffers are in use than there is memory for", s.Name, s.Value)
		}
	}
}
