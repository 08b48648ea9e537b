package launch_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestWhatBoundsTheSlotsOfAWorker would catch a worker with more slots than its cores, memory or external
// resources are for. The container would then be larger than the one of default slots, so YARN may refuse it.
func TestWhatBoundsTheSlotsOfAWorker(t *testing.T) {
	t.Parallel()
	external := msg.ExternalResourcesOf
	c, err := config.New(config.Layer{Values: map[string]string{config.TaskManagerProcessSize.Name(): "4g", config.TaskSlots.Name(): "4"}})
	if err != nil {
		t.Fatal(err)
	}
	def, err := memory.WorkerOf(c)
	if err != nil {
		t.Fatal(err)
	}
	one := launch.WorkerSize{Memory: def, VCores: 4, External: external(map[string]int64{"gpu": 4, "fpga": 2})}
	small := int64(100 << 20)
	for _, test := range []struct {
		by       string
		slot     msg.ResourceProfile
		slots    int
		vcores   int
		external msg.ExternalResources
	}{
		{by: "cores", slot: msg.ResourceProfile{CPU: 1, TaskHeap: small}, slots: 4, vcores: 4},
		{by: "parts of a core", slot: msg.ResourceProfile{CPU: 0.4, TaskHeap: small}, slots: 10, vcores: 4},
		{by: "memory", slot: msg.ResourceProfile{CPU: 1, TaskHeap: 1500 << 20}, slots: 2, vcores: 2},
		{
			by: "an external resource", slot: msg.ResourceProfile{CPU: 1, TaskHeap: small, External: external(map[string]int64{"gpu": 2})},
			slots: 2, vcores: 2, external: external(map[string]int64{"gpu": 4}),
		},
		{
			by: "the scarcer of two", slot: msg.ResourceProfile{CPU: 0.1, TaskHeap: small, External: external(map[string]int64{"gpu": 1, "fpga": 2})},
			slots: 1, vcores: 1, external: external(map[string]int64{"gpu": 1, "fpga": 2}),
		},
		{
			by: "what no default slot has", slot: msg.ResourceProfile{CPU: 0.1, TaskHeap: small, External: external(map[string]int64{"tpu": 1})},
			slots: 1, vcores: 1, external: external(map[string]int64{"tpu": 1}),
		},
	} {
		got := one.Fit(test.slot, memory.SizesOf(c, def))
		if got.Memory.Slots != test.slots || got.VCores != test.vcores || got.External != test.external {
			t.Errorf("bounded by %s: %d slots, %d cores and %q, want %d, %d and %q",
				test.by, got.Memory.Slots, got.VCores, got.External, test.slots, test.vcores, test.external)
		}
	}
}
