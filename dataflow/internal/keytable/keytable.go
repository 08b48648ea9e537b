// Package keytable is the hash table for keyed aggregation. Its keys are byte
// strings. A lookup allocates nothing, and a budget bounds the table's memory.
//
// Pages hold the records: a short key and its value, one beside the other, because
// each place that a lookup reads costs a cache miss in a large table. Of a longer
// key, the record has the first bytes and the place; these keys are stored one
// after the other in chunks of an arena. An open-addressed array of slots points
// to the records. Chunks and pages never move, so a growing table copies only its
// slots. The table hashes and compares a short key as two numbers.
//
// The package has no goroutines and does no I/O; a Table belongs to one
// goroutine. It imports nothing of Bobbin.
package keytable

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"
)

const (
	mostRecords = 1 << 10 // of a page
	pageBytes   = 64 << 10
	firstSlots  = 1 << 8
	firstChunk  = 4 << 10
	largeChunk  = 1 << 20
	tagMask     = math.MaxUint32 << 32
	maxRecords  = math.MaxUint32 - 1
)

// Table holds one value of type V under each key. The zero value is not usable;
// see New.
type Table[V any] struct {
	// slots holds, for each record, the upper half of its hash, and its index plus
	// one. The lower bits of the hash say where the search for a free slot begins;
	// the record takes the first one. A free slot is zero. The length is a power of
	// two. At most three quarters of the slots are in use.
	slots  []uint64
	pages  [][]record[V]
	shift  uint     // a page has 1<<shift records
	chunks [][]byte // len: used, cap: allocated; the last in use is chunks[chunk]
	chunk  int
	count  int
	bytes  int64 // allocated by the table, and charged to it
	charge int64 // the part of bytes that Charge added
	held   int64 // taken from the budget; less than bytes after a Charge
	budget Budget
	seed   seed
	warmed uint64 // so that the compiler keeps the reads of Warm
}

// Budget is the memory that a table may use.
type Budget interface {
	// Take reserves bytes, or returns false and reserves nothing.
	Take(bytes int64) bool
	// Give returns bytes that Take reserved.
	Give(bytes int64)
}

type record[V any] struct {
	// key is a short key with zeros behind it. Of a longer key, it is the first eight bytes, and the indexes of its chunk and of its
	// first byte there.
	key    [shortKey]byte
	length uint32
	value  V
}

// New makes an empty table. It takes memory from the budget as it grows.
func New[V any](b Budget) *Table[V] {
	return &Table[V]{budget: b, seed: newSeed(), shift: pageShift(unsafe.Sizeof(record[V]{}))}
}

// pageShift is the logarithm of the number of records of this size that a page has: fewer if they are large, so that a table of few keys
// takes little memory.
func pageShift(record uintptr) uint {
	n := max(1, min(mostRecords, pageBytes/record))
	return uint(bits.Len(uint(n))) - 1
}

// Len is the number of keys.
func (t *Table[V]) Len() int { return t.count }

// Bytes returns the table's own memory plus the bytes added by Charge.
func (t *Table[V]) Bytes() int64 { return t.bytes }

// Over takes what was charged from the budget, and reports whether the budget refuses it.
func (t *Table[V]) Over() bool { return !t.take(0) }

// Charge adds n to the table's bytes, for memory that values hold outside the
// table. n is negative when they shrink.
func (t *Table[V]) Charge(n int64) {
	t.bytes += n
	t.charge += n
	t.giveBack()
}

// take takes bytes from the budget, if the table does not hold as many already.
func (t *Table[V]) take(bytes int64) bool {
	if missing := t.bytes + bytes - t.held; missing > 0 {
		if !t.budget.Take(missing) {
			return false
		}
		t.held += missing
	}
	t.bytes += bytes
	return true
}

// giveBack gives the budget what the table does not need.
func (t *Table[V]) giveBack() {
	if unused := t.held - t.bytes; unused > 0 {
		t.held = t.bytes
		t.budget.Give(unused)
	}
}

// Upsert returns the value of key. If the table has none, Upsert adds a zero
// value and fresh is true. It copies the key. The value is nil if a new key would
// exceed the budget; otherwise it does not move until Reset.
func (t *Table[V]) Upsert(key []byte) (value *V, fresh bool) {
	w, hash := t.seed.hash(key)
	if slots := t.slots; len(slots) > 0 {
		mask := uint64(len(slots) - 1)
		for i := hash & mask; slots[i&mask] != 0; i++ {
			s := slots[i&mask]
			if s&tagMask != hash&tagMask {
				continue
			}
			r := t.record(int(uint32(s)) - 1)
			if int(r.length) != len(key) || binary.LittleEndian.Uint64(r.key[:]) != w.first {
				continue
			}
			if len(key) <= shortKey && binary.LittleEndian.Uint64(r.key[8:]) == w.second || len(key) > shortKey && string(t.longKey(r)) == string(key) {
				return &r.value, false
			}
		}
	}
	return t.insert(hash, w, key)
}

