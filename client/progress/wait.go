package progress

import (
	"fmt"
	"time"
)

// retellInterval is the time between two lines about the same wait.
const retellInterval = time.Minute

// Wait is something that is waited for. It is not for several goroutines.
type Wait struct {
	Since time.Time // when it began
	told  time.Time // when it was told last, in a line of its own
}

// TimeOfDay is a time as people read it on this machine.
func TimeOfDay(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// Waiting tells what is waited for, since when, and what is known of it now. It is called
// again and again while the wait lasts: a terminal shows it in the moving line, with how long
// that is; elsewhere it is a line, which is told again each minute.
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
