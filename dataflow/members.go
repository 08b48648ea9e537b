package dataflow

import (
	"bytes"
	"errors"
	"io"
)

// members are the elements of one keyed stream, by key.
type members[T any] struct {
	sortedInput
	codec *Codec[T]

	key   []byte // of the record that was read last
	value []byte // likewise
	read  bool   // there is such a record, and no group has used it
	given bool   // the function has got it
	over  bool   // all elements of the group were read
	err   error  // while the elements of a group are read
}

// sort ends the input.
func (m *members[T]) sort() error {
	if err := m.sortedInput.sort(); err != nil {
		return err
	}
	return m.failed(m.advance())
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

// keyOf decodes a key for a function, which may keep it.
func keyOf[K any](keys *Codec[K], encoded []byte) (key K, err error) {
	if key, err = keys.Decode(encoded); err == nil {
		key, err = keys.Owned(key)
	}
	return key, err
}
