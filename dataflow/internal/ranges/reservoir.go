package ranges

import (
	"bytes"
	"math/rand/v2"
)

// Bounds of a sample.
const (
	// MaxSample is the largest number of keys.
	MaxSample = 1000
	// MaxSampleBytes bounds the keys together. So a sample has at least 256 keys, if there are as many.
	MaxSampleBytes = 64 << 10
)

// Reservoir keeps a random sample of the keys that it is given. Each of them has the same chance to be in it. The same seed and the
// same keys in the same order give the same sample.
type Reservoir struct {
	random *rand.Rand
	keys   [][]byte
	room   int // for keys; at first MaxSample
	bytes  int
	count  int64
}

// NewReservoir makes an empty sample.
func NewReservoir(seed uint64) *Reservoir {
	return &Reservoir{random: rand.New(rand.NewPCG(seed, 0)), room: MaxSample}
}

// Add gives it one more key, of which it may copy the first MaxKey bytes.
func (r *Reservoir) Add(key []byte) {
	r.count++
	at := len(r.keys)
	if at < r.room {
		r.keys = append(r.keys, nil)
	} else if at = int(r.random.Int64N(r.count)); at >= r.room {
		return
	}
	r.bytes += min(len(key), MaxKey) - len(r.keys[at])
	r.keys[at] = bytes.Clone(key[:min(len(key), MaxKey)])
	for r.bytes > MaxSampleBytes { // a random part of a sample is a sample
		out, last := r.random.IntN(len(r.keys)), len(r.keys)-1
		r.bytes -= len(r.keys[out])
		r.keys[out], r.keys = r.keys[last], r.keys[:last]
		r.room = last
	}
}

// Count is the number of keys that it was given.
func (r *Reservoir) Count() int64 { return r.count }

// Sample returns the keys of the sample, in any order.
func (r *Reservoir) Sample() [][]byte { return r.keys }
