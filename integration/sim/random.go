package sim

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// stream returns a generator of random numbers that depends only on the seed and the name. Each link and each
// process has a stream of its own, and so has the plan of faults: without one fault, the others still strike when
// and where they did.
func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_ = binary.Write(h, binary.BigEndian, seed) // never fails, by hash.Hash
	_, _ = h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// between returns a time from least to most.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// reader is a source of bytes for ids.
type reader struct{ *rand.Rand }

func (r reader) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return len(b), nil
}
