package appmaster

import (
	"context"
	"time"
)

// settleTime is how long after the end of a job its heap is returned, if no other job ends
// meanwhile. The next one has to fetch it anew from the system, some ms of work, so that jobs
// which follow each other are left alone.
const settleTime = 10 * time.Second

// settling returns heap that jobs have left to the system, in a session, which may be idle for
// hours beside other people's containers. Go by itself takes minutes for that. Make it with
// newSettling.
type settling struct {
	ended chan struct{} // has room for one; never closed
}

func newSettling() settling { return settling{make(chan struct{}, 1)} }

// jobEnded says that a job has ended; it does not block.
func (s settling) jobEnded() {
	select {
	case s.ended <- struct{}{}:
	default: // it has been said
	}
}

// run calls release, debug.FreeOSMemory but for tests, once after each series of jobs, until ctx
// ends.
func (s settling) run(ctx context.Context, release func()) {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	timer.Stop() // until a job has ended
	for {
		select {
		case <-s.ended:
			timer.Reset(settleTime)
		case <-timer.C:
			release()
		case <-ctx.Done():
			return
		}
	}
}
