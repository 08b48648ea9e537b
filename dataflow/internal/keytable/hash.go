package keytable

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// shortKey is the length of the longest key that two words hold whole, in bytes.
const shortKey = 16

// words are the bytes of a key up to shortKey with zeros behind them, as two little-endian numbers. Of a longer key, they are the first
// eight bytes and zero.
type words struct{ first, second uint64 }

// seed makes each table hash differently, so that no crafted input can make keys
// collide.
type seed struct {
	short [2]uint64
	long  maphash.Seed
}

func newSeed() seed {
	s := seed{long: maphash.MakeSeed()}
	s.short[0] = maphash.String(s.long, "first word")
	s.short[1] = maphash.String(s.long, "second word and length") | 1
	return s
}

// hash returns the words of a key and its hash. It hashes short keys by two wide
// multiplications. If it used only one multiplication, one seed in several hundred would
// put similar keys, such as decimal numbers, into adjacent slots. Keys of different
// lengths may have the same hash whatever the seed is, but no more than one of each length.
func (s *seed) hash(key []byte) (w words, hash uint64) {
	n := len(key)
	switch {
	case n > shortKey:
		return words{first: binary.LittleEndian.Uint64(key)}, maphash.Bytes(s.long, key)
	case n > 8: // the last eight bytes, without those of the first word
		w = words{binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[n-8:]) >> (8 * (shortKey - n))}
	case n >= 4: // the two halves may overlap
		w.first = uint64(binary.LittleEndian.Uint32(key)) | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<(8*(n-4))
	case n > 0: // first, middle and last byte, which may be the same
		w.first = uint64(key[0]) | uint64(key[n>>1])<<(8*(n>>1)) | uint64(key[n-1])<<(8*(n-1))
	}
	const odd = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return w, fold(fold(w.first^s.short[0], w.second^uint64(n)^s.short[1]), odd)
}

// fold multiplies, and combines the halves of the product by XOR.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
