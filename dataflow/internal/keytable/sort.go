package keytable

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// mostWarmed is the number of records that fit into the caches of a core.
const mostWarmed = 4096

// few is the number of records up to which comparing their keys costs less than a pass over them.
const few = 12

// Sorted returns the indexes of all records for At, in the order of bytes.Compare of their keys. They use the memory of the slots.
// So only At may be called until Reset.
func (t *Table[V]) Sorted() []uint64 { return t.sorted(prefixSize(t.count)) }

func (t *Table[V]) sorted(prefix int) []uint64 {
	records := t.slots[:t.count]
	for i := range records {
		records[i] = uint64(i)
	}
	o := order[V]{t, prefix, 1<<(64-8*prefix) - 1}
	o.sort(records, 0)
	for i := range records {
		records[i] &= o.mask
	}
	return records
}

// prefixSize is the number of bytes of a key that fit beside the index of one of so many records. Five bytes leave far fewer records
// that agree in them than four do.
func prefixSize(records int) int {
	if records <= 1<<24 {
		return 5
	}
	return 4
}

// order sorts the indexes of a table's records. It keeps the first bytes of each key beside its index.
type order[V any] struct {
	table  *Table[V]
	prefix int    // bytes
	mask   uint64 // of an index
}

// sort sorts records whose keys agree in their first depth bytes. It puts the next bytes of each key beside its index, sorts these as
// numbers, and goes on with the records that agree in them, too. So it looks at the memory of a key once in some bytes, not at each
// comparison.
func (o order[V]) sort(records []uint64, depth int) {
	if depth > 0 && len(records) <= mostWarmed { // they are all over the table
		o.table.warmAt(records, o.mask)
	}
	if len(records) <= few {
		o.compareAll(records, depth)
		return
	}
	depth += o.agree(records, depth)
	for i, r := range records {
		records[i] = prefixOf(o.keyOf(r)[depth:])&^o.mask | r&o.mask
	}
	slices.Sort(records)
	for len(records) > 0 {
		first, n := records[0]&^o.mask, 1
		for n < len(records) && records[n]&^o.mask == first {
			n++
		}
		switch run := records[:n]; {
		case n == 1:
		case byte(first>>(64-8*o.prefix)) == 0 && o.endWithin(run, depth+o.prefix): // the zeros may stand for the end of a key
			o.compareAll(run, depth)
		default:
			o.sort(run, depth+o.prefix)
		}
		records = records[n:]
	}
}

// compareAll sorts records whose keys agree in their first depth bytes by comparing what follows.
func (o order[V]) compareAll(records []uint64, depth int) {
	slices.SortFunc(records, func(a, b uint64) int { return bytes.Compare(o.keyOf(a)[depth:], o.keyOf(b)[depth:]) })
}

// agree is the number of bytes after depth in which all keys agree.
func (o order[V]) agree(records []uint64, depth int) int {
	common := o.keyOf(records[0])[depth:]
	for _, r := range records[1:] {
		key := o.keyOf(r)[depth:]
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
func (o order[V]) endWithin(records []uint64, size int) bool {
	return slices.ContainsFunc(records, func(r uint64) bool { return len(o.keyOf(r)) < size })
}

// keyOf is the key of a record.
func (o order[V]) keyOf(r uint64) []byte { return o.table.key(o.table.record(int(r & o.mask))) }

// prefixOf returns the first eight bytes of a key as a number that orders as they do. Zeros take the place of those that it lacks.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var padded [8]byte
	copy(padded[:], key)
	return binary.BigEndian.Uint64(padded[:])
}
