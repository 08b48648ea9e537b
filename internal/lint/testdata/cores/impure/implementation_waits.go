package impure

import "time"

type strategy interface{ delay() time.Duration }

type patient struct{}

func (patient) delay() time.Duration {
	time.Sleep(time.Second) // want "impure.waiting.Step → impure.patient.delay: uses time.Sleep"
	return time.Second
}

type waiting struct{ strategy strategy }

func (w waiting) Step(time.Time, int) []time.Duration { return []time.Duration{w.strategy.delay()} }
