package memory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Worker is the division of a TaskExecutor's container, in bytes. Its parts add up to the whole.
//
//	Process ─┬─ Overhead: text and stacks of all processes, and a reserve
//	         ├─ Framework: the limit of the TaskExecutor itself
//	         └─ Tasks, for all slots: Heap, OffHeap, Managed, Network
type Worker struct {
	Process   config.Bytes // the container, in whole MB
	Slots     int
	Framework config.Bytes
	Tasks     Slot
	Overhead  config.Bytes
	// By names the option that decides the size of the container; "": its slots have resources of their own.
	By config.MemoryKey
}

// SizedBy names what decides the size of the container, for an error that asks for more or less memory:
// By, or the resources of the slots.
func (w Worker) SizedBy() string {
	if w.By == "" {
		return "the resources of the slot sharing group"
	}
	return w.By.Name()
}

// Flink is the memory without the overhead: Flink's total Flink memory.
func (w Worker) Flink() config.Bytes { return w.Framework + w.Tasks.sum() }

// Slot is the memory of one slot.
func (w Worker) Slot() Slot {
	n := config.Bytes(max(1, w.Slots))
	return Slot{w.Tasks.Heap / n, w.Tasks.OffHeap / n, w.Tasks.Managed / n, w.Tasks.Network / n}
}

// Times returns the memory of n such workers together.
func (w Worker) Times(n int) Worker {
	k, t := config.Bytes(n), w.Tasks
	return Worker{
		Process: w.Process * k, Slots: w.Slots * n, Framework: w.Framework * k, Overhead: w.Overhead * k, By: w.By,
		Tasks: Slot{t.Heap * k, t.OffHeap * k, t.Managed * k, t.Network * k},
	}
}

// Totals are what one such worker with this number of cores adds to the workers of a cluster (slotmanager.*).
func (w Worker) Totals(vcores int) config.WorkerTotals {
	return config.WorkerTotals{Slots: w.Slots, Cores: float64(vcores), Memory: w.Process}
}

// ContainerMB is the size of the container.
func (w Worker) ContainerMB() int { return w.Process.Megabytes() }

// Check refuses a Worker from another process whose parts are not those of a container.
func (w Worker) Check() error {
	t := w.Tasks
	var sum config.Bytes
	for _, part := range []config.Bytes{w.Framework, t.Heap, t.OffHeap, t.Managed, t.Network, w.Overhead} {
		if part < 0 || part > largest {
			return fmt.Errorf("a part of the memory has %d bytes", part)
		}
		sum += part
	}
	if sum != w.Process || w.Slots < 0 {
		return fmt.Errorf("the parts of the memory of %d slots are %d bytes, and the container has %d", w.Slots, sum, w.Process)
	}
	return nil
}

var (
	networkBounds  = bounds{config.TaskManagerNetworkMin, config.TaskManagerNetworkMax}   //nolint:gochecknoglobals // constants
	overheadBounds = bounds{config.TaskManagerOverheadMin, config.TaskManagerOverheadMax} //nolint:gochecknoglobals // constants
)

// WorkerOf divides the container of a TaskExecutor. The size of the container comes from the first of
// these options that are set:
//
//  1. taskmanager.memory.task.heap.size and taskmanager.memory.managed.size, both
//  2. taskmanager.memory.flink.size
//  3. taskmanager.memory.process.size, or its default
//
// If further ones are set, they must agree, and the container must fit under slotmanager.*. An error is a
// *config.Fault about options that contradict each other, or wraps ErrTooSmall. The latter names a sufficient
// size, or wraps the *config.Fault that this size would cause.
func WorkerOf(c config.Config) (Worker, error) {
	w, err := divideWorker(read(c))
	switch {
	case err == nil:
		return w, config.CheckWorkers(w.Totals(config.WorkerVCores(c)), w.SizedBy(), config.MinWorkers(c), config.MaxWorkers(c))
	case !errors.Is(err, ErrTooSmall):
		return w, err
	}
	asked := fmt.Sprintf("%s for %d slots", tooSmall(c, w), w.Slots)
	mb, err := enough(c, w)
	if err != nil {
		return w, fmt.Errorf("%s: %w: %w", asked, ErrTooSmall, err)
	}
	return w, fmt.Errorf("%s, want %s of %dm or more: %w", asked, w.By, mb, ErrTooSmall)
}

