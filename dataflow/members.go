package dataflow

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
)

// members are the elements of one keyed stream, by key. When memory is full, they are sorted in files.
type members[T any] struct {
	chain *chain
	codec *Codec[T]

	sorter *extsort.Sorter
	sorted *extsort.Sorted // when the input has ended
	key    []byte          // of the record that was read last
	value  []byte          // likewise
	read   bool            // there is such a record, and no group has used it
	given  bool            // the function has got it
	over   bool            // all elements of the group were read
	err    error           // while the elements of a group are read
}

// open opens memory that may always hold least bytes.
func (m *members[T]) open(least int64) (err error) {
	m.sorter, err = m.chain.newSorter(m.chain.newBudget(least, 0), nil)
	return err
}

// add takes a pair of a key and an element.
func (m *members[T]) add(ctx context.Context, record []byte) error {
	key, value, err := codec.SplitKV(record)
	if err != nil {
		return err
	}
	return m.sorter.Add(ctx, key, value)
}

// sort ends the input.
func (m *members[T]) sort(ctx context.Context) (err error) {
	if m.sorted, err = m.sorter.Sort(ctx); err != nil {
		return err
	}
	return m.advance()
}

// begin starts the group of a key, which may have no element here.
func (m *members[T]) begin(key []byte) {
	m.given, m.over = false, !m.read || !bytes.Equal(m.key, key)
}

// elements gives the function the elements of the group that it has not read yet.
func (m *members[T]) elements(yield func(T) bool) {
	for {
		if m.given { // only now: the function may still use it, or read on in another loop
			m.step()
		}
		if m.over || m.err != nil {
			return
		}
		v, err := m.codec.Decode(m.value)
		if err == nil {
			err = m.chain.fault()
		}
		if err != nil {
			m.err = err
			return
		}
		if m.given = true; !yield(v) {
			return
		}
	}
}

// skip reads the elements of the group that the function has not read.
func (m *members[T]) skip() error {
	for !m.over && m.err == nil {
		if err := m.chain.fault(); err != nil {
			return err
		}
		m.step()
	}
	return m.err
}

// step reads the next record, which may be the first one of another key.
func (m *members[T]) step() {
	m.given = false
	m.err = m.advance()
	m.over = !m.read || !m.sorted.SameKey()
}

// advance reads a record. At the end, there is none.
func (m *members[T]) advance() (err error) {
	m.key, m.value, err = m.sorted.Next()
	m.read = err == nil
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// close removes the files.
func (m *members[T]) close() error {
	if m.sorter == nil {
		return nil
	}
	return m.sorter.Close()
}

// keyOf decodes a key for a function, which may keep it.
func keyOf[K any](keys *Codec[K], encoded []byte) (key K, err error) {
	if key, err = keys.Decode(encoded); err == nil && keys.Own != nil {
		key, err = keys.Own(key)
	}
	return key, err
}
