package amrm

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"
)

// Pace says how often Heartbeats calls Allocate, and with which progress.
type Pace struct {
	// Busy is the time between two beats while containers are outstanding or changes
	// wait to be sent. 0: 100 ms.
	Busy time.Duration
	// Idle is the time between two beats otherwise. 0: 1 s. It must be well below
	// yarn.am.liveness-monitor.expiry-interval-ms, 15 min by default.
	Idle time.Duration
	// Progress is called at each beat and returns the application's progress, 0 to 1.
	// Nil: 0.
	Progress func() float32
}

// Heartbeats calls Allocate at a pace and yields the result of each call. It is the
// loop of an ApplicationMaster that waits for nothing else (AMRMClientAsync). The next
// beat sends the asks and releases of the loop's body. A slow body delays the next
// beat.
//
// The errors are those of Allocate. After most errors the next beat tries again; the
// body may leave the loop instead. Heartbeats ends by itself after ErrAttemptGone and
// after the end of ctx, which are the last errors that it yields.
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
