package creds

import (
	"cmp"
	"maps"
	"slices"
)

// javaOrder returns aliases in the order in which Hadoop writes them: the order of a
// HashMap of Text that was filled with sorted aliases. So the files from here and from
// Hadoop are the same to the byte, and so are their checksums.
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

// textHash is org.apache.hadoop.io.Text.hashCode, which uses signed bytes.
func textHash(s string) uint32 {
	h := uint32(1)
	for i := range len(s) {
		h = 31*h + uint32(int32(int8(s[i])))
	}
	return h
}
