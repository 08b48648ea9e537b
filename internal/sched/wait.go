package sched

import (
	"context"
	"time"
)

// Until stands before a channel operation that may block. ready says that the operation would not
// block now; it must change nothing. Under a Scheduler, Until waits for that. In a process it
// returns at once, because the operation itself waits.
func Until(ctx context.Context, ready func() bool) {
	if s := of(ctx); s != nil {
		s.Wait(ready)
	}
}

// First waits until it can receive from one of the channels, and returns the channel's index: the
// lowest, if there are several. It returns -1 if ctx ends before. A channel either gets closed or
// has a buffer. There may be up to three; nil never delivers.
func First(ctx context.Context, channels ...<-chan struct{}) int {
	var three [3]<-chan struct{}
	if copy(three[:], channels) < len(channels) {
		panic("sched.First takes up to three channels")
	}
	if s := of(ctx); s != nil {
		s.Wait(func() bool { return ctx.Err() != nil || anyReady(channels) })
	}
	for i, c := range channels {
		select {
		case <-c:
			return i
		default:
		}
	}
	select {
	case <-three[0]:
		return 0
	case <-three[1]:
		return 1
	case <-three[2]:
		return 2
	case <-ctx.Done():
		return -1
	}
}

// anyReady reports whether a receive from one of the channels would succeed. It receives nothing:
// from a channel without waiting elements, one can receive only if it is closed.
func anyReady(channels []<-chan struct{}) bool {
	for _, c := range channels {
		if len(c) > 0 || Closed(c) {
			return true
		}
	}
	return false
}

// Closed reports whether a channel that carries nothing is closed.
func Closed(c <-chan struct{}) bool {
	if len(c) > 0 {
		return false
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Receive waits for an element of a channel that has a buffer and is never closed. The error is ctx's cause if ctx
// ends before. An element that is there counts more than the end of ctx: a select would draw lots.
func Receive[T any](ctx context.Context, from <-chan T) (element T, err error) {
	Until(ctx, func() bool { return len(from) > 0 || ctx.Err() != nil })
	select {
	case element = <-from:
		return element, nil
	default:
	}
	select {
	case element = <-from:
		return element, nil
	case <-ctx.Done():
		return element, context.Cause(ctx)
	}
}

// Send waits for room in a channel with a buffer. The error is ctx's cause if ctx ends before. Room that is
// there counts more than the end of ctx.
func Send[T any](ctx context.Context, to chan<- T, element T) error {
	Until(ctx, func() bool { return len(to) < cap(to) || ctx.Err() != nil })
	select {
	case to <- element:
		return nil
	default:
	}
	select {
	case to <- element:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Sleep waits for a time. The error is ctx's cause if ctx ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := NewTimer(ctx, d)
	defer timer.Stop()
	_, err := Receive(ctx, timer.C)
	return err
}
