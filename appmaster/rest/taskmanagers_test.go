package rest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

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
