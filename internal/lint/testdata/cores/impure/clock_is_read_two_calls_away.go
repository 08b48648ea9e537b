// Package impure has cores that are not pure, each in the way that its file is named for.
package impure

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/lint/testdata/cores/parts"
)

type clock struct{ wake time.Time }

func (c *clock) Step(now time.Time, event int) []string {
	if c.late() && now.After(c.wake) { // Time.After is no timer
		return []string{now.UTC().String()}
	}
	return []string{now.Local().String()} // want "impure.clock.Step: uses time.Local"
}

func (c *clock) late() bool { return parts.Late(c.wake) }

// A shell may use the clock.
func (c *clock) shell() {
	go time.Sleep(time.Until(c.wake))
	parts.Shutdown()
}

// A type without the kit's method is not a core.
type other struct{}

func (other) Step(event int) []string { return []string{time.Now().String()} }

// A type that embeds a core is not a core itself.
type window struct {
	*clock
	changes chan int
}
