package keytable

import "math"

// A large table is not in the processor's caches, so a lookup waits for memory two or three times. If a caller has other work to do
// between two lookups, the processor does not begin the second one while it waits for the first. It waits for several at the same time if
// they are told together.

// MostWarm is the most keys of one Warm.
const MostWarm = 32

// coldSlots is the number of slots from which on a table is larger than the caches of one core.
const coldSlots = 1 << 15

// Cold reports whether lookups wait for memory, so that Warm is worth its time.
func (t *Table[V]) Cold() bool { return len(t.slots) >= coldSlots }

// Warm brings what lookups of these keys read into the caches. The table must be Cold.
func (t *Table[V]) Warm(keys [][]byte) {
	var hashes [MostWarm]uint64
	mask, read := uint64(len(t.slots)-1), uint64(0)
	for i, key := range keys {
		_, hashes[i] = t.seed.hash(key)
		read += t.slots[hashes[i]&mask] // without a branch that depends on it
	}
	for i := range keys {
		for at := hashes[i] & mask; t.slots[at] != 0; at = (at + 1) & mask {
			if s := t.slots[at]; s&tagMask == hashes[i]&tagMask {
				read += uint64(t.record(int(uint32(s)) - 1).length)
				break
			}
		}
	}
	t.warmed = read
}

// WarmAt brings the records with these indexes into the caches.
func (t *Table[V]) WarmAt(indexes []uint64) { t.warmAt(indexes, math.MaxUint32) }

// warmAt is WarmAt for indexes in the bits of a mask.
func (t *Table[V]) warmAt(indexes []uint64, mask uint64) {
	read := uint64(0)
	for _, i := range indexes {
		read += uint64(t.record(int(i & mask)).length)
	}
	t.warmed = read
}
