package actor

import (
	"context"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Question identifies, in an event, a caller of Ask that waits for an answer. It is plain
// data: a core may keep it and answer later. No caller waits for the zero Question.
type Question[R any] uint64

// Answer returns the effect that answers the question. Only the first answer counts. An
// answer is dropped if the caller no longer waits.
func (q Question[R]) Answer(answer R) Reply { return Reply{to: uint64(q), answer: answer} }

// Reply is an answer to a Question. A role's effects embed it, and the loop delivers it: the
// shell never sees it.
type Reply struct {
	to     uint64
	answer any
}

// To returns the number of the question, for tests and logs.
func (r Reply) To() uint64 { return r.to }

// Content returns the answer.
func (r Reply) Content() any { return r.answer }

func (r Reply) reply() Reply { return r }

// Ask makes an event from a question, posts it and waits for the answer. The error is
// ErrStopped if the loop ends without an answer, and ctx's cause if ctx ends first.
func Ask[R, E, F any](ctx context.Context, l *Loop[E, F], ask func(Question[R]) E) (R, error) {
	var none R
	number, waiting := l.replies.expect()
	defer l.replies.forget(number)
	if err := l.Post(ctx, ask(Question[R](number))); err != nil {
		return none, err
	}
	switch sched.First(ctx, waiting.answered, l.done) {
	case -1:
		return none, context.Cause(ctx)
	case 1:
		if !sched.Closed(waiting.answered) { // it may be from the loop's last step
			return none, ErrStopped
		}
	}
	return as[R](waiting.answer), nil
}

// as gives the answer its type. A nil answer becomes the zero value, such as a nil error.
func as[R any](answer any) R {
	r, _ := answer.(R)
	return r
}

// replies holds the questions whose callers wait. The zero value is ready.
type replies struct {
	mu      sync.Mutex // guards what follows
	last    uint64
	waiting map[uint64]*asker
}

// asker is a caller that waits.
type asker struct {
	answered chan struct{} // closed when answer is set
	answer   any
}

func (r *replies) expect() (uint64, *asker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = make(map[uint64]*asker)
	}
	r.last++
	waits := &asker{answered: make(chan struct{})}
	r.waiting[r.last] = waits
	return r.last, waits
}

func (r *replies) forget(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, number)
}

// resolve delivers the effect if it is an answer, and reports whether it is one.
func (r *replies) resolve(effect any) bool {
	answered, is := effect.(interface{ reply() Reply })
	if !is {
		return false
	}
	reply := answered.reply()
	r.mu.Lock()
	defer r.mu.Unlock()
	if waits := r.waiting[reply.to]; waits != nil {
		delete(r.waiting, reply.to)
		waits.answer = reply.answer
		close(waits.answered)
	}
	return true
}
