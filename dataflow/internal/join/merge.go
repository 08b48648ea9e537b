package join

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// Merge is a sort-merge join. It belongs to one goroutine. Its calls are Add for each record, End once for each side, Step until it
// returns false, and Close at any time. After an error, only Close is left.
type Merge struct {
	config   Config
	sorter   *extsort.Sorter
	reserved int64 // bytes, for block and files
	block    block
	files    *spill.Appenders // nil until a key needs them

	ended  [2]bool
	sorted *extsort.Sorted // when both sides have ended
	tagged []byte          // scratch of Add
	read   bool            // there is a record that no step has used
	key    []byte          // of the record: see appendTagged
	value  []byte
	group  []byte // the key of the current step, without its side
}

const (
	// minBlock is the least memory of a block.
	minBlock = 96 << 10
	// filesMemory is for two readers, and for what the appenders share.
	filesMemory = 352 << 10
)

// NewMerge makes a sort-merge join. A quarter of its share of the memory, if it is granted, is for the records of one key: a block,
// and two files that are read or written. The error is extsort.ErrNoMemory if the budget does not grant MinMemory.
func NewMerge(c Config) (*Merge, error) {
	sorter, err := extsort.New(extsort.Config{Budget: c.Budget, Dirs: c.Dirs})
	if err != nil {
		return nil, err
	}
	m := &Merge{config: c, sorter: sorter, reserved: c.Budget.Share() / 4}
	for least := int64(filesMemory + minBlock); ; m.reserved /= 2 {
		m.reserved = max(m.reserved, least)
		switch {
		case c.Budget.Take(m.reserved):
			m.block.limit = m.reserved - filesMemory
			return m, nil
		case m.reserved == least:
			return nil, errors.Join(errNoMemory, sorter.Close())
		}
	}
}

// errNoMemory says that the budget does not grant MinMemory.
var errNoMemory = fmt.Errorf("%w: a join needs %d bytes", extsort.ErrNoMemory, MinMemory)

// Add copies a record. The sides may come mixed.
func (m *Merge) Add(ctx context.Context, side Side, key, value []byte) error {
	m.tagged = appendTagged(m.tagged[:0], key, side)
	return m.sorter.Add(ctx, m.tagged, value)
}

// appendTagged appends a key and its side so that they sort by key, then by side. The length comes first: otherwise the other side of
// one key could sort behind a longer key that begins with it.
func appendTagged(dst, key []byte, side Side) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	return append(append(dst, key...), byte(side))
}

// End says that a side has no more records.
func (m *Merge) End(ctx context.Context, side Side) (err error) {
	m.ended[side] = true
	if !m.ended[Build] || !m.ended[Probe] {
		return nil
	}
	if m.sorted, err = m.sorter.Sort(ctx); err != nil {
		return err
	}
	return m.advance()
}

// Step joins the records of one key. It returns false behind the last one.
func (m *Merge) Step(ctx context.Context) (more bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if !m.read {
		return false, nil
	}
	m.group = append(m.group[:0], m.key[:len(m.key)-1]...)
	if err := m.join(ctx); err != nil {
		return false, err
	}
	return true, nil
}

// has reports whether the next record belongs to the key of this step, and to a side.
func (m *Merge) has(side Side) bool {
	return m.read && m.key[len(m.key)-1] == byte(side) && bytes.Equal(m.key[:len(m.key)-1], m.group)
}

// advance reads the next record.
func (m *Merge) advance() (err error) {
	m.key, m.value, err = m.sorted.Next()
	m.read = err == nil
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// each calls f for the values of the key on a side, from the next one on, until f returns false.
func (m *Merge) each(ctx context.Context, side Side, f func(value []byte) (bool, error)) error {
	for n := 0; m.has(side); n++ {
		if n%burst == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if more, err := f(m.value); !more || err != nil {
			return err
		}
		if err := m.advance(); err != nil {
			return err
		}
	}
	return nil
}

// Spilled is the number of bytes written to files.
func (m *Merge) Spilled() int64 { return m.config.Dirs.Spilled() }

// Close removes the files.
func (m *Merge) Close() error {
	m.config.Budget.Give(m.reserved)
	m.reserved, m.block = 0, block{}
	return m.sorter.Close()
}
