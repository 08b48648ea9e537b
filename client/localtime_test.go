package client

import (
	"testing"
	"time"
)

// TestAllTimesAreInOneZone would catch a list that tells since when a job waits in UTC, beside times of this machine.
func TestAllTimesAreInOneZone(t *testing.T) {
	t.Parallel()
	for zone, c := range map[*time.Location][][2]string{
		time.FixedZone("east", 2*3600): {
			{"asked for since 23:30:05 UTC; the queue is full", "asked for since 01:30:05; the queue is full"},
			{"since 1 Jan 2026 23:00:00 UTC and 00:10:00 UTC", "since 2026-01-02 01:00:00 and 02:10:00"},
			{"no time: 3 UTC, 99:99:99 UTC, 2 Foo 2026 10:00:00 UTC", "no time: 3 UTC, 99:99:99 UTC, 2 Foo 2026 10:00:00 UTC"},
			{"", ""},
		},
		time.FixedZone("west", -90*60): {{"since 00:10:00 UTC", "since 22:40:00"}},
	} {
		now := time.Date(2026, 1, 3, 0, 20, 0, 0, time.UTC).In(zone)
		for _, words := range c {
			if got := localTimes(words[0], now); got != words[1] {
				t.Errorf("%s: %q is %q, want %q", zone, words[0], got, words[1])
			}
		}
	}
}

// TestTheNearestDayIsMeant would catch a time before midnight that gets the time of the zone after its clocks have changed.
func TestTheNearestDayIsMeant(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ at, now time.Time }{
		{midnight.Add(-time.Minute), midnight.Add(time.Minute)},
		{midnight.Add(time.Minute), midnight.Add(-time.Minute)},
		{midnight.Add(time.Minute), midnight.Add(11 * time.Hour)},
	} {
		if got := nearest(c.at, c.now); !got.Equal(c.at) {
			t.Errorf("seen at %v: %v, want %v", c.now, got, c.at)
		}
	}
}
