package appmaster

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestHeapIsReturnedOnceJobsHaveSettled would catch a session that returns its heap after each job, or
// again and again while no job runs, and a session that never returns it.
func TestHeapIsReturnedOnceJobsHaveSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := newSettling()
		var running sync.WaitGroup
		var released atomic.Int32
		running.Go(func() { s.run(ctx, func() { released.Add(1) }) })
		after := func(pause time.Duration, want int32) {
			t.Helper()
			time.Sleep(pause)
			synctest.Wait()
			if got := released.Load(); got != want {
				t.Errorf("heap was returned %d times, want %d", got, want)
			}
		}
		after(time.Hour, 0) // no job yet
		for range 5 {
			s.jobEnded()
			s.jobEnded() // two at once
			after(settleTime-time.Second, 0)
		}
		after(time.Second, 1)
		after(time.Hour, 1)
		s.jobEnded()
		after(settleTime, 2)
		stop()
		running.Wait()
	})
}
