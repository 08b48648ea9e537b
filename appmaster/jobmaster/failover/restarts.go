package failover

import (
	"fmt"
	"time"
)

// The loss of a worker is seldom the job's doing. A job that makes its workers
// end, by the memory it takes, say, must come to an end all the same: a region
// is restarted for lost workers maxLosses times, unless lossMemory passes
// between two of them.
const (
	maxLosses  = 10
	lossMemory = time.Hour
)

// Restarts decides which failures of a job are followed by a restart.
type Restarts struct {
	strategy Strategy
	atOnce   bool            // the first restart of a region waits for nothing
	before   map[int]bool    // regions that were restarted for a failure that counts
	losses   map[int]*losses // of workers, by region
}

// losses counts the workers that a region lost in a row.
type losses struct {
	n    int
	last time.Time
}

// NewRestarts makes the restarts of one job. The seed is for jitter.
func NewRestarts(s Settings, seed uint64) *Restarts {
	return &Restarts{
		strategy: New(s, seed), atOnce: s.Type == FixedDelay,
		before: make(map[int]bool), losses: make(map[int]*losses),
	}
}

// WholeJob is the region of failures that concern no single one.
const WholeJob = -1

// Decision is what follows a root cause.
type Decision struct {
	Restart bool
	Delay   time.Duration
	// Exhausted says why there is no restart though the failure allows one, or
	// is "".
	Exhausted string
}

// Decide records the root cause of a region's failure and says what follows it.
// The loss of a worker is followed by a restart and uses up none of the
// strategy's, up to a limit of its own; so is the end of a host that its worker
// stops. WholeJob stands for all regions.
func (r *Restarts) Decide(now time.Time, root Cause, region int) Decision {
	switch {
	case root.Failure.Permanent:
		return Decision{}
	case root.Kind == WorkerLost, root.Kind == HostStopped:
		return r.workerLost(now, region)
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

func (r *Restarts) workerLost(now time.Time, region int) Decision {
	l := r.losses[region]
	if l == nil {
		l = &losses{}
		r.losses[region] = l
	}
	if now.Sub(l.last) >= lossMemory {
		l.n = 0
	}
	if l.n == maxLosses {
		return Decision{Exhausted: fmt.Sprintf("all %d restarts for lost workers are used up", maxLosses)}
	}
	l.n, l.last = l.n+1, now
	return Decision{Restart: true}
}
