package rest

import (
	"context"
	"sync"
)

// joined makes one answer for all requests for the same thing that come while it is made. Only the first request does the work,
// and has the places that it needs. Its client may leave meanwhile: the others get their answer all the same.
//
// The zero value is ready. Any goroutine may use it.
type joined struct {
	mu   sync.Mutex // guards open
	open map[joinedKey]*joint
}

// joinedKey names what is asked for. Requests in different rooms are not joined: one room may be full and the other one not.
type joinedKey struct {
	room *answerRoom
	uri  string
}

// joint is an answer that is being made.
type joint struct {
	made chan struct{} // closed when it is made
	told reply
	err  error
}

// answer returns the answer that compose makes, for this request or for an earlier one. compose gets a context that does not end
// with a request. The error is that of compose, or the cause of ctx.
func (j *joined) answer(ctx context.Context, key joinedKey, compose func(context.Context) (reply, error)) (reply, error) {
	one, first := j.join(key)
	if !first {
		select {
		case <-one.made:
			return one.told, one.err
		case <-ctx.Done():
			return reply{}, context.Cause(ctx)
		}
	}
	defer j.leave(key, one) // also if compose panics
	one.told, one.err = compose(context.WithoutCancel(ctx))
	return one.told, one.err
}

func (j *joined) join(key joinedKey) (one *joint, first bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if one := j.open[key]; one != nil {
		return one, false
	}
	if j.open == nil {
		j.open = make(map[joinedKey]*joint)
	}
	one = &joint{made: make(chan struct{}), err: errNoInquiry} // until it is made
	j.open[key] = one
	return one, true
}

func (j *joined) leave(key joinedKey, one *joint) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.open, key)
	close(one.made)
}
