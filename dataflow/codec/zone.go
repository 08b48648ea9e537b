package codec

import (
	"sync/atomic"
	"time"
)

// sharedZone bounds the offsets from UTC whose Location all times share, 24 h.
const sharedZone = 24 * 60 * 60

// zones are the shared Locations, one for each minute of offset. All zones of today have whole minutes.
//
//nolint:gochecknoglobals // a cache of constants
var zones [2*sharedZone/60 + 1]atomic.Pointer[time.Location]

// zoneOf gives the Location of an offset in seconds. If each time had one of its own, it would refer to memory that nobody counts.
func zoneOf(offset int) *time.Location {
	if offset%60 != 0 || offset < -sharedZone || offset > sharedZone {
		return time.FixedZone("", offset)
	}
	shared := &zones[(offset+sharedZone)/60]
	if zone := shared.Load(); zone != nil {
		return zone
	}
	shared.CompareAndSwap(nil, time.FixedZone("", offset))
	return shared.Load()
}
