// Package parts has functions that cores of other packages call.
package parts

import "time"

// Late reads the clock.
func Late(wake time.Time) bool {
	return time.Since(wake) > 0 // want "impure.clock.Step → impure.clock.late → parts.Late: uses time.Since"
}

// No core calls Shutdown.
func Shutdown() { time.Sleep(time.Second) }

// Table has a map for a loop in another package.
type Table struct{ Rows map[string]int }

// Size changes nothing.
func (t *Table) Size() int { return len(t.Rows) }

// Grow changes the table.
func (t *Table) Grow(by int) int {
	t.Rows[""] += by
	return by
}
