package memory

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestASlotHasWhatItsGroupAskedFor would catch a container that is too small for its slots, a slot
// that has less than its group asked for, a container beyond the default size for several slots, and
// one for fewer slots than fit.
func TestASlotHasWhatItsGroupAskedFor(t *testing.T) {
	t.Parallel()
	def, err := WorkerOf(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	sizes := SizesOf(config.Config{}, def)
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string, least int) config.Bytes {
			return config.Bytes(rapid.IntRange(least, 1500).Draw(t, name)) * config.Mebibyte
		}
		want := Slot{Heap: size("heap", 1), OffHeap: size("off-heap", 0), Managed: size("managed", 0)}
		most := rapid.IntRange(1, 40).Draw(t, "most")
		w := sizes.Fit(want, most)
		if err := w.Check(); err != nil {
			t.Error(err)
		}
		got := w.Slot()
		if got.Heap < want.Heap || got.OffHeap != want.OffHeap || got.Managed != want.Managed || got.Network <= 0 || got.Limit() < leastSlot-1<<10 {
			t.Errorf("a slot has %v, want %v", got, want)
		}
		if by := w.SizedBy(); by != "the resources of the slot sharing group" {
			t.Errorf("%s decides the size of the container", by)
		}
		if w.Overhead < config.Bytes(1+w.Slots)*ProcessOverhead {
			t.Errorf("%v of overhead for %d hosts", w.Overhead, w.Slots)
		}
		switch {
		case w.Slots < 1 || w.Slots > most:
			t.Errorf("%d slots, want 1 to %d", w.Slots, most)
		case w.Slots > 1 && w.Process > def.Process:
			t.Errorf("%d slots in %v, which is more than the default container's %v", w.Slots, w.Process, def.Process)
		case w.Slots < most && sizes.worker(want, w.Slots+1).Process <= def.Process:
			t.Errorf("%d slots, and one more fits", w.Slots)
		}
	})
}
