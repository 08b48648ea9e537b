package extsort

import (
	"bytes"
	"cmp"
	"slices"
)

const (
	// fewEntries are sorted by comparisons, which is faster for so few.
	fewEntries = 32
	// maxDepth bounds the part of a key that is sorted by radix, in bytes.
	maxDepth = 128
)

// sort orders the index by keys.
//
// It is a radix sort in place, from the first byte of the prefixes to the last. Each
// pass exchanges entries until each lies in the bucket of its byte. Entries that have
// the same prefix get the next eight bytes of their keys for a while. So each pass
// over long keys with a common beginning reads each key only once.
func (a *arena) sort() { a.radix(a.index, 0, 56) }

// radix sorts entries whose keys have the same first depth bytes. The prefixes hold
// the eight bytes behind these, and are equal above shift+8 bits.
func (a *arena) radix(entries []entry, depth int, shift uint) {
	if len(entries) <= fewEntries {
		a.insertion(entries, depth)
		return
	}
	var end [256]int // first the sizes of the buckets
	for i := range entries {
		end[byte(entries[i].prefix>>shift)]++
	}
	if end[byte(entries[0].prefix>>shift)] == len(entries) {
		a.below(entries, depth, shift)
		return
	}
	var next [256]int // place in each bucket that is not yet filled
	sum := 0
	for b := range end {
		next[b] = sum
		sum += end[b]
		end[b] = sum
	}
	for b := range next {
		for next[b] < end[b] {
			e := entries[next[b]]
			for to := byte(e.prefix >> shift); int(to) != b; to = byte(e.prefix >> shift) {
				entries[next[to]], e = e, entries[next[to]]
				next[to]++
			}
			entries[next[b]] = e
			next[b]++
		}
	}
	start := 0
	for _, stop := range end {
		if stop-start > 1 {
			a.below(entries[start:stop], depth, shift)
		}
		start = stop
	}
}

// below sorts entries that are equal from shift on.
func (a *arena) below(entries []entry, depth int, shift uint) {
	if shift > 0 {
		a.radix(entries, depth, shift-8)
	} else {
		a.equal(entries, depth)
	}
}

// equal sorts entries with the same prefix.
func (a *arena) equal(entries []entry, depth int) {
	if len(entries) <= fewEntries {
		a.insertion(entries, depth)
		return
	}
	if depth >= maxDepth {
		slices.SortFunc(entries, func(x, y entry) int { return bytes.Compare(a.key(x)[depth:], a.key(y)[depth:]) })
		return
	}
	depth += 8
	// Keys that end in the prefix come first. They differ by zeros at their ends.
	ended, lengths := 0, false
	for i, e := range entries {
		if n := len(a.key(e)); n <= depth {
			lengths = lengths || ended > 0 && n != len(a.key(entries[0]))
			entries[i], entries[ended] = entries[ended], e
			ended++
		}
	}
	if lengths {
		slices.SortFunc(entries[:ended], func(x, y entry) int { return cmp.Compare(len(a.key(x)), len(a.key(y))) })
	}
	prefix, longer := entries[0].prefix, entries[ended:]
	for i := range longer {
		longer[i].prefix = prefixOf(a.key(longer[i])[depth:])
	}
	a.radix(longer, depth, 56)
	for i := range longer {
		longer[i].prefix = prefix
	}
}

func (a *arena) insertion(entries []entry, depth int) {
	for i := 1; i < len(entries); i++ {
		e, at := entries[i], i
		for ; at > 0 && a.less(e, entries[at-1], depth); at-- {
			entries[at] = entries[at-1]
		}
		entries[at] = e
	}
}

// less compares entries whose keys have the same first depth bytes.
func (a *arena) less(x, y entry, depth int) bool {
	if x.prefix != y.prefix {
		return x.prefix < y.prefix
	}
	return bytes.Compare(a.key(x)[depth:], a.key(y)[depth:]) < 0
}
