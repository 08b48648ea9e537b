package appmaster

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// settleTime is the time from the end of a job to the return of its heap to the system, if no other job
// ends meanwhile. The next job must get memory from the system again, which takes some ms. So the heap
// stays while jobs follow each other.
const settleTime = 10 * time.Second

// settling returns the heap of ended jobs to the system. A session may be idle for hours beside other
// users' containers, and Go by itself takes minutes to return memory. Make it with newSettling.
type settling struct {
	ended chan struct{} // has room for one; never closed
}

func newSettling() settling { return settling{make(chan struct{}, 1)} }

// jobEnded notes that a job has ended. It does not block.
func (s settling) jobEnded() {
	select {
	case s.ended <- struct{}{}:
	default: // the note is there already
	}
}

// run calls release once after each series of jobs, until ctx ends. release is debug.FreeOSMemory, except
// in tests.
func (s settling) run(ctx context.Context, release func()) {
	var settled <-chan struct{} // nil until a job has ended
	stop := func() bool { return false }
	defer func() { stop() }()
	for {
		switch sched.First(ctx, s.ended, settled) {
		case 0:
			stop()
			settled, stop = sched.After(ctx, settleTime)
		case 1:
			settled = nil
			release()
		default:
			return
		}
	}
}
