package dataflow

import (
	"errors"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/extsort"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/keytable"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// ErrTooLargeForMemory says that a single key and its accumulator are too large for their operator. The error names the limit, and
// docs/memory.md says how it follows from the operator's share of managed memory. It is a permanent failure if they would be too large
// with all managed memory of the task host.
var ErrTooLargeForMemory = errors.New("one key exceeds the memory of its subtask: " +
	"raise taskmanager.memory.managed.fraction, taskmanager.memory.process.size or Managed in the resources of its slot sharing group")

// merger is the operator of an aggregation behind the exchange. It holds the accumulators of its subtask's keys in a table. When
// the table is full, it writes the table to a file, sorted by key, and begins anew. At the end it merges the files.
type merger[K, A any] struct {
	idle
	caller
	table *keytable.Table[A]
	keys  *Codec[K]
	accs  *Codec[A]
	fold  func(*A, A, bool) error
	emit  func(KV[K, A])

	ended   bool    // the input has
	given   int     // keys of the table whose results are emitted
	memory  *budget // of table and sorter
	filed   bool    // something was written to files
	spilled *spillCounter
	sorter  *extsort.Sorter // of the files
	sorted  *extsort.Sorted // what the sorter has, when the input has ended
	value   []byte          // scratch
	lookups lookups         // records of the input that are not merged yet
}

// open makes the sorter, which holds the memory to write the table to a file from the beginning.
func (m *merger[K, A]) open() (err error) {
	m.sorter, err = m.chain.newSorter(m.memory, &combined[A]{codec: m.accs, fold: m.fold, check: m.check, failed: m.failedAt})
	return m.failed(err)
}

func (m *merger[K, A]) add(record []byte) {
	if m.chain.err != nil {
		return
	}
	if err := m.take(record); err != nil {
		m.fail(err)
	}
}

// take merges a record, or lets it wait for others.
func (m *merger[K, A]) take(record []byte) error {
	if m.table.Cold() && len(record) < largeRecord {
		if m.lookups.add(record) {
			return nil
		}
		return m.mergeWaiting()
	}
	if err := m.mergeWaiting(); err != nil {
		return err
	}
	key, encoded, err := codec.SplitKV(record)
	if err != nil {
		return err
	}
	return m.merge(key, encoded)
}

// mergeWaiting merges the records that wait.
func (m *merger[K, A]) mergeWaiting() error {
	keys, values, err := m.lookups.take()
	if err != nil {
		return err
	}
	if m.table.Cold() {
		m.table.Warm(keys)
	}
	for i, key := range keys {
		if err := m.merge(key, values[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger[K, A]) merge(key, encoded []byte) error {
	v, err := m.accs.Decode(encoded)
	if err != nil {
		return err
	}
	acc, fresh := m.table.Upsert(key)
	if acc == nil {
		if err := m.spillTable(); err != nil {
			return err
		}
		if acc, fresh = m.table.Upsert(key); acc == nil {
			m.table.Release() // what it keeps is of no use for this key
			if acc, fresh = m.table.Upsert(key); acc == nil {
				return m.file(key, encoded)
			}
		}
	}
	before := held(m.accs, acc, fresh)
	if err := m.fold(acc, v, fresh); err != nil {
		return m.failedAt(key, err)
	}
	after := held(m.accs, acc, false)
	m.table.Charge(after - before)
	if err := m.check(key, after); err != nil {
		return err
	}
	if !m.table.Over() {
		return nil
	}
	full := m.table.Bytes()
	err = m.spillTable()
	if m.table.Bytes() > full/2 { // of small values: larger ones would fill it at once
		m.table.Release()
	}
	return err
}

// failedAt is the error of the operator for an error that belongs to an encoded key.
func (m *merger[K, A]) failedAt(encoded []byte, err error) error {
	key, corrupt := m.keys.Decode(encoded)
	if corrupt != nil {
		return m.failed(err)
	}
	return failedAtKey(m.caller, key, err)
}

// largest is the memory of the largest accumulator, in bytes, if the operator may hold this much. While files are merged it is there
// twice, as a value and encoded.
func largest(memory int64) int64 { return (memory - extsort.MinMemory) / 2 }

// check refuses a key and its accumulator if they are too large for memory.
func (m *merger[K, A]) check(key []byte, bytes int64) error {
	if bytes <= largest(leastMemory) { // spares most accumulators the lock of the memory
		return nil
	}
	if bytes <= largest(m.memory.Share()) {
		return nil
	}
	text := fmt.Sprintf("%q", key[:min(len(key), shownBytes)])
	if k, err := m.keys.Decode(key); err == nil {
		text = shortened(k)
	}
	return m.memory.tooLarge(fmt.Errorf("key %s: %w", text, ErrTooLargeForMemory), bytes, largest)
}

// spillTable writes the table to a file, and empties it.
func (m *merger[K, A]) spillTable() error {
	if m.table.Len() == 0 {
		return nil
	}
	order := m.table.Sorted()
	err := m.addRun(func(add func(key, value []byte) error) error {
		for n, i := range order {
			if n%keytable.MostWarm == 0 {
				m.table.WarmAt(order[n:min(n+keytable.MostWarm, len(order))])
			}
			key, acc := m.table.At(int(i))
			value, err := m.accs.Append(m.value[:0], *acc)
			if err != nil {
				return err
			}
			m.value = value
			if err := add(key, value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if m.memory.Excess() > 0 || m.sorter.Crowded() { // others need the memory, or the merge does
		m.table.Release()
	} else {
		m.table.Reset()
	}
	return m.mergeCrowd()
}

// file writes a key that is too large for the table.
func (m *merger[K, A]) file(key, encoded []byte) error {
	if err := m.check(key, int64(len(key)+len(encoded))); err != nil {
		return err
	}
	err := m.addRun(func(add func(key, value []byte) error) error { return add(key, encoded) })
	if err != nil {
		return err
	}
	return m.mergeCrowd()
}

// addRun writes a run of the sorter.
func (m *merger[K, A]) addRun(fill func(add func(key, value []byte) error) error) error {
	m.filed = true
	err := m.sorter.AddRun(m.ctx, fill)
	m.spilled.set(m.sorter.Spilled())
	return m.failed(err)
}

// mergeCrowd merges files if there are many.
func (m *merger[K, A]) mergeCrowd() error {
	if !m.sorter.Crowded() {
		return nil
	}
	err := m.sorter.Merge(m.ctx)
	m.spilled.set(m.sorter.Spilled())
	return m.failed(err)
}

// event implements stage.
func (m *merger[K, A]) event(_ int, e operator.Item) error {
	if err := m.mergeWaiting(); err != nil {
		return m.failed(err)
	}
	if e != operator.EndOfData {
		return nil
	}
	m.ended = true
	if !m.filed {
		m.memory.NoMore()
		return nil
	}
	if err := m.spillTable(); err != nil {
		return err
	}
	m.table.Release() // the merge needs its memory
	sorted, err := m.sorter.Sort(m.ctx)
	m.sorted = sorted
	m.spilled.set(m.sorter.Spilled())
	return m.failed(err)
}

// produce emits the results of some keys.
func (m *merger[K, A]) produce() (progress, error) {
	if !m.ended {
		return done, nil
	}
	for range burst {
		if err := m.chain.fault(); err != nil {
			return done, err
		}
		key, acc, err := m.next()
		switch {
		case errors.Is(err, io.EOF):
			return done, nil
		case err != nil:
			return done, m.failed(err)
		}
		m.emit(KV[K, A]{Key: key, Value: acc})
	}
	return more, nil
}

// next returns the next result. The error is io.EOF behind the last one.
func (m *merger[K, A]) next() (key K, acc A, err error) {
	if m.sorted == nil {
		if m.given == m.table.Len() {
			return key, acc, io.EOF
		}
		encoded, found := m.table.At(m.given)
		m.given++
		key, err = m.keys.Decode(encoded)
		return key, *found, err
	}
	encoded, value, err := m.sorted.Next()
	if errors.Is(err, io.EOF) {
		return key, acc, io.EOF
	}
	if err != nil {
		return key, acc, err
	}
	if key, err = m.keys.Decode(encoded); err == nil {
		acc, err = m.accs.Decode(value)
	}
	return key, acc, err
}

// close removes the files.
func (m *merger[K, A]) close() error {
	if m.sorter == nil {
		return nil
	}
	return m.sorter.Close()
}

// combined folds the accumulators of a key from several files. It implements extsort.Combiner.
type combined[A any] struct {
	codec  *Codec[A]
	fold   func(*A, A, bool) error
	check  func(key []byte, bytes int64) error // of an accumulator
	failed func(key []byte, err error) error   // adds the key to an error of fold
	key    []byte
	acc    A
}

// Begin implements extsort.Combiner.
func (c *combined[A]) Begin(key, value []byte) error {
	var none A
	c.key, c.acc = key, none
	return c.add(value, true)
}

// Fold implements extsort.Combiner.
func (c *combined[A]) Fold(value []byte) error { return c.add(value, false) }

func (c *combined[A]) add(value []byte, fresh bool) error {
	v, err := c.codec.Decode(value)
	if err != nil {
		return err
	}
	if err := c.fold(&c.acc, v, fresh); err != nil {
		return c.failed(c.key, err)
	}
	return c.check(c.key, held(c.codec, &c.acc, false))
}

// Result implements extsort.Combiner.
func (c *combined[A]) Result(dst []byte) ([]byte, error) { return c.codec.Append(dst, c.acc) }
