package dataflow

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// spilledBytes is the counter of an operator that writes what exceeds its memory to files: the bytes it has written. As a counter, it
// stays with the vertex and the job when they have ended.
const spilledBytes = "spilledBytes"

// spillCounter counts what an operator has written to files. A job in which everything fits into memory does not have the counter.
type spillCounter struct {
	metrics operator.Metrics
	counter *operator.Counter // nil: nothing was written yet
	told    int64
}

func (c *chain) spillCounter() *spillCounter { return &spillCounter{metrics: c.metrics()} }

// set tells how many bytes the operator has written since its start.
func (s *spillCounter) set(bytes int64) {
	if bytes == s.told {
		return
	}
	if s.counter == nil {
		s.counter = s.metrics.Counter(spilledBytes)
	}
	s.counter.Add(bytes - s.told)
	s.told = bytes
}

// leastMemory is what an operator with state may hold in any case, in bytes: 32 pages of 32 KiB, as in Flink.
const leastMemory = 1 << 20

// budget is the memory of one operator for its tables and sorters. It asks the host for some more than it needs, because small amounts
// are taken and given often. It implements keytable.Budget, extsort.Budget and joins.Budget.
type budget struct {
	operator.Memory
	free int64 // taken from the host, and not in use
}

// budgetStep is what a budget takes at a time at least, if it gets as much, in bytes.
const budgetStep = 128 << 10

// newBudget opens the memory of an operator; see operator.Subtask.
func (c *chain) newBudget(least, most int64) *budget {
	return &budget{Memory: c.subtask.Memory(least, most)}
}

// Take reserves bytes, or returns false.
func (b *budget) Take(bytes int64) bool {
	if missing := bytes - b.free; missing > 0 {
		switch step := max(missing, budgetStep); {
		case b.Memory.Take(step):
			b.free += step
		case step > missing && b.Memory.Take(missing):
			b.free += missing
		default:
			return false
		}
	}
	b.free -= bytes
	return true
}

// Give returns bytes that Take reserved.
func (b *budget) Give(bytes int64) {
	if b.free += bytes; b.free > 2*budgetStep {
		b.Memory.Give(b.free - budgetStep)
		b.free = budgetStep
	}
}

// NoMore gives back what is not in use, and says that the operator takes no more.
func (b *budget) NoMore() {
	b.Memory.Give(b.free)
	b.free = 0
	b.Memory.NoMore()
}

// Excess is what should be given back of what is in use.
func (b *budget) Excess() int64 {
	b.Memory.Give(b.free)
	b.free = 0
	return b.Memory.Excess()
}

// tooLarge is the error of an operator whose state needs more bytes than its share. It is permanent only if all of the memory would not
// do: a share changes as operators come and go, so another attempt may have a larger one. usable tells what of a memory is for the state.
func (b *budget) tooLarge(err error, bytes int64, usable func(int64) int64) error {
	if total := usable(b.Total()); bytes > total {
		return operator.Permanent(fmt.Errorf("%w; its limit is %d KiB", err, total>>10))
	}
	return fmt.Errorf("%w; its limit is %d KiB while other operators share the memory", err, usable(b.Share())>>10)
}

// localDirs are the local directories, the first one at random: otherwise all operators that write a few files would write them to the
// same disk.
func (c *chain) localDirs() []string {
	dirs := c.subtask.LocalDirs()
	if len(dirs) == 0 {
		return nil
	}
	first := rand.IntN(len(dirs))
	return slices.Concat(dirs[first:], dirs[:first])
}

// newSorter makes a sorter whose files are in the local directories.
func (c *chain) newSorter(b *budget, combiner extsort.Combiner) (*extsort.Sorter, error) {
	return extsort.New(extsort.Config{
		Budget: b, Dirs: spill.NewDirs(spill.OS{}, spill.S2, c.localDirs()...), Combiner: combiner,
	})
}
