package keytable

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// mostWarmed is the number of records that fit into the caches of a core.
const mostWarmed = 4096

// few is the number of records up to which comparing their keys costs less than a pass over them.
const few = 12

// Sorted returns the indexes of all records for At, in the order of bytes.Compare of their keys. They use the memory of the slots.
// So only At may be called until Reset.
func (t *Table[V]) Sorted() []uint64 {
	records := t.slots[:t.count]
	for i := range records {
		records[i] = uint64(i)
	}
	t.sort(records, 0)
	for i := range records {
		records[i] &= math.MaxUint32
	}
	return records
}

// sort sorts records whose keys agree in their first depth bytes. It puts the next bytes of each key beside its index, sorts these as
// numbers, and goes on with the records that agree in them, too. So it looks at the memory of a key once in four bytes, not at each
// comparison.
func (t *Table[V]) sort(records []uint64, depth int) {
	if depth > 0 && len(records) <= mostWarmed { // they are all over the table
		t.WarmAt(records)
	}
	if len(records) <= few {
		t.compareAll(records, depth)
		return
	}
	depth += t.agree(records, depth)
	for i, r := range records {
		records[i] = uint64(prefixOf(t.keyOf(r)[depth:]))<<32 | r&math.MaxUint32
	}
	slices.Sort(records)
	for len(records) > 0 {
		prefix, n := records[0]>>32, 1
		for n < len(records) && records[n]>>32 == prefix {
			n++
		}
		switch run := records[:n]; {
		case n == 1:
		case byte(prefix) == 0 && t.endWithin(run, depth+prefixSize): // the zeros may stand for the end of a key
			t.compareAll(run, depth)
		default:
			t.sort(run, depth+prefixSize)
		}
		records = records[n:]
	}
}

// compareAll sorts records whose keys agree in their first depth bytes by comparing what follows.
func (t *Table[V]) compareAll(records []uint64, depth int) {
	slices.SortFunc(records, func(a, b uint64) int { return bytes.Compare(t.keyOf(a)[depth:], t.keyOf(b)[depth:]) })
}

// agree is the number of bytes after depth in which all keys agree.
func (t *Table[V]) agree(records []uint64, depth int) int {
	common := t.keyOf(records[0])[depth:]
	for _, r := range records[1:] {
		key := t.keyOf(r)[depth:]
		n := 0
		for n < min(len(common), len(key)) && common[n] == key[n] {
			n++
		}
		if common = common[:n]; n == 0 {
			return 0
		}
	}
	return len(common)
}

// endWithin tells whether the key of a record has less than so many bytes.
func (t *Table[V]) endWithin(records []uint64, size int) bool {
	return slices.ContainsFunc(records, func(r uint64) bool { return len(t.keyOf(r)) < size })
}

// keyOf is the key of the record whose index is in the lower half of r.
func (t *Table[V]) keyOf(r uint64) []byte { return t.key(t.record(int(uint32(r)))) }

// prefixSize is the number of bytes of prefixOf.
const prefixSize = 4

// prefixOf returns the first bytes of a key as a number that orders as they do. Zeros take the place of those that it lacks.
func prefixOf(key []byte) uint32 {
	if len(key) >= prefixSize {
		return binary.BigEndian.Uint32(key)
	}
	var padded [prefixSize]byte
	copy(padded[:], key)
	return binary.BigEndian.Uint32(padded[:])
}
