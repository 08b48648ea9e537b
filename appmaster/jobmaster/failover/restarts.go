package failover

import (
	"fmt"
	"time"
)

// The job seldom causes the loss of a worker. But a job may make its workers end, for example by
// its use of memory, and must fail in the end. So a region restarts at most maxLosses times for
// lost workers, unless lossMemory passes between two losses.
const (
	maxLosses  = 10
	lossMemory = time.Hour
)

// Restarts decides which failures of a job lead to a restart.
type Restarts struct {
	strategy Strategy
	atOnce   bool            // the first restart of a region has no delay
	before   map[int]bool    // regions that restarted for a failure that uses up a restart
	losses   map[int]*losses // of workers, by region
}

// losses counts the workers that a region lost in a row.
type losses struct {
	n    int
	last time.Time
}

// NewRestarts makes the Restarts of one job. The seed is for jitter.
func NewRestarts(s Settings, seed uint64) *Restarts {
	return &Restarts{
		strategy: New(s, seed), atOnce: s.Type == FixedDelay,
		before: make(map[int]bool), losses: make(map[int]*losses),
	}
}

// WholeJob stands for all regions, for failures of the job as a whole.
const WholeJob = -1

// Decision is the answer to a root cause.
type Decision struct {
	Restart bool
	Delay   time.Duration
	// Exhausted says why no restart follows though a restart could help, or is "".
	Exhausted string
}

// Decide records the root cause of a region's failure and decides about the restart. The loss of a
// worker, or a host that its worker stops, uses up no restart of the strategy; these restarts have
// a limit of their own. A full worker uses up none and has no limit: the job sets its node aside.
func (r *Restarts) Decide(now time.Time, root Cause, region int) Decision {
	switch {
	case root.Failure.Permanent:
		return Decision{}
	case root.Kind == WorkerLost, root.Kind == HostStopped:
		return r.workerLost(now, region)
	case root.Kind == HostFull:
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
