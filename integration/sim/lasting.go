package sim

import "time"

// lasting has since when something holds, without a break, for each of several.
type lasting[K comparable] map[K]time.Duration

// note says whether it holds now, and returns how long it has held.
func (l lasting[K]) note(key K, holds bool, now time.Duration) time.Duration {
	if !holds {
		delete(l, key)
		return 0
	}
	if _, known := l[key]; !known {
		l[key] = now
	}
	return now - l[key]
}
