package exchange

import (
	"sync"
	"sync/atomic"
)

// batchMemory lends memory to the batches of a Server, to a bounded number at a time. The others write at once: if so many connections
// write, none of them is slow because its writes are small. Its methods may be called from any goroutine.
type batchMemory struct {
	left  atomic.Int64
	spare sync.Pool // of *[batchSize]byte
}

// batchesIn makes the memory of batches of so many bytes.
func batchesIn(bytes int64) *batchMemory {
	m := &batchMemory{spare: sync.Pool{New: func() any { return new([batchSize]byte) }}}
	m.left.Store(bytes / batchSize)
	return m
}

// take gives an empty slice with room for batchSize bytes, until giveBack; nil if all is lent.
func (m *batchMemory) take() []byte {
	if m.left.Add(-1) < 0 {
		m.left.Add(1)
		return nil
	}
	return m.spare.Get().(*[batchSize]byte)[:0]
}

// giveBack takes back the memory of a slice from take.
func (m *batchMemory) giveBack(lent []byte) {
	m.spare.Put((*[batchSize]byte)(lent[:batchSize]))
	m.left.Add(1)
}
