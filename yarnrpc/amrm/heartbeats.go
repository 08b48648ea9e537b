package amrm

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"
)

// Pace says how often Heartbeats calls, and what it tells.
type Pace struct {
	// Busy is the time between two beats while containers are outstanding or something
	// waits to be sent. 0: 100 ms.
	Busy time.Duration
	// Idle is the time between two beats otherwise. 0: 1 s. It has to be well below
	// yarn.am.liveness-monitor.expiry-interval-ms, 15 min by default.
	Idle time.Duration
	// Progress is asked at each beat how far the application is, 0 to 1. Nil: 0.
	Progress func() float32
}

// Heartbeats calls Allocate at a pace and gives what each call brings: it is the
// loop of an ApplicationMaster that has nothing else to wait for (AMRMClientAsync).
// Asks and releases that its body makes go out with the next beat; a body that takes
// long delays that.
//
// Errors are those of Allocate, and after most of them the next beat is a new try: a
// body that does not want to go on leaves the loop. It ends by itself after
// ErrAttemptGone and the end of ctx, which are the last that it gives.
func (c *Client) Heartbeats(ctx context.Context, p Pace) iter.Seq2[Response, error] {
	busy, idle := cmp.Or(p.Busy, 100*time.Millisecond), cmp.Or(p.Idle, time.Second)
	return func(yield func(Response, error) bool) {
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
			case <-ctx.Done():
				yield(Response{}, context.Cause(ctx))
				return
			}
			var progress float32
			if p.Progress != nil {
				progress = p.Progress()
			}
			response, err := c.Allocate(ctx, progress)
			if !yield(response, err) || errors.Is(err, ErrAttemptGone) || err != nil && ctx.Err() != nil {
				return
			}
			if c.Changed() || c.core.wanting() {
				timer.Reset(busy)
			} else {
				timer.Reset(idle)
			}
		}
	}
}

// wanting reports whether containers are outstanding.
func (c *core) wanting() bool {
	for _, a := range c.asks.keys {
		if a.outstanding > 0 {
			return true
		}
	}
	for _, r := range c.requests.keys {
		if r.outstanding > 0 {
			return true
		}
	}
	return false
}
