package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// answersMemory is what answers take where nobody says, in bytes.
	answersMemory = 16 << 20
	// smallAnswer is what the kernel takes of an answer at once, in bytes: it is in nobody's way.
	smallAnswer = 4 << 10
	// answerPart is written at a time, in bytes.
	answerPart = 32 << 10
	// stallTime is how long a reader may take nothing of an answer while others need its memory.
	stallTime = 100 * time.Millisecond
	// maxComposed bounds the views that are composed at once for those who may only look, and for all others.
	maxComposed = 4
	// viewCost is how much memory a view takes at most while it is composed, in its lengths: for what it is made of, for
	// JSON's encoder, and for itself.
	viewCost = 4
)

// answerRoom bounds the memory of all answers that are being composed or written. Nobody knows how long a view will be:
// until it is there, it counts as one of the longest that there was, and as a share of the room at least, so that few are
// composed before that is known. Whoever reads slowly keeps his answer until somebody else needs the room: then those are
// cut who have taken nothing for the longest time, and for stallTime at least.
//
// Who has all rights does not wait for those who may only look: his views have places of their own, and one of his
// answers at a time gets in though there is no room. Make one with newAnswerRoom; its methods may be called from any
// goroutine.
type answerRoom struct {
	most int64 // bytes
	// Places for views that are composed: of all, and of those whose readers have all rights.
	common, firsts chan struct{}

	mu      sync.Mutex // guards what follows, and of each answer what its type says
	held    int64      // bytes
	longest int64      // of the views so far, in bytes
	writing []*answer
	beyond  *answer       // got in though there was no room; or nil
	freed   chan struct{} // closed when there may be room, and then replaced
}

// answer is one that counts, or waits until it does.
type answer struct {
	first bool // its reader has all rights

	// Guarded by the room's mutex:
	size   int64         // bytes
	counts bool          // they are held
	place  chan struct{} // of a view that is not composed yet: it is given back then
	moved  time.Time     // when its reader last took something
	cut    func()        // ends its connection
}

// newAnswerRoom divides so much memory, in bytes; 0: answersMemory.
func newAnswerRoom(memory int64) *answerRoom {
	if memory == 0 {
		memory = answersMemory
	}
	return &answerRoom{
		most: memory, common: make(chan struct{}, maxComposed), firsts: make(chan struct{}, maxComposed),
		freed: make(chan struct{}),
	}
}

// compose waits until a view may be composed, up to roomTime. It counts until leave. The error is the cause of ctx, or
// wraps msg.ErrNotReady.
func (a *answerRoom) compose(ctx context.Context, first bool) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, roomTime, fmt.Errorf("%w: too many others look at the cluster: ask again", msg.ErrNotReady))
	defer cancel()
	view := &answer{first: first, place: a.common}
	if first {
		view.place = a.firsts
	}
	select {
	case view.place <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := a.wait(ctx, view); err != nil {
		<-view.place
		return nil, err
	}
	return view, nil
}

// hold waits for room for an answer, of which there is some soon, as others are cut for it. One that is larger than all
// room is alone. The error is the cause of ctx.
func (a *answerRoom) hold(ctx context.Context, size int, first bool, cut func()) (*answer, error) {
	one := &answer{first: first, size: min(int64(size), a.most), cut: cut}
	return one, a.wait(ctx, one)
}

// wait waits until there is room. The error is the cause of ctx.
func (a *answerRoom) wait(ctx context.Context, one *answer) error {
	for {
		freed, wait := a.enter(one)
		if freed == nil {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-freed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
	}
}

// enter takes an answer in, and cuts who is in its way. Else it tells until when to wait, and how long at most.
func (a *answerRoom) enter(one *answer) (freed <-chan struct{}, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if one.place != nil {
		one.size = min(max(viewCost*a.longest, a.most/maxComposed), a.most)
	}
	for a.held+one.size > a.most {
		slowest, left := a.slowest(now)
		if left <= 0 {
			slowest.cut()
			a.remove(slowest)
			continue
		}
		if !one.first || a.beyond != nil {
			return a.freed, left
		}
		a.beyond = one
		break
	}
	one.counts = true
	a.held += one.size
	if one.place == nil {
		one.moved = now
		a.writing = append(a.writing, one)
	}
	return nil, 0
}

// slowest is the answer whose reader has taken nothing for the longest time, and how long he may go on so. If there is
// none, there is none to be cut within that time.
func (a *answerRoom) slowest(now time.Time) (*answer, time.Duration) {
	if len(a.writing) == 0 {
		return nil, stallTime
	}
	slowest := slices.MinFunc(a.writing, func(a, b *answer) int { return a.moved.Compare(b.moved) })
	return slowest, stallTime - now.Sub(slowest.moved)
}

// written says that a view is composed, how long it is, and that it is written from now on. It counts as that, and does
// not wait if it is longer than was foreseen.
func (a *answerRoom) written(view *answer, size int, cut func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	length := min(int64(size), a.most)
	a.longest = max(a.longest, length)
	a.held += length - view.size
	<-view.place
	view.size, view.place, view.moved, view.cut = length, nil, time.Now(), cut
	a.writing = append(a.writing, view)
	a.wake()
}

// progress notes that a reader has taken something.
func (a *answerRoom) progress(one *answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one.moved = time.Now()
}

// leave gives the room of an answer back, if that is not done. Its connection is not cut from then on.
func (a *answerRoom) leave(one *answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(one)
}

// remove is leave for who has the lock. Whoever was cut is gone already.
func (a *answerRoom) remove(one *answer) {
	if !one.counts {
		return
	}
	one.counts = false
	a.held -= one.size
	if one.place != nil {
		<-one.place
	}
	if i := slices.Index(a.writing, one); i >= 0 {
		a.writing = slices.Delete(a.writing, i, i+1)
	}
	if a.beyond == one {
		a.beyond = nil
	}
	a.wake()
}

// wake has those look again who wait.
func (a *answerRoom) wake() {
	close(a.freed)
	a.freed = make(chan struct{})
}

// write writes a body, which counts until its reader has it. one is a view that counts already, or nil. The error is that
// of the connection, or the cause of ctx.
func (a *answerRoom) write(ctx context.Context, w http.ResponseWriter, r reply, first bool, one *answer) (err error) {
	w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	if len(r.body) <= smallAnswer {
		if one != nil {
			a.leave(one)
		}
		w.WriteHeader(r.status)
		_, err := w.Write(r.body)
		return err
	}
	control := http.NewResponseController(w)
	cut := func() { _ = control.SetWriteDeadline(time.Now()) }
	if one != nil {
		a.written(one, cap(r.body), cut)
	} else if one, err = a.hold(ctx, cap(r.body), first, cut); err != nil {
		return err
	}
	defer a.leave(one)
	w.WriteHeader(r.status)
	for part := range slices.Chunk(r.body, answerPart) {
		if _, err := w.Write(part); err != nil {
			return err
		}
		a.progress(one)
	}
	return nil
}
