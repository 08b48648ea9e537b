package keytable

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// headSize is the length of the longest key that its head holds whole, in bytes.
const headSize = 8

// headOf returns a number. It differs for different keys of the same length up to
// headSize, and for most longer ones.
func headOf(key []byte) uint64 {
	switch n := len(key); {
	case n >= 8:
		return binary.LittleEndian.Uint64(key)
	case n >= 4: // the two halves overlap
		return uint64(binary.LittleEndian.Uint32(key)) | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<32
	case n > 0: // first, middle and last byte, which may be the same
		return uint64(key[0]) | uint64(key[n>>1])<<8 | uint64(key[n-1])<<16
	default:
		return 0
	}
}

// seed makes each table hash differently, so that no crafted input can make keys
// collide.
type seed struct {
	short [2]uint64
	long  maphash.Seed
}

func newSeed() seed {
	s := seed{long: maphash.MakeSeed()}
	s.short[0] = maphash.String(s.long, "head")
	s.short[1] = maphash.String(s.long, "length") | 1
	return s
}

// hash returns the hash of a key with this head. It hashes short keys by two wide
// multiplications. If it used only one multiplication, one seed in several hundred would
// put similar keys, such as decimal numbers, into adjacent slots.
func (s *seed) hash(head uint64, key []byte) uint64 {
	if len(key) > headSize {
		return maphash.Bytes(s.long, key)
	}
	const odd = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return fold(fold(head^s.short[0], uint64(len(key))^s.short[1]), odd)
}

// fold multiplies, and combines the halves of the product by XOR.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
