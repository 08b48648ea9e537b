// Package heaptest measures the memory that tests hold.
package heaptest

import "runtime"

// InUse returns the bytes of all objects that can still be reached, after a collection. The garbage of earlier tests of the
// process does not count, so this says the same on a busy machine. A test that measures must not run beside others.
func InUse() int64 {
	runtime.GC()
	runtime.GC() // frees what the first one finalized, and what was in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
