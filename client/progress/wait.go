package progress

import (
	"fmt"
	"time"
)

// retellInterval is the time between two lines about the same wait.
const retellInterval = time.Minute

// Wait is a wait of the command. One goroutine uses it.
type Wait struct {
	Since time.Time // when it started
	told  time.Time // when a line was last printed about it
}

// TimeOfDay is a time of day for people, in the time zone of this machine.
func TimeOfDay(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// Waiting tells what the command waits for, since when, and what is known now. The caller calls it again and
// again during the wait. A terminal shows it in the moving line, with the duration; elsewhere a line is printed
// each minute.
func (p *Printer) Waiting(w *Wait, what, known string) {
	now := p.now()
	began := TimeOfDay(w.Since)
	if p.terminal {
		lasts := now.Sub(w.Since).Round(time.Second)
		p.Moving(what, fmt.Sprintf("%s since %s (%v): %s", what, began, lasts, known))
		return
	}
	if !w.told.IsZero() && now.Sub(w.told) < retellInterval {
		return
	}
	w.told = now
	p.Line("%s since %s: %s", what, began, known)
}