// At returns the i-th key and its value, in the order of the first Upsert, 0 ≤ i
// < Len. The key is valid until Reset and has no spare capacity.
func (t *Table[V]) At(i int) (key []byte, value *V) {
	r := t.record(i)
	return t.key(r), &r.value
}

// Reset removes all keys and values and keeps the memory for the next ones.
func (t *Table[V]) Reset() {
	clear(t.slots)
	for i, rest := 0, t.count; rest > 0; i++ {
		used := min(rest, len(t.pages[i]))
		clear(t.pages[i][:used])
		rest -= used
	}
	kept := t.chunks[:0]
	for _, c := range t.chunks {
		if cap(c) > largeChunk { // made for one large key
			t.bytes -= int64(cap(c))
			continue
		}
		kept = append(kept, c[:0])
	}
	clear(t.chunks[len(kept):])
	t.chunks, t.chunk = kept, 0
	t.bytes -= t.charge
	t.count, t.charge = 0, 0
	t.giveBack()
}

// Release removes all keys and values, and gives the memory back. The table is empty, and may grow again.
func (t *Table[V]) Release() {
	t.budget.Give(t.held)
	*t = Table[V]{budget: t.budget, seed: t.seed, shift: t.shift}
}

func (t *Table[V]) record(i int) *record[V] {
	shift := t.shift & (bits.UintSize - 1) // spares a test of the shift
	page := t.pages[i>>shift]
	return &page[i&(1<<shift-1)]
}

func (t *Table[V]) key(r *record[V]) []byte {
	if r.length <= shortKey {
		return r.key[:r.length:r.length]
	}
	return t.longKey(r)
}

// longKey is a key that is not in its record.
func (t *Table[V]) longKey(r *record[V]) []byte {
	chunk, offset := binary.LittleEndian.Uint32(r.key[8:]), binary.LittleEndian.Uint32(r.key[12:])
	return t.chunks[chunk][offset : offset+r.length : offset+r.length]
}

func (t *Table[V]) insert(hash uint64, w words, key []byte) (*V, bool) {
	if t.count == maxRecords || int64(len(key)) > math.MaxUint32 || !t.reserve(len(key)) {
		return nil, false
	}
	i := t.count
	r := t.record(i)
	r.length = uint32(len(key))
	binary.LittleEndian.PutUint64(r.key[:], w.first)
	binary.LittleEndian.PutUint64(r.key[8:], w.second)
	if len(key) > shortKey {
		c := t.chunks[t.chunk]
		binary.LittleEndian.PutUint32(r.key[8:], uint32(t.chunk))
		binary.LittleEndian.PutUint32(r.key[12:], uint32(len(c)))
		t.chunks[t.chunk] = append(c, key...)
	}
	t.count++
	t.link(i, hash)
	return &r.value, true
}

// link puts record i into the first free slot of its hash.
func (t *Table[V]) link(i int, hash uint64) {
	mask := uint64(len(t.slots) - 1)
	at := hash & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = hash&tagMask | uint64(i+1)
}

// reserve makes room for one more record with a key of this length. If the budget
// forbids it, reserve changes nothing and returns false.
func (t *Table[V]) reserve(keyLength int) bool {
	slots, page, chunk := 0, false, 0
	need := int64(0)
	if (t.count+1)*4 > len(t.slots)*3 {
		slots = max(firstSlots, 2*len(t.slots))
		need += int64(slots) * 8 // the old slots count too, until rehash has copied them
	}
	if t.count == len(t.pages)<<t.shift {
		page = true
		need += int64(unsafe.Sizeof(record[V]{})) << t.shift
	}
	at := t.chunk
	if keyLength > shortKey {
		if at = t.room(keyLength); at == len(t.chunks) {
			chunk = max(keyLength, t.nextChunk())
			need += int64(chunk)
		}
	}
	if need > 0 && !t.take(need) {
		return false
	}
	if page {
		t.pages = append(t.pages, make([]record[V], 1<<t.shift))
	}
	if chunk > 0 {
		t.chunks = append(t.chunks, make([]byte, 0, chunk))
	}
	t.chunk = at
	if slots > 0 {
		t.rehash(slots)
	}
	return true
}

// room returns the first chunk, from the current one on, with room for a key, or
// len(t.chunks).
func (t *Table[V]) room(keyLength int) int {
	at := t.chunk
	for at < len(t.chunks) && cap(t.chunks[at])-len(t.chunks[at]) < keyLength {
		at++
	}
	return at
}

// nextChunk returns the size of the next chunk. The sizes double up to largeChunk,
// so that a small table stays small.
func (t *Table[V]) nextChunk() int {
	if n := len(t.chunks); n < 8 {
		return firstChunk << n
	}
	return largeChunk
}

func (t *Table[V]) rehash(slots int) {
	t.bytes -= int64(len(t.slots)) * 8
	t.giveBack()
	t.slots = make([]uint64, slots)
	for i := range t.count {
		r := t.record(i)
		key := t.key(r)
		_, hash := t.seed.hash(key)
		t.link(i, hash)
	}
}
