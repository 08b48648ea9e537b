package join

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
)

// next begins the join of a partition that waits. There is none when all is done.
func (h *Hash) next() (more bool, err error) {
	last := len(h.waiting) - 1
	if last < 0 {
		return false, nil
	}
	h.pair, h.waiting = h.waiting[last], h.waiting[:last]
	if h.pair.runs[Probe].Records() == 0 && !h.config.Outer[Build] {
		return true, h.endPair()
	}
	h.reader, h.phase = h.pair.runs[Build].Open(), building
	if h.pair.whole {
		h.giveBack() // Merge gets all memory
		h.merge, err = NewMerge(h.config)
		return true, err
	}
	h.level, h.seed = h.pair.level, maphash.MakeSeed()
	return true, nil
}

// read takes some records of the pair's files.
func (h *Hash) read(ctx context.Context, side Side) error {
	to := Join(h)
	if h.merge != nil {
		to = h.merge
	}
	for range burst {
		record, err := h.reader.Next()
		if errors.Is(err, io.EOF) {
			return h.endOfFiles(ctx, to, side)
		}
		if err != nil {
			return err
		}
		key, value, ok := splitRecord(record)
		if !ok {
			return h.reader.Corrupt("a record has a key of an impossible length")
		}
		if err := to.Add(ctx, side, key, value); err != nil {
			return err
		}
	}
	return nil
}

// endOfFiles ends a side of the pair.
func (h *Hash) endOfFiles(ctx context.Context, to Join, side Side) error {
	h.reader = nil
	files := h.pair.runs[side]
	h.pair.runs[side] = nil
	if err := files.Close(); err != nil {
		return err
	}
	if err := to.End(ctx, side); err != nil {
		return err
	}
	switch {
	case side == Build:
		h.reader, h.phase = h.pair.runs[Probe].Open(), probing
	case h.merge != nil:
		h.phase = merging
	}
	return nil
}

// endPair forgets the pair that was joined.
func (h *Hash) endPair() error {
	errs := h.pair.close()
	h.pair = pair{}
	if h.merge != nil {
		errs = append(errs, h.merge.Close(), h.divide())
		h.merge = nil
	}
	return errors.Join(errs...)
}
