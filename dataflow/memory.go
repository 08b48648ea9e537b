package dataflow

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// spilledBytes is the gauge of an operator that writes what exceeds its memory to files: the bytes it has written.
const spilledBytes = "spilledBytes"

// spillGauge shows what an operator has written to files.
type spillGauge struct {
	gauge *operator.Gauge
	told  int64
}

func (c *chain) spillGauge() spillGauge { return spillGauge{gauge: c.metrics().Gauge(spilledBytes)} }

func (g *spillGauge) set(bytes int64) {
	if bytes != g.told {
		g.told = bytes
		g.gauge.Set(float64(bytes))
	}
}

// budget is the memory of one operator that is not in use. It implements extsort.Budget.
type budget struct{ free int64 }

// Take implements extsort.Budget.
func (b *budget) Take(bytes int64) bool {
	if bytes > b.free {
		return false
	}
	b.free -= bytes
	return true
}

// Give implements extsort.Budget.
func (b *budget) Give(bytes int64) { b.free += bytes }

// Excess implements extsort.Budget.
func (b *budget) Excess() int64 { return 0 }

// Share implements joins.Budget.
func (b *budget) Share() int64 { return b.free }

// leastMemory is what an operator with state may hold in any case, in bytes: 32 pages of 32 KiB, as in Flink.
const leastMemory = 1 << 20

// tableMemory is the part of an operator's memory for a table beside a sorter, which needs a little to write the table to files.
func (c *chain) tableMemory() int64 { return c.memory - extsort.MinMemory }

// ofSorter adds an operator to an error of its sorter. A record that is too large is so in each attempt.
func ofSorter(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, spill.ErrTooLarge):
		err = operator.Permanent(err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// newSorter makes a sorter whose files are in the local directories.
func (c *chain) newSorter(b *budget, combiner extsort.Combiner) (*extsort.Sorter, error) {
	return extsort.New(extsort.Config{
		Budget: b, Dirs: spill.NewDirs(spill.OS{}, spill.S2, c.subtask.LocalDirs()...), Combiner: combiner,
	})
}
