package join

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// blockPage is the size of the pages of a block, in bytes.
const blockPage = 32 << 10

// block holds values in pages, which it keeps for the next ones.
type block struct {
	limit int64 // bytes
	pages [][]byte
	page  int // the one in use
	held  int64
	count int
	over  []byte // a value that fill has read and that had no room
}

// add copies a value. It returns false if the value would exceed the limit. A block takes at least one value.
func (b *block) add(value []byte) bool {
	need := spill.UvarintLen(len(value)) + len(value)
	for b.page < len(b.pages) && cap(b.pages[b.page])-len(b.pages[b.page]) < need {
		b.page++
	}
	if b.page == len(b.pages) {
		size := max(need, blockPage)
		if b.count > 0 && b.held+int64(size) > b.limit {
			return false
		}
		b.pages, b.held = append(b.pages, make([]byte, 0, size)), b.held+int64(size)
	}
	page := binary.AppendUvarint(b.pages[b.page], uint64(len(value)))
	b.pages[b.page] = append(page, value...)
	b.count++
	return true
}

// fill adds the next values of a reader, as many as fit.
func (b *block) fill(r *spill.RunsReader) error {
	if b.over != nil {
		b.add(b.over)
		b.over = nil
	}
	for {
		v, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !b.add(v) {
			b.over = append([]byte{}, v...)
			return nil
		}
	}
}

// reset removes all values, and the pages that were made for large ones.
func (b *block) reset() {
	kept := b.pages[:0]
	for _, page := range b.pages {
		if cap(page) > blockPage {
			b.held -= int64(cap(page))
			continue
		}
		kept = append(kept, page[:0])
	}
	clear(b.pages[len(kept):])
	b.pages, b.page, b.count = kept, 0, 0
}

// each calls f for each value.
func (b *block) each(f func(value []byte) error) error {
	for _, page := range b.pages {
		for len(page) > 0 {
			length, n := binary.Uvarint(page)
			end := n + int(length)
			if err := f(page[n:end:end]); err != nil {
				return err
			}
			page = page[end:]
		}
	}
	return nil
}

// match pairs all values with one of the probe side.
func (b *block) match(to Output, probe []byte) error {
	again := false
	return b.each(func(value []byte) error {
		err := to.Match(value, probe, again)
		again = true
		return err
	})
}
