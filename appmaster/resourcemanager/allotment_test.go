package resourcemanager

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Two jobs that each get a part of their slots, or workers above the ceiling, show here.
func TestAllotmentGivesWholePartsUnderTheCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, from, to int) int { return rapid.IntRange(from, to).Draw(t, name) }
		kinds := number("kinds", 2, 3)
		a := &allotment{ceiling: config.WorkerTotals{Slots: number("ceiling", 1, 12), Cores: 100, Memory: 1 << 40}}
		claims := make([]claim, number("jobs", 1, 3))
		for k := range kinds {
			a.one = append(a.one, config.WorkerTotals{Slots: number("slots", 1, 3), Cores: 1, Memory: 1 << 20})
			held := 0
			for i := range claims {
				n := need{declared: number("declared", 0, 4), held: number("held", 0, 2)}
				n.part, n.later = number("part", 0, n.declared), number("later", 0, n.declared)
				claims[i].needs = append(claims[i].needs, n)
				held += n.held
			}
			used := (held+a.one[k].Slots-1)/a.one[k].Slots + number("worse", 0, 1)
			a.stock = append(a.stock, slotmanager.Stock{Workers: used + number("unused", 0, 2), Used: used, Held: held})
			a.given, a.taken = append(a.given, held), append(a.taken, held)
		}
		alone := a.fits(claims[0].parts(1)) && !slices.ContainsFunc(claims[1:], func(c claim) bool { return c.holds() })
		least, room := 0, make([]int, kinds) // what the first job must have for its later parts, if it fits
		if claims[0].incomplete() {
			least = 1
		}
		for k, further := range claims[0].parts(least) {
			n := claims[0].needs[k]
			room[k] = max(further, n.later-n.held)
		}
		roomy := a.fits(room) && !slices.ContainsFunc(claims[1:], func(c claim) bool { return c.holds() })
		a.divide(claims)

		sum, used := config.WorkerTotals{}, config.WorkerTotals{}
		for k, limit := range a.limits() {
			sum, used = sum.Plus(limit, a.one[k]), used.Plus(a.stock[k].Used, a.one[k])
		}
		if sum.Slots > max(a.ceiling.Slots, used.Slots) {
			t.Fatalf("workers with %d slots are allowed, %d are used, and the ceiling is %d", sum.Slots, used.Slots, a.ceiling.Slots)
		}
		for i, c := range claims {
			part, some, all := c.parts(1), false, true
			for k, n := range c.needs {
				some, all = some || n.reserved > 0, all && n.reserved >= part[k]
				if n.reserved > max(n.declared-n.held, 0) {
					t.Fatalf("job %d gets %d slots and %d more of kind %d, and needs %d", i, n.held, n.reserved, k, n.declared)
				}
			}
			for k, n := range c.needs {
				if i == 0 && roomy && n.held+n.reserved < n.later {
					t.Fatalf("the first job has %d slots of kind %d, a later part needs %d, and there is room", n.held+n.reserved, k, n.later)
				}
			}
			if c.incomplete() && (some || c.granted) && !all {
				t.Fatalf("job %d gets less than a part", i)
			}
			if i == 0 && c.incomplete() && !c.granted && alone {
				t.Fatal("the first job gets nothing, and no other job has slots")
			}
		}
	})
}
