package extsort

import (
	"context"
	"encoding/binary"
)

// AddRun writes records that are sorted by bytes.Compare of their keys, each key once, and holds none of them in memory. fill passes
// each record to add. It is called again for each directory that fails. A Sorter takes records by Add or by AddRun. When it is Crowded,
// Merge must follow.
func (s *Sorter) AddRun(ctx context.Context, fill func(add func(key, value []byte) error) error) error {
	var head [binary.MaxVarintLen64]byte
	n := 0
	add := func(key, value []byte) error {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n++
		if err := checkSize(key, value); err != nil {
			return err
		}
		return s.writer.Append(head[:binary.PutUvarint(head[:], uint64(len(key)))], key, value)
	}
	return s.addRun(0, func() error { return fill(add) })
}

// Crowded reports whether there are so many runs that some must be merged, to bound the open files.
func (s *Sorter) Crowded() bool { return len(s.runs) >= 2*s.fanIn }

// Merge merges some runs into larger ones. It is fastest if the budget has memory for the readers of MaxFanIn runs.
func (s *Sorter) Merge(ctx context.Context) error { return s.mergeFull(ctx) }
