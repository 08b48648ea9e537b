package extsort

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// AddRun writes records that are sorted by bytes.Compare of their keys, each key once, and holds none of them in memory. fill passes
// each record to add. It is called again for each directory that fails. A Sorter takes records by Add or by AddRun.
func (s *Sorter) AddRun(ctx context.Context, fill func(add func(key, value []byte) error) error) error {
	var head [binary.MaxVarintLen64]byte
	n := 0
	add := func(key, value []byte) error {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n++
		if len(key)+len(value) > MaxRecord {
			return fmt.Errorf("sort: %w: its key has %d bytes, its value %d", spill.ErrTooLarge, len(key), len(value))
		}
		return s.writer.Append(head[:binary.PutUvarint(head[:], uint64(len(key)))], key, value)
	}
	if err := s.addRun(0, func() error { return fill(add) }); err != nil {
		return err
	}
	return s.mergeFull(ctx)
}
