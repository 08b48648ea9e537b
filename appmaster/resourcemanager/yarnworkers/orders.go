package yarnworkers

import (
	"slices"
	"time"
)

// orders knows since when containers are missing, the oldest first. It has one entry for those that were ordered together.
type orders []order

type order struct {
	since      time.Time
	containers int
}

// set notes that so many containers are missing now. Those that were ordered last are withdrawn first.
func (o *orders) set(now time.Time, missing int) {
	for _, order := range *o {
		missing -= order.containers
	}
	if missing > 0 {
		*o = append(*o, order{now, missing})
	}
	for last := len(*o) - 1; missing < 0; last-- {
		withdrawn := min((*o)[last].containers, -missing)
		missing += withdrawn
		if (*o)[last].containers -= withdrawn; (*o)[last].containers == 0 {
			*o = (*o)[:last]
		}
	}
}

// take removes the container that was missing longest, and returns for how long.
func (o *orders) take(now time.Time) time.Duration {
	if len(*o) == 0 {
		return 0
	}
	first := &(*o)[0]
	waited := now.Sub(first.since)
	if first.containers--; first.containers == 0 {
		*o = slices.Delete(*o, 0, 1)
	}
	return waited
}
