// Package failover decides what follows a failure: which of several failures is the root cause,
// whether the region restarts, and after which delay.
//
// It is plain state that the JobMaster's core owns: no I/O, no clock, no goroutine, no lock. The
// seed for jitter comes from the caller.
package failover

import (
	"fmt"
	"math"
	"time"
)

// Strategy is a restart strategy. It is asked once for each root cause that uses up a restart, in
// the order of time.
type Strategy interface {
	// Restart records a failure and gives the delay before the restart; false means that the job
	// fails.
	Restart(now time.Time) (delay time.Duration, again bool)
	// String says why there is no further restart, for the text of a job's failure.
	String() string
}

// New makes the strategy that the settings name. The seed is for the jitter of
// exponential-delay.
func New(s Settings, seed uint64) Strategy {
	switch s.Type {
	case FixedDelay:
		return &fixedDelay{attempts: s.FixedDelay.Attempts, delay: s.FixedDelay.Delay}
	case FailureRate:
		return &failureRate{FailureRateSettings: s.FailureRate}
	case ExponentialDelay:
		return &exponentialDelay{ExponentialDelaySettings: s.ExponentialDelay, jitter: jitter(seed)}
	case None:
	}
	return none{}
}

type none struct{}

func (none) Restart(time.Time) (time.Duration, bool) { return 0, false }
func (none) String() string                          { return "restart-strategy.type is none" }

// fixedDelay allows a number of restarts, each after the same delay.
type fixedDelay struct {
	attempts int
	delay    time.Duration
	used     int
}

func (f *fixedDelay) Restart(time.Time) (time.Duration, bool) {
	if f.used >= f.attempts {
		return 0, false
	}
	f.used++
	return f.delay, true
}

func (f *fixedDelay) String() string {
	return fmt.Sprintf("restart-strategy.type is %s, and its %d restarts are used up", FixedDelay, f.attempts)
}

// failureRate allows restarts while at most MaxFailures failures fall into an interval.
type failureRate struct {
	FailureRateSettings
	recent []time.Time // failures of the last interval, oldest first, at most MaxFailures
}

func (f *failureRate) Restart(now time.Time) (time.Duration, bool) {
	for len(f.recent) > 0 && now.Sub(f.recent[0]) > f.Interval {
		f.recent = f.recent[1:]
	}
	if len(f.recent) >= f.MaxFailures {
		return 0, false
	}
	f.recent = append(f.recent, now)
	return f.Delay, true
}

func (f *failureRate) String() string {
	return fmt.Sprintf("restart-strategy.type is %s, and it allows %d failures in %s", FailureRate, f.MaxFailures, f.Interval)
}

// exponentialDelay restarts with growing delays. Failures during a delay belong to the failure that
// caused the delay: they use up no restart, and their regions restart at its end. So the delay does
// not grow because one fault hits many regions. It begins again with the initial delay if the job ran
// long enough without a failure.
type exponentialDelay struct {
	ExponentialDelaySettings
	jitter  jitter
	current time.Duration
	used    int       // restarts since the delay was the initial one
	last    time.Time // when the last delay ends
}

func (e *exponentialDelay) Restart(now time.Time) (time.Duration, bool) {
	if now.Before(e.last) {
		return e.last.Sub(now), true
	}
	if e.used > 0 && now.Sub(e.last) >= e.ResetThreshold {
		e.used = 0
	}
	if e.used >= e.Attempts {
		return 0, false
	}
	if e.used == 0 {
		e.current = e.Initial
	} else {
		grown := float64(e.current) * e.Multiplier
		e.current = time.Duration(math.Min(grown, float64(e.Max)))
	}
	e.used++
	delay := e.current + time.Duration(e.jitter.next()*e.JitterFactor*float64(e.current))
	delay = min(delay, e.Max)
	e.last = now.Add(delay)
	return delay, true
}

func (e *exponentialDelay) String() string {
	return fmt.Sprintf("restart-strategy.type is %s, and its %d restarts are used up", ExponentialDelay, e.Attempts)
}

// jitter is a stream of numbers from -1 to 1 that its seed determines (splitmix64), so a replay
// gives the same delays.
type jitter uint64

func (j *jitter) next() float64 {
	*j += 0x9e3779b97f4a7c15
	z := uint64(*j)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11)/(1<<52) - 1
}
