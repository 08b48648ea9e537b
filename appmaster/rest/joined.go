package rest

import (
	"context"
	"fmt"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// errNobodyWaits ends the work for an answer that nobody waits for any more.
var errNobodyWaits = fmt.Errorf("%w: all who have asked have left", msg.ErrNotReady)

// joined makes one answer for all requests for the same thing that come while it is made. Only the first request does the work,
// and has the places that it needs. Its client may leave meanwhile: the others get their answer all the same. The work ends when all
// have left.
//
// The zero value is ready. Any goroutine may use it.
type joined struct {
	mu   sync.Mutex // guards open, and waiting of each joint
	open map[joinedKey]*joint
}

// joinedKey names what is asked for. Requests in different rooms are not joined: one room may be full and the other one not.
type joinedKey struct {
	room *answerRoom
	of   wantedFlames
}

// joint is an answer that is being made.
type joint struct {
	made    chan struct{}           // closed when it is made
	end     context.CancelCauseFunc // ends the work
	waiting int                     // requests whose clients have not left
	told    reply
	err     error
}

// answer returns the answer that compose makes, for this request or for an earlier one. compose gets a context that ends when nobody
// waits any more. The error is that of compose, or the cause of ctx.
func (j *joined) answer(ctx context.Context, key joinedKey, compose func(context.Context) (reply, error)) (reply, error) {
	one, work := j.join(ctx, key)
	if work == nil {
		select {
		case <-one.made:
			return one.told, one.err
		case <-ctx.Done():
			j.part(key, one)
			return reply{}, context.Cause(ctx)
		}
	}
	leaves := context.AfterFunc(ctx, func() { j.part(key, one) })
	defer func() { // also if compose panics
		leaves()
		j.finish(key, one)
	}()
	one.told, one.err = compose(work)
	return one.told, one.err
}

// join returns the answer that is being made. If there is none, the caller makes it: work is its context.
func (j *joined) join(ctx context.Context, key joinedKey) (one *joint, work context.Context) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if one := j.open[key]; one != nil {
		one.waiting++
		return one, nil
	}
	if j.open == nil {
		j.open = make(map[joinedKey]*joint)
	}
	work, end := context.WithCancelCause(context.WithoutCancel(ctx))
	one = &joint{made: make(chan struct{}), end: end, waiting: 1, err: errNoInquiry} // until it is made
	j.open[key] = one
	return one, work
}

// part notes that the client of a request has left.
func (j *joined) part(key joinedKey, one *joint) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if one.waiting--; one.waiting > 0 {
		return
	}
	one.end(errNobodyWaits)
	j.close(key, one)
}

// finish tells all that the answer is made.
func (j *joined) finish(key joinedKey, one *joint) {
	j.mu.Lock()
	defer j.mu.Unlock()
	one.end(nil)
	j.close(key, one)
	close(one.made)
}

// close lets later requests make an answer of their own.
func (j *joined) close(key joinedKey, one *joint) {
	if j.open[key] == one {
		delete(j.open, key)
	}
}
