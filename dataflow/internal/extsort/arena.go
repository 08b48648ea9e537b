package extsort

import (
	"encoding/binary"
	"unsafe"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

const (
	firstPage  = 64 << 10 // bytes
	largePage  = 1 << 20  // bytes
	firstIndex = 1 << 10  // entries
)

// arena holds records in pages, and the index that sorts them. It charges all its
// memory to an account.
type arena struct {
	account *account
	pages   [][]byte // len: used, cap: allocated
	page    int      // the one in use
	index   []entry
	short   bool // the budget refused a larger index
}

// entry is a record in the index.
type entry struct {
	prefix       uint64 // of the key; see prefixOf
	page, offset uint32 // where the record's length begins
}

const entrySize = int64(unsafe.Sizeof(entry{}))

// add copies a record. If the budget refuses memory, add returns false.
func (a *arena) add(key, value []byte) bool {
	length := spill.UvarintLen(len(key)) + len(key) + len(value)
	if len(a.index) == cap(a.index) && !a.growIndex() || !a.reserve(spill.UvarintLen(length)+length) {
		return false
	}
	page := a.pages[a.page]
	a.index = append(a.index, entry{prefix: prefixOf(key), page: uint32(a.page), offset: uint32(len(page))})
	page = binary.AppendUvarint(page, uint64(length))
	page = binary.AppendUvarint(page, uint64(len(key)))
	page = append(page, key...)
	a.pages[a.page] = append(page, value...)
	return true
}

// record returns the record of an entry.
func (a *arena) record(e entry) []byte {
	at := a.pages[e.page][e.offset:]
	length, n := binary.Uvarint(at)
	return at[n : n+int(length) : n+int(length)]
}

// key returns the key of an entry.
func (a *arena) key(e entry) []byte {
	record := a.record(e)
	length, n := binary.Uvarint(record)
	return record[n : n+int(length)]
}

// reserve finds a page with room for n bytes, from the current one on, or makes one.
// The sizes of new pages double, so that a small sort stays small. At the end of the
// budget they get smaller again.
func (a *arena) reserve(n int) bool {
	for ; a.page < len(a.pages); a.page++ {
		if page := a.pages[a.page]; cap(page)-len(page) >= n {
			return true
		}
	}
	size := max(n, min(firstPage<<min(len(a.pages), 8), largePage))
	for !a.account.take(int64(size)) {
		size /= 2
		if size < max(n, firstPage) {
			return false
		}
	}
	a.pages = append(a.pages, make([]byte, 0, size))
	return true
}

func (a *arena) growIndex() bool {
	larger := max(firstIndex, cap(a.index)+cap(a.index)/2)
	if !a.account.take(int64(larger) * entrySize) {
		a.short = true
		return false
	}
	old := a.index
	a.index = append(make([]entry, 0, larger), old...)
	a.account.give(int64(cap(old)) * entrySize)
	return true
}

// reset removes the records, and keeps the memory for the next ones but for pages of
// single large records. If the records needed a larger index, there is room for it
// now, because an empty index need not be copied.
func (a *arena) reset() {
	kept := a.pages[:0]
	for _, page := range a.pages {
		if cap(page) > largePage {
			a.account.give(int64(cap(page)))
			continue
		}
		kept = append(kept, page[:0])
	}
	clear(a.pages[len(kept):])
	a.pages, a.page, a.index = kept, 0, a.index[:0]
	if more := cap(a.index) / 2; a.short && a.account.take(int64(more)*entrySize) {
		a.index = make([]entry, 0, cap(a.index)+more)
	}
	a.short = false
}

// release removes the records, and gives all memory back.
func (a *arena) release() {
	for _, page := range a.pages {
		a.account.give(int64(cap(page)))
	}
	a.account.give(int64(cap(a.index)) * entrySize)
	*a = arena{account: a.account}
}

// prefixOf returns the first eight bytes of a key as a number, big endian; zeros
// replace missing bytes. Different numbers have the order of their keys.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var p uint64
	for i, b := range key {
		p |= uint64(b) << (56 - 8*i)
	}
	return p
}
