package join

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// ref says where a record lies: from the highest bit down, 24 bits of its hash, the number of its page plus one, and its offset there.
// The zero ref is none.
type ref uint64

const (
	pageBits   = 20
	offsetBits = 20
	placeMask  = 1<<(pageBits+offsetBits) - 1
	tagMask    = ^uint64(placeMask)
	tagShift   = 34 // the hash's bits from here on are the tag: neither the highest, which divide, nor the lowest, of the index

	firstPage   = 4 << 10 // bytes
	matchedMark = 1 << 63 // in the ref of a record, which needs no tag
	headerSize  = 8       // a ref
)

func newRef(hash uint64, page, offset int) ref {
	return ref(hash>>tagShift<<(pageBits+offsetBits) | uint64(page+1)<<offsetBits | uint64(offset))
}

// table holds build records in pages, and finds them by their keys. A record in a page is
//
//	same ref | length of the key | length of the value | key | value
//
// where the lengths are uvarints. same is another record with the same key. The index is an open-addressed array with the first record
// of each key; the lowest bits of the hash say where the search for a free slot begins. The ref of a first record also has the mark
// that the key was found.
type table struct {
	budget    Budget
	pageSize  int
	limit     int64    // bytes; none, but for tests
	held      int64    // taken from the budget
	most      int64    // that was held on this level
	pages     [][]byte // nil: the number is free
	numbers   []int    // that are free
	spare     [][]byte // pages that were released
	index     []ref    // nil until build
	mask      uint64
	coldSlots int  // the constant, but for tests
	warmed    byte // so that the compiler keeps the reads of warm
}

// slotsSize is what a record may need in the index, in bytes: the number of slots is a power of two, of which at most three quarters
// are in use.
const slotsSize = 22

// recordSize is what a record needs in its page, in bytes.
func recordSize(key, value []byte) int {
	return headerSize + spill.UvarintLen(len(key)) + spill.UvarintLen(len(value)) + len(key) + len(value)
}

// newPage makes a page with room for a record. The first page of a partition is small. It returns false if the page would exceed the
// limit. The limit, the size of pages and the number of partitions keep the numbers of pages below 1<<pageBits.
func (t *table) newPage(need int, first bool) (number int, ok bool) {
	size := t.pageSize
	if first {
		size = min(size, firstPage)
	}
	var page []byte
	if n := len(t.spare); n > 0 && need <= t.pageSize {
		page, t.spare = t.spare[n-1], t.spare[:n-1]
	} else {
		size = max(need, size)
		if !t.take(int64(size)) {
			return 0, false
		}
		page = make([]byte, 0, size)
	}
	if n := len(t.numbers); n > 0 {
		number, t.numbers = t.numbers[n-1], t.numbers[:n-1]
		t.pages[number] = page
		return number, true
	}
	t.pages = append(t.pages, page)
	return len(t.pages) - 1, true
}

// take reserves memory. Pages that are in no use make room.
func (t *table) take(bytes int64) bool {
	for t.held+bytes > t.limit || !t.budget.Take(bytes) {
		if !t.giveSpare() {
			return false
		}
	}
	t.held += bytes
	t.most = max(t.most, t.held)
	return true
}

func (t *table) give(bytes int64) {
	t.held -= bytes
	t.budget.Give(bytes)
}

// giveSpare gives back a page that is in no use, if there is one.
func (t *table) giveSpare() bool {
	last := len(t.spare) - 1
	if last < 0 {
		return false
	}
	t.give(int64(cap(t.spare[last])))
	t.spare[last] = nil
	t.spare = t.spare[:last]
	return true
}

// trim gives pages in no use back as long as the budget wants memory back. It reports whether the budget wants more.
func (t *table) trim() bool {
	for t.budget.Excess() > 0 {
		if !t.giveSpare() {
			return true
		}
	}
	return false
}

// release gives a page back.
func (t *table) release(number int) {
	page := t.pages[number]
	t.pages[number] = nil
	t.numbers = append(t.numbers, number)
	if cap(page) != t.pageSize {
		t.give(int64(cap(page)))
		return
	}
	t.spare = append(t.spare, page[:0])
}

// add copies a record into a page that has room for it.
func (t *table) add(number int, key, value []byte) {
	page := binary.LittleEndian.AppendUint64(t.pages[number], 0)
	page = binary.AppendUvarint(page, uint64(len(key)))
	page = binary.AppendUvarint(page, uint64(len(value)))
	t.pages[number] = append(append(page, key...), value...)
}

// parse takes the record at an offset of a page apart.
func parse(page []byte, offset int) (key, value []byte, end int) {
	at := offset + headerSize
	keyLength, n := binary.Uvarint(page[at:])
	at += n
	valueLength, n := binary.Uvarint(page[at:])
	at += n
	middle := at + int(keyLength)
	end = middle + int(valueLength)
	return page[at:middle:middle], page[middle:end:end], end
}

// place returns where the record of a ref lies.
func (t *table) place(r ref) (page []byte, offset int) {
	return t.pages[r&placeMask>>offsetBits-1], int(r & (1<<offsetBits - 1))
}

// record returns the record of a ref, and where its own ref is.
func (t *table) record(r ref) (same, key, value []byte) {
	page, offset := t.place(r)
	key, value, _ = parse(page, offset)
	return page[offset : offset+headerSize], key, value
}

func sameOf(b []byte) ref     { return ref(binary.LittleEndian.Uint64(b) & placeMask) }
func setSame(b []byte, r ref) { binary.LittleEndian.PutUint64(b, uint64(r&placeMask)) }
func matched(b []byte) bool   { return binary.LittleEndian.Uint64(b)&matchedMark != 0 }
func setMatched(b []byte) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)|matchedMark)
}

// build makes the index for a number of records. link must follow for each of them.
func (t *table) build(records int) {
	slots := 1 << bits.Len(uint(records+records/3)) // more than records*4/3
	t.index, t.mask = make([]ref, slots), uint64(slots-1)
}

// link puts a record into the index.
func (t *table) link(hash uint64, key []byte, r ref) {
	at, first, found := t.find(hash, key)
	if !found {
		t.index[at] = r
		return
	}
	same, _, _ := t.record(r)
	setSame(same, sameOf(first.same))
	setSame(first.same, r)
}

// first is the first record of a key.
type first struct{ same, value []byte }

// find returns the first record of a key, or the free slot for it.
func (t *table) find(hash uint64, key []byte) (slot uint64, _ first, found bool) {
	tag := hash >> tagShift << (pageBits + offsetBits)
	for slot = hash & t.mask; t.index[slot] != 0; slot = (slot + 1) & t.mask {
		if r := t.index[slot]; uint64(r)&tagMask == tag {
			if same, k, value := t.record(r); bytes.Equal(k, key) {
				return slot, first{same, value}, true
			}
		}
	}
	return slot, first{}, false
}

// each calls f for the values of a key.
func (t *table) each(of first, f func(value []byte) error) error {
	for same, value := of.same, of.value; ; {
		if err := f(value); err != nil {
			return err
		}
		next := sameOf(same)
		if next == 0 {
			return nil
		}
		same, _, value = t.record(next)
	}
}
