package codec

import (
	"sync/atomic"
	"time"
)

const (
	// mostOffset bounds the offsets from UTC, in seconds, of which zones keeps the Location.
	mostOffset = 24 * 60 * 60
	// offsetStep is what all offsets of today are multiples of, a quarter of an hour.
	offsetStep = 15 * 60
)

// zones has the Locations of decoded times, by offset. If each time had one of its own, it would refer to memory that nobody counts. Its
// methods may be called from any goroutine.
type zones [2*mostOffset/offsetStep + 1]atomic.Pointer[time.Location]

// of gives the Location of an offset in seconds.
func (z *zones) of(offset int) *time.Location {
	if offset%offsetStep != 0 || offset < -mostOffset || offset > mostOffset {
		return time.FixedZone("", offset)
	}
	kept := &z[(offset+mostOffset)/offsetStep]
	if zone := kept.Load(); zone != nil {
		return zone
	}
	kept.CompareAndSwap(nil, time.FixedZone("", offset))
	return kept.Load()
}
