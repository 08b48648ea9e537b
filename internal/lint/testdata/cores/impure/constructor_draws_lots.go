package impure

import (
	"math/rand/v2"
	"time"
)

type lots struct {
	seeded *rand.PCG
	first  uint64
}

func newLots(seed uint64) (*lots, error) {
	l := &lots{seeded: rand.NewPCG(seed, seed)}
	l.first = rand.New(l.seeded).Uint64()
	if l.first == 0 {
		l.first = rand.Uint64() // want "impure.newLots: uses rand.Uint64: draw from a source of its own"
	}
	return l, nil
}

func (l lots) Step(time.Time, int) []uint64 { return []uint64{l.first} }
