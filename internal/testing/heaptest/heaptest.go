// Package heaptest measures the memory that tests hold.
package heaptest

import (
	"runtime"
	"runtime/metrics"
)

// InUse returns the bytes of all objects that can still be reached, after a collection. The garbage of earlier tests of the
// process does not count, so this says the same on a busy machine. Nor does what other goroutines make after the collection; what they
// drop while it runs does count. A test that measures must not run beside others.
func InUse() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live) // its first call makes tables, which stay
	runtime.GC()
	runtime.GC() // frees what the first one finalized, and what was in pools
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}
