package msg

import (
	"errors"
	"math"
	"testing"
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
		"a load of nothing":      func(m *WorkerMetrics) { m.Process.CPULoad = math.NaN() },
		"a load above one":       func(m *WorkerMetrics) { m.Process.CPULoad = 1.5 },
		"negative time":          func(m *WorkerMetrics) { m.Process.CPUTime = -1 },
	} {
		m := good()
		if change(&m); !errors.Is(m.Check(2), errImplausibleMetrics) {
			t.Errorf("%s: %v", name, m.Check(2))
		}
	}
}
