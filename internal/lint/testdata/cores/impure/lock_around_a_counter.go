package impure

import (
	"sync/atomic"
	"time"
)

type locked struct {
	count atomic.Int64 // want "impure.locked.count has type atomic.Int64"
}

func (l *locked) Step(time.Time, int) []int64 { return []int64{l.count.Add(1)} } // want "uses atomic.Add"
