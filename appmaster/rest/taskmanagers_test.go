package rest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAWorkerShowsItsBuffers would catch buffers of one task host that hide those of another, buffers that are free although more
// are in use than there is memory for, and 0 where nothing is known.
func TestAWorkerShowsItsBuffers(t *testing.T) {
	t.Parallel()
	w := msg.TaskExecutorDetails{Metrics: &msg.WorkerMetrics{Hosts: []msg.HostMetrics{{Job: "a"}}}}
	w.Memory.Tasks.Network = 100 * msg.BufferBytes
	for _, test := range []struct {
		pools                             []msg.BufferPool
		total, used, available            int64
		usedBytes, availableBytes, memory int64
	}{
		{nil, -1, -1, -1, -1, -1, 100 * msg.BufferBytes},
		{[]msg.BufferPool{{Used: 3, Total: 8}, {Used: 1, Total: 8}}, 16, 4, 12, 4 * msg.BufferBytes, 96 * msg.BufferBytes, 100 * msg.BufferBytes},
		{[]msg.BufferPool{{Used: 101, Total: 8}}, 8, 101, 0, 101 * msg.BufferBytes, 0, 100 * msg.BufferBytes},
	} {
		w.Metrics.Hosts = w.Metrics.Hosts[:1]
		for _, p := range test.pools {
			w.Metrics.Hosts = append(w.Metrics.Hosts, msg.HostMetrics{Pool: &p})
		}
		m := taskManagerMetrics(w)
		if m.ShuffleSegmentsTotal != test.total || m.ShuffleSegmentsUsed != test.used || m.ShuffleSegmentsAvailable != test.available ||
			m.ShuffleUsed != test.usedBytes || m.ShuffleAvailable != test.availableBytes || m.ShuffleTotal != test.memory {
			t.Errorf("of %+v: %+v", test.pools, m)
		}
	}
}

// TestAWorkerShowsItsExternalResources would catch GPUs that nobody sees, and free slots that show those of the whole
// container.
func TestAWorkerShowsItsExternalResources(t *testing.T) {
	t.Parallel()
	w := taskManagerOf(msg.TaskExecutorDetails{SlotsTotal: 4, SlotsFree: 1, VCores: 4, External: "fpga=1,gpu=2"})
	if diff := cmp.Diff(map[string]float64{"fpga": 1, "gpu": 2}, w.TotalResource.ExtendedResources); diff != "" {
		t.Errorf("total resources (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"fpga": 0.25, "gpu": 0.5}, w.FreeResource.ExtendedResources); diff != "" {
		t.Errorf("free resources (-want +got):\n%s", diff)
	}
}
