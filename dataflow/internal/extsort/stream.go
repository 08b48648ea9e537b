package extsort

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// stream is a sequence of records in the order of their keys.
type stream interface {
	// next returns the next record, which is valid until the next call. At the end
	// the error is io.EOF.
	next() (*item, error)
}

// item is a record of a stream.
type item struct {
	prefix     uint64 // of the key
	record     []byte // the length of the key as a uvarint, the key, the value
	key, value []byte // in record
}

// set takes a record apart. It returns false if the length of its key is wrong.
func (it *item) set(record []byte) bool {
	length, n := binary.Uvarint(record)
	if n <= 0 || length > uint64(len(record)-n) {
		return false
	}
	end := n + int(length)
	it.record, it.key, it.value = record, record[n:end:end], record[end:]
	it.prefix = prefixOf(it.key)
	return true
}

func (it *item) sameKey(other *item) bool {
	return it.prefix == other.prefix && bytes.Equal(it.key, other.key)
}

// resident is the stream of a sorted arena.
type resident struct {
	arena   *arena
	at      int
	item    item
	touched byte // so that the compiler keeps the reads of touch
}

// touchAhead is the number of records whose cache misses overlap.
const touchAhead = 16

func (r *resident) next() (*item, error) {
	if r.at == len(r.arena.index) {
		return nil, io.EOF
	}
	if r.at%touchAhead == 0 {
		r.touch()
	}
	r.item.set(r.arena.record(r.arena.index[r.at]))
	r.at++
	return &r.item, nil
}

// touch reads the first cache lines of the next records, which lie anywhere in the
// arena. The processor waits for many of them at the same time, because it finds no
// other work in between. This makes a sort in files a third faster.
func (r *resident) touch() {
	for _, e := range r.arena.index[r.at:min(r.at+touchAhead, len(r.arena.index))] {
		page := r.arena.pages[e.page][e.offset:]
		r.touched += page[0] + page[min(64, len(page)-1)]
	}
}

// Combiner folds the values of a key into one value. The values come in any order,
// and each may itself be a result of the Combiner. So the operation must be
// associative and commutative. Calls come in the order Begin, Fold once or more,
// Result; or Begin again, after an error. A Combiner must not keep the values.
type Combiner interface {
	// Begin starts with the first value of a key, and forgets all earlier values. The key is valid until Result.
	Begin(key, value []byte) error
	// Fold adds a value.
	Fold(value []byte) error
	// Result appends the combined value to dst.
	Result(dst []byte) ([]byte, error)
}

// combining is the stream of another one's records, with one record for each key.
type combining struct {
	in       stream
	combiner Combiner
	current  *buffer
	item     item  // in current
	ahead    *item // the next record of in, already read; nil: none
	err      error // why in has no more records
}

func (c *combining) next() (*item, error) {
	if c.ahead == nil {
		c.advance()
	}
	if c.ahead == nil {
		return nil, c.err
	}
	c.current.set(append(c.current.bytes[:0], c.ahead.record...))
	c.item.set(c.current.bytes)
	folded := false
	for c.advance(); c.ahead != nil && c.ahead.sameKey(&c.item); c.advance() {
		if !folded {
			if err := c.combiner.Begin(c.item.key, c.item.value); err != nil {
				return nil, combineError(err)
			}
			folded = true
		}
		if err := c.combiner.Fold(c.ahead.value); err != nil {
			return nil, combineError(err)
		}
	}
	if !folded {
		return &c.item, nil
	}
	head := len(c.item.record) - len(c.item.value)
	record, err := c.combiner.Result(c.current.bytes[:head])
	if err != nil {
		return nil, combineError(err)
	}
	c.current.set(record)
	c.item.set(record)
	return &c.item, nil
}

// advance reads ahead one record.
func (c *combining) advance() {
	c.ahead = nil
	if c.err == nil {
		c.ahead, c.err = c.in.next()
	}
}

func combineError(err error) error { return fmt.Errorf("combine the values of a key: %w", err) }

// smallBuffer is the part of a buffer that the minimum of memory contains, in bytes.
const smallBuffer = 32 << 10

// buffer is memory for one record or key. A large one grows even without the budget's
// leave, because the sorter cannot go on without it.
type buffer struct {
	account *account
	bytes   []byte
	charged int
}

func newBuffer(a *account) *buffer {
	a.force(smallBuffer)
	return &buffer{account: a, charged: smallBuffer}
}

// set takes what append returned.
func (b *buffer) set(bytes []byte) {
	b.bytes = bytes
	if n := cap(bytes); n > b.charged {
		b.account.force(int64(n - b.charged))
		b.charged = n
	}
}
