package msg

import (
	"errors"
	"math"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// TestImplausibleMetricsAreRefused would catch a worker that fills the memory of the ApplicationMaster, or a page, with
// hosts that cannot exist.
func TestImplausibleMetricsAreRefused(t *testing.T) {
	t.Parallel()
	good := func() WorkerMetrics {
		return WorkerMetrics{Process: ProcessMetrics{Resident: 1, CPULoad: 1}, Hosts: []HostMetrics{{Job: "a", Resident: 2, Share: 3}, {Job: "b"}}, Port: 9250}
	}
	if err := good().Check(2); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*WorkerMetrics){
		"more hosts than slots":  func(m *WorkerMetrics) { m.Hosts = append(m.Hosts, HostMetrics{Job: "c"}) },
		"a job twice":            func(m *WorkerMetrics) { m.Hosts[1].Job = "a" },
		"negative memory":        func(m *WorkerMetrics) { m.Hosts[1].Resident = -1 },
		"more memory than a sum": func(m *WorkerMetrics) { m.Hosts[1].Resident = math.MaxInt64 },
		"a share of more":        func(m *WorkerMetrics) { m.Hosts[1].Share = math.MaxInt64 },
		"a process of more":      func(m *WorkerMetrics) { m.Process.Resident = math.MaxInt64 },
		"a port that is none":    func(m *WorkerMetrics) { m.Port = 1 << 16 },
		"a negative latency":     func(m *WorkerMetrics) { m.HDFS = &HDFSMetrics{Read: CallMetrics{Latency: &metrics.Summary{Min: -1}}} },
		"a latency of nothing": func(m *WorkerMetrics) {
			m.Hosts[1].HDFS = &HDFSMetrics{NameNode: CallMetrics{Latency: &metrics.Summary{P99: math.NaN()}}}
		},
		"negative calls":                   func(m *WorkerMetrics) { m.Hosts[1].HDFS = &HDFSMetrics{Write: CallMetrics{Failures: -1}} },
		"goroutines of a host below zero":  func(m *WorkerMetrics) { m.Hosts[1].Process = &ProcessMetrics{Goroutines: -1} },
		"fewer buffers than none":          func(m *WorkerMetrics) { m.Hosts[1].Pool = &BufferPool{Used: -1} },
		"more buffers than memory":         func(m *WorkerMetrics) { m.Hosts[1].Pool = &BufferPool{Total: math.MaxInt64} },
		"less managed memory than none":    func(m *WorkerMetrics) { m.Hosts[1].Managed = &ManagedMemory{Used: -1} },
		"managed memory above all":         func(m *WorkerMetrics) { m.Hosts[1].Managed = &ManagedMemory{Total: math.MaxInt64} },
		"fewer partitions than none":       func(m *WorkerMetrics) { m.Partitions = &ServedPartitions{Number: -1} },
		"partitions larger than all disks": func(m *WorkerMetrics) { m.Partitions = &ServedPartitions{Bytes: math.MaxInt64} },
		"a load of nothing":                func(m *WorkerMetrics) { m.Process.CPULoad = math.NaN() },
		"a load above one":                 func(m *WorkerMetrics) { m.Process.CPULoad = 1.5 },
		"negative time":                    func(m *WorkerMetrics) { m.Process.CPUTime = -1 },
	} {
		m := good()
		if change(&m); !errors.Is(m.Check(2), errImplausibleMetrics) {
			t.Errorf("%s: %v", name, m.Check(2))
		}
	}
}

// TestManyHostsAreNotMeasured would catch a worker whose report is longer than a message may be.
func TestManyHostsAreNotMeasured(t *testing.T) {
	t.Parallel()
	m := WorkerMetrics{Hosts: make([]HostMetrics, MostMeasuredHosts+1)}
	for i := range m.Hosts {
		m.Hosts[i].Job = ids.JobID(rune('a' + i))
		if i%2 == 0 {
			m.Hosts[i].HDFS = &HDFSMetrics{}
		} else {
			m.Hosts[i].Process = &ProcessMetrics{}
		}
	}
	if err := m.Check(len(m.Hosts)); !errors.Is(err, errImplausibleMetrics) {
		t.Errorf("%d hosts: %v", len(m.Hosts), err)
	}
	m.Hosts[7].Process = nil
	if err := m.Check(len(m.Hosts)); err != nil {
		t.Errorf("with one less: %v", err)
	}
}
