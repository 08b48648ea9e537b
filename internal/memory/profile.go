package memory

import (
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Sizes gives the containers for slots that have resources of their own. Make it with SizesOf.
type Sizes struct {
	Default           Worker // the container of default slots
	Framework         config.Bytes
	Network, Overhead Portion
}

// Portion is a part of a container: a fraction, within bounds.
type Portion struct {
	Fraction    float64
	Least, Most config.Bytes // Most is 0 if there is no such bound
}

// SizesOf reads the options for the parts that slots do not give. def is the container of default
// slots.
func SizesOf(c config.Config, def Worker) Sizes {
	portion := func(fraction float64, b bounds) Portion {
		p := Portion{Fraction: fraction, Least: c.Memory(b.least)}
		if c.IsSet(b.most) {
			p.Most = c.Memory(b.most)
		}
		return p
	}
	return Sizes{
		Default: def, Framework: c.Memory(config.TaskManagerFrameworkHeapSize),
		Network:  portion(c.Fraction(config.TaskManagerNetworkFraction), networkBounds),
		Overhead: portion(c.Fraction(config.TaskManagerOverheadFraction), overheadBounds),
	}
}

// within keeps a size within the bounds.
func (p Portion) within(size config.Bytes) config.Bytes {
	if p.Most > 0 {
		size = min(size, p.Most)
	}
	return max(size, p.Least)
}

// Fit returns the container for as many slots as fit into the default container, but at least one,
// and at most this number. Each slot has the given heap, off-heap and managed memory. Network buffers
// and overhead are added by their options. The size that options give to all heap or all managed
// memory of a container has no effect here.
func (s Sizes) Fit(slot Slot, most int) Worker {
	fits := s.worker(slot, 1)
	for n := 2; n <= most; n++ {
		larger := s.worker(slot, n)
		if larger.Process > s.Default.Process {
			break
		}
		fits = larger
	}
	return fits
}

// worker returns the container of a number of slots.
func (s Sizes) worker(slot Slot, slots int) Worker {
	n := config.Bytes(slots)
	w := Worker{
		Slots: slots, Framework: s.Framework,
		Tasks: Slot{Heap: slot.Heap * n, OffHeap: slot.OffHeap * n, Managed: slot.Managed * n},
	}
	w.Tasks.Network = s.Network.within(aside(w.Flink(), s.Network.Fraction))
	if limit := w.Tasks.Limit(); limit < leastSlot*n {
		w.Tasks.Heap += leastSlot*n - limit
	}
	least := config.Bytes(1+slots) * ProcessOverhead
	w.Overhead = max(s.Overhead.within(least+aside(w.Flink()+least, s.Overhead.Fraction)), least)
	w.Process = wholeMB(w.Flink() + w.Overhead)
	w.Overhead = w.Process - w.Flink()
	return w
}
