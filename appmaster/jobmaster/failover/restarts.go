package failover

import "time"

// Restarts decides which failures of a job are followed by a restart.
type Restarts struct {
	strategy Strategy
	atOnce   bool         // the first restart of a region waits for nothing
	before   map[int]bool // regions that were restarted for a failure that counts
}

// NewRestarts makes the restarts of one job. The seed is for jitter.
func NewRestarts(s Settings, seed uint64) *Restarts {
	return &Restarts{strategy: New(s, seed), atOnce: s.Type == FixedDelay, before: make(map[int]bool)}
}

// Decision is what follows a root cause.
type Decision struct {
	Restart bool
	Delay   time.Duration
	// Exhausted says why there is no restart though the failure allows one, or
	// is "".
	Exhausted string
}

// Decide records the root cause of a region's failure and says what follows it.
// The loss of a worker is always followed by a restart and uses up none.
func (r *Restarts) Decide(now time.Time, root Cause, region int) Decision {
	switch {
	case root.Failure.Permanent:
		return Decision{}
	case root.Kind == WorkerLost:
		return Decision{Restart: true}
	}
	delay, again := r.strategy.Restart(now)
	if !again {
		return Decision{Exhausted: r.strategy.String()}
	}
	if r.atOnce && !r.before[region] {
		delay = 0
	}
	r.before[region] = true
	return Decision{Restart: true, Delay: delay}
}
