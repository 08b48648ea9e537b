package creds

import (
	"cmp"
	"maps"
	"slices"
)

// javaOrder is the order in which Hadoop writes aliases: that of its HashMap of Text
// into which they were put sorted. The files of both then are the same to the byte,
// and so are the checksums that tools keep of them.
func javaOrder[V any](m map[string]V) []string {
	buckets := uint32(16) // doubled when more than three quarters full
	for len(m) > int(buckets/4*3) {
		buckets *= 2
	}
	bucket := func(alias string) uint32 {
		h := textHash(alias)
		return (h ^ h>>16) & (buckets - 1)
	}
	aliases := slices.Collect(maps.Keys(m))
	slices.SortFunc(aliases, func(a, b string) int {
		return cmp.Or(cmp.Compare(bucket(a), bucket(b)), cmp.Compare(a, b))
	})
	return aliases
}

// textHash is org.apache.hadoop.io.Text.hashCode, whose bytes have signs.
func textHash(s string) uint32 {
	h := uint32(1)
	for i := range len(s) {
		h = 31*h + uint32(int32(int8(s[i])))
	}
	return h
}
