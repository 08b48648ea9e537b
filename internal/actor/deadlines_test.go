package actor

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDeadlinesAgainstASortedList would catch a deadline that comes early, late, twice, never, or
// after a later one, and outdated deadlines that pile up.
func TestDeadlinesAgainstASortedList(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var d Deadlines[int]
		type one struct {
			key int
			at  time.Time
		}
		var model []one // in the order of the Set calls
		cancel := func(key int) {
			for i := range model {
				if model[i].key == key {
					model = append(model[:i:i], model[i+1:]...)
					return
				}
			}
		}
		first := func() (int, bool) {
			best := -1
			for i, m := range model {
				if best < 0 || m.at.Before(model[best].at) {
					best = i
				}
			}
			return best, best >= 0
		}
		now := epoch
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				key := rapid.IntRange(0, 9).Draw(t, "key")
				at := now.Add(time.Duration(rapid.IntRange(-3, 9).Draw(t, "after")) * time.Second)
				d.Set(key, at)
				cancel(key)
				model = append(model, one{key, at})
			},
			"cancel": func(t *rapid.T) {
				key := rapid.IntRange(0, 9).Draw(t, "key")
				d.Cancel(key)
				cancel(key)
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "time")) * time.Second)
				for {
					i, some := first()
					some = some && !model[i].at.After(now)
					key, due := d.Due(now)
					if due != some || some && key != model[i].key {
						t.Fatalf("due: %d, %t of %v", key, due, model)
					}
					if !some {
						return
					}
					cancel(key)
				}
			},
			"": func(t *rapid.T) {
				var want time.Time
				if i, some := first(); some {
					want = model[i].at
				}
				if next := d.Next(); !next.Equal(want) {
					t.Fatalf("next is %v, want %v", next, want)
				}
				if len(d.order) > 2*len(model)+minimalHeap {
					t.Fatalf("%d are kept for %d deadlines", len(d.order), len(model))
				}
			},
		})
	})
}

// TestEarliest would catch a zero time that counts as early.
func TestEarliest(t *testing.T) {
	t.Parallel()
	one, two := time.Unix(1, 0), time.Unix(2, 0)
	for _, c := range []struct {
		times []time.Time
		want  time.Time
	}{
		{nil, time.Time{}},
		{[]time.Time{{}, {}}, time.Time{}},
		{[]time.Time{two, {}, one}, one},
		{[]time.Time{{}, two}, two},
	} {
		if got := Earliest(c.times...); !got.Equal(c.want) {
			t.Errorf("Earliest(%v) = %v, want %v", c.times, got, c.want)
		}
	}
}
