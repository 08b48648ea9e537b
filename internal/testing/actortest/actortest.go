// Package actortest steps cores in tests.
package actortest

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
)

// Stepper steps a core as a loop does, and returns its alarm. Only one goroutine may use it.
type Stepper[E, F any] struct {
	Core  actor.Core[E, F]
	alarm time.Time
	rang  bool // the next step is a wake-up
}

// Step handles one event and returns the effects. alarm is the core's alarm if the step has
// changed it, and zero otherwise.
func (s *Stepper[E, F]) Step(now time.Time, event E) (effects []F, alarm time.Time) {
	effects = s.Core.Step(now, event)
	if at := s.Core.Alarm(); s.rang && !at.IsZero() && !at.After(now) {
		panic(fmt.Sprintf("the core was woken at %v, and leaves its alarm at %v", now, at))
	}
	s.rang = false
	if at := s.Core.Alarm(); !at.Equal(s.alarm) {
		s.alarm, alarm = at, at
	}
	return effects, alarm
}

// Rang tells the Stepper that the alarm has rung, as the loop notes when it wakes the core.
// The next Step then returns the alarm even if it has not changed, and panics if the core
// leaves it in the past.
func (s *Stepper[E, F]) Rang() { s.alarm, s.rang = time.Time{}, true }

// Wake stands for a new alarm in All.
type Wake struct{ At time.Time }

// All is Step with the alarm as the last effect.
func (s *Stepper[E, F]) All(now time.Time, event E) []any {
	effects, alarm := s.Step(now, event)
	all := make([]any, 0, len(effects)+1)
	for _, effect := range effects {
		all = append(all, effect)
	}
	if !alarm.IsZero() {
		all = append(all, Wake{alarm})
	}
	return all
}
