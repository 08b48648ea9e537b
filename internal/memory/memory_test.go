package memory_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

const mb = config.Mebibyte

// TestWorkedExamples checks the numbers in the documentation.
func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ container, slots, want int }{
		{1024, 1, 876}, // 1024 - 52 reserve - 64 TaskExecutor - 32 overhead
		{1024, 2, 422}, // (1024 - 52 - 64) / 2 - 32
		{2048, 4, 438},
		{512, 1, 390},
		{136, 1, 33},
	} {
		got, err := memory.SlotMB(test.container, test.slots)
		if err != nil || got != test.want {
			t.Errorf("%d MB, %d slots: got %d MB a slot, %v, want %d", test.container, test.slots, got, err, test.want)
		}
	}
	if diff := cmp.Diff(
		memory.Host{Limit: 876 * mb, Managed: 367421030, Network: 91855257},
		memory.HostOf(876, memory.OptionsFrom(config.Config{}))); diff != "" {
		t.Errorf("host of 876 MB (-want +got):\n%s", diff)
	}
	if got := memory.HostOf(40, memory.OptionsFrom(config.Config{})).Network; got != 8*mb {
		t.Errorf("a small host has %s of network buffers, want the least of 8m", got)
	}
}

func TestTooSmallAContainerNamesOneThatDoes(t *testing.T) {
	t.Parallel()
	for slots := 1; slots <= 8; slots++ {
		_, err := memory.SlotMB(100, slots)
		if !errors.Is(err, memory.ErrTooSmall) || !strings.Contains(err.Error(), "taskmanager.memory.process.size") {
			t.Fatalf("%d slots in 100 MB: got error %v", slots, err)
		}
		var size int
		if _, err := fmt.Sscanf(err.Error()[strings.Index(err.Error(), " of ")+4:], "%dm", &size); err != nil {
			t.Fatal(err)
		}
		if _, err := memory.SlotMB(size, slots); err != nil {
			t.Errorf("%d slots in the %d MB that were asked for: %v", slots, size, err)
		}
		if _, err := memory.SlotMB(size-1, slots); err == nil {
			t.Errorf("%d slots: %d MB were asked for, though less does", slots, size)
		}
	}
}

// TestPartsFitTheContainer would catch parts that exceed the container.
func TestPartsFitTheContainer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		container := rapid.IntRange(1, 1<<20).Draw(t, "container")
		slots := rapid.IntRange(1, 128).Draw(t, "slots")
		slot, err := memory.SlotMB(container, slots)
		if err != nil {
			return
		}
		if used := memory.TaskExecutorLimit + memory.Overhead + slots*(slot+memory.Overhead); float64(used) > 0.95*float64(container) {
			t.Errorf("%d MB of %d MB are promised", used, container)
		}
		options := memory.Options{
			ManagedFraction: rapid.Float64Range(0, math.MaxFloat64).Draw(t, "managed"),
			NetworkFraction: rapid.Float64Range(0, math.MaxFloat64).Draw(t, "network"),
			NetworkMin:      config.Bytes(rapid.Int64Range(0, 1<<40).Draw(t, "min")),
			NetworkMax:      config.Bytes(rapid.Int64Range(0, 1<<40).Draw(t, "max")),
		}
		if h := memory.HostOf(slot, options); h.Managed < 0 || h.Network < 0 || h.Managed+h.Network > h.Limit {
			t.Errorf("host of %d MB: %+v", slot, h)
		}
	})
}

func TestTheHostFurthestOverItsShareIsEnded(t *testing.T) {
	t.Parallel()
	use := func(id string, resident, share config.Bytes) memory.Usage[string] {
		return memory.Usage[string]{ID: id, Resident: resident * mb, Share: share * mb}
	}
	for name, test := range map[string]struct {
		rest  config.Bytes
		hosts []memory.Usage[string]
		want  string
	}{
		"below 97 % nobody is":                   {50, []memory.Usage[string]{use("a", 900, 100)}, ""},
		"at 97 % the one over its share is":      {94, []memory.Usage[string]{use("a", 500, 400), use("b", 400, 450)}, "a"},
		"not the largest, but the furthest over": {50, []memory.Usage[string]{use("a", 700, 690), use("b", 290, 200)}, "b"},
		"of equals the first by name is":         {20, []memory.Usage[string]{use("b", 490, 400), use("a", 490, 400)}, "a"},
		"nobody is for what others hold":         {900, []memory.Usage[string]{use("a", 100, 400)}, ""},
		"without hosts nobody is":                {1024, nil, ""},
	} {
		got, found := memory.Victim(1024, test.rest*mb, test.hosts)
		if found != (test.want != "") || found && got.ID != test.want {
			t.Errorf("%s: got %+v, %t", name, got, found)
		}
	}
}

// TestThePartsOfAWorkerMakeUpTheWhole would catch memory that a page shows twice or never.
func TestThePartsOfAWorkerMakeUpTheWhole(t *testing.T) {
	t.Parallel()
	options := memory.OptionsFrom(config.Config{})
	rapid.Check(t, func(t *rapid.T) {
		container, slots := rapid.IntRange(64, 1<<20).Draw(t, "MB"), rapid.IntRange(1, 64).Draw(t, "slots")
		w, err := memory.WorkerOf(container, slots, options)
		if errors.Is(err, memory.ErrTooSmall) {
			return
		}
		parts := []config.Bytes{w.Framework, w.Heap, w.Managed, w.Network, w.Overhead}
		var sum config.Bytes
		for _, part := range parts {
			if part < 0 {
				t.Errorf("%+v of %d MB for %d slots: a part is less than nothing", w, container, slots)
			}
			sum += part
		}
		if err != nil || sum != config.Bytes(container)*mb {
			t.Errorf("%+v of %d MB for %d slots, %v: together %d", w, container, slots, err, sum)
		}
	})
}