// tooSmall tells the size that is too small.
func tooSmall(c config.Config, w Worker) string {
	return fmt.Sprintf("%d MB", c.Memory(w.By).Megabytes())
}

// enough returns the least value of the option that decides the size, in MB, with which the slots
// have enough memory. Further options may contradict this value. The error, a *config.Fault, then names
// them.
func enough(c config.Config, w Worker) (mb int, err error) {
	try := func(mb int) error {
		larger, err := c.With(config.Layer{
			Source: "the least that the slots need", Values: map[string]string{w.By.Name(): fmt.Sprintf("%dm", mb)},
		})
		if err != nil {
			return err
		}
		_, err = divideWorker(read(larger))
		return err
	}
	tooSmall := func(mb int) bool { return errors.Is(try(mb), ErrTooSmall) }
	low, high := c.Memory(w.By).Megabytes(), 64*w.Slots+c.Memory(w.By).Megabytes()
	for ; tooSmall(high); high *= 2 { // ends at the latest with a size that no machine has
		low = high
	}
	for low+1 < high {
		if middle := low + (high-low)/2; tooSmall(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high, try(high)
}

// divideWorker is WorkerOf without the text of ErrTooSmall.
func divideWorker(o options) (Worker, error) {
	w := Worker{
		Slots: o.Int(config.TaskSlots), Framework: o.Memory(config.TaskManagerFrameworkHeapSize),
		Tasks: Slot{OffHeap: o.Memory(config.TaskManagerTaskOffHeapSize)}, By: config.TaskManagerProcessSize,
	}
	if err := o.sane(config.TaskManagerProcessSize, config.TaskManagerFlinkSize, config.TaskManagerFrameworkHeapSize, config.TaskManagerTaskHeapSize,
		config.TaskManagerTaskOffHeapSize, config.TaskManagerManagedSize, config.TaskManagerNetworkMin, config.TaskManagerOverheadMin); err != nil {
		return w, err
	}
	least := config.Bytes(1+w.Slots) * ProcessOverhead
	if o.IsSet(overheadBounds.most) && o.Memory(overheadBounds.most) < least {
		return w, &config.Fault{
			What: fmt.Sprintf("option %s is less than the %s that program text and stacks of the TaskExecutor and of %s take",
				o.told(overheadBounds.most), Text(least), o.told(config.TaskSlots)),
			Remedy: fmt.Sprintf("raise %s or lower %s", overheadBounds.most.Name(), config.TaskSlots.Name()),
		}
	}
	switch {
	case o.IsSet(config.TaskManagerTaskHeapSize) && o.IsSet(config.TaskManagerManagedSize):
		w.By = config.TaskManagerTaskHeapSize
	case o.IsSet(config.TaskManagerFlinkSize):
		w.By = config.TaskManagerFlinkSize
	default:
		w.Process = wholeMB(o.Memory(config.TaskManagerProcessSize))
		w.Overhead = o.clamp(overhead, least+part(w.Process, o.Fraction(config.TaskManagerOverheadFraction)), config.TaskManagerOverheadFraction, overheadBounds)
		return w, w.divide(o, w.Process-w.Overhead)
	}
	if err := w.divide(o, o.Memory(config.TaskManagerFlinkSize)); err != nil {
		return w, err
	}
	return w, w.enclose(o, least)
}

// divide divides the memory without overhead. flink is 0 if it is the sum of the parts.
func (w *Worker) divide(o options, flink config.Bytes) error {
	t := &w.Tasks
	o.by[frameworkHeap], o.by[taskOffHeap] = config.TaskManagerFrameworkHeapSize, config.TaskManagerTaskOffHeapSize
	o.by[managed], o.by[taskHeap] = config.TaskManagerManagedSize, config.TaskManagerTaskHeapSize
	t.Managed = o.Memory(config.TaskManagerManagedSize)
	if !o.IsSet(config.TaskManagerManagedSize) {
		o.by[managed] = config.TaskManagerManagedFraction
		t.Managed = part(flink, o.Fraction(config.TaskManagerManagedFraction))
	}
	t.Heap = o.Memory(config.TaskManagerTaskHeapSize)
	switch {
	case w.By == config.TaskManagerTaskHeapSize && !o.IsSet(config.TaskManagerFlinkSize):
		t.Network = o.clamp(network, aside(w.Flink(), o.Fraction(config.TaskManagerNetworkFraction)), config.TaskManagerNetworkFraction, networkBounds)
	case o.IsSet(config.TaskManagerTaskHeapSize):
		rest := flink - w.Flink()
		if rest < 0 {
			return w.exceeds(o, flink)
		}
		t.Network, o.by[network] = rest, w.total(o)
		if err := o.check("buffers between tasks", rest, networkBounds, "option "+o.told(config.TaskManagerTaskHeapSize)+
			" and "+o.told(w.total(o)), config.TaskManagerTaskHeapSize); err != nil {
			return err
		}
	default:
		t.Network = o.clamp(network, part(flink, o.Fraction(config.TaskManagerNetworkFraction)), config.TaskManagerNetworkFraction, networkBounds)
		o.by[taskHeap] = w.total(o)
		if t.Heap = flink - w.Flink(); t.Heap < 0 {
			return w.exceeds(o, flink)
		}
	}
	if w.Slot().Limit() < leastSlot {
		return ErrTooSmall
	}
	return nil
}

// total is the option that limits the sum of the parts.
func (w *Worker) total(o options) config.MemoryKey {
	if o.IsSet(config.TaskManagerFlinkSize) {
		return config.TaskManagerFlinkSize
	}
	return config.TaskManagerProcessSize
}

// exceeds says that the parts need more than flink. If no option gives a part, the total is too small.
func (w *Worker) exceeds(o options, flink config.Bytes) error {
	t := w.Tasks
	t.Heap, t.Managed = max(t.Heap, 0), max(t.Managed, 0) // less than nothing if the overhead exceeds the container
	var given []string
	var first config.Key
	for _, key := range []config.Key{
		config.TaskManagerTaskHeapSize, config.TaskManagerTaskOffHeapSize, config.TaskManagerManagedSize, config.TaskManagerManagedFraction,
		config.TaskManagerNetworkMin, config.TaskManagerNetworkFraction, config.TaskManagerFrameworkHeapSize, config.TaskManagerOverheadMin,
		config.TaskManagerOverheadFraction,
	} {
		if o.IsSet(key) {
			given = append(given, o.told(key))
			if first == nil {
				first = key
			}
		}
	}
	if first == nil {
		return ErrTooSmall
	}
	return &config.Fault{
		What: fmt.Sprintf("option %s: the parts need %s (framework %s, task heap %s, off-heap %s, managed %s, network %s), and %s leaves %s for them",
			strings.Join(given, ", "), Text(w.Framework+t.sum()), Text(w.Framework), Text(t.Heap), Text(t.OffHeap), Text(t.Managed), Text(t.Network),
			o.told(w.total(o)), Text(max(flink, 0))),
		Remedy: fmt.Sprintf("lower %s or raise %s", first.Name(), w.total(o).Name()),
	}
}

// enclose adds the overhead to the parts. If the size of the container is given too, the overhead is
// the difference. least is its size without a reserve.
func (w *Worker) enclose(o options, least config.Bytes) error {
	fraction := o.Fraction(config.TaskManagerOverheadFraction)
	if !o.IsSet(config.TaskManagerProcessSize) {
		reserve := aside(w.Flink()+least, fraction)
		w.Overhead = o.clamp(overhead, least+reserve, config.TaskManagerOverheadFraction, overheadBounds)
		w.Process = wholeMB(w.Flink() + w.Overhead)
		w.Overhead = w.Process - w.Flink()
		return nil
	}
	w.Process = wholeMB(o.Memory(config.TaskManagerProcessSize))
	w.Overhead, o.by[overhead] = w.Process-w.Flink(), config.TaskManagerProcessSize
	what := "option " + o.told(w.By) + " and " + o.told(config.TaskManagerProcessSize)
	if w.Overhead < least {
		return &config.Fault{
			What: fmt.Sprintf("%s: all parts have %s, and with %s of program text and stacks of the TaskExecutor and of %s that is more than the container",
				what, Text(w.Flink()), Text(least), o.told(config.TaskSlots)),
			Remedy: fmt.Sprintf("lower %s, or raise or remove %s", w.By.Name(), config.TaskManagerProcessSize.Name()),
		}
	}
	return o.check("the overhead", w.Overhead, overheadBounds, what, w.By)
}
