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
	// maxComposed bounds the views that are composed at once. Each takes as much memory as it is long, and as much
	// again for what it is made of.
	maxComposed = 16
)

// answerRoom bounds the memory of all answers that are being written. Whoever reads slowly keeps his until somebody else
// needs the room: then those are cut who have taken nothing for the longest time, and for stallTime at least. Make one
// with newAnswerRoom; its methods may be called from any goroutine.
type answerRoom struct {
	most      int64         // bytes
	composing chan struct{} // a place for each view that is composed

	mu      sync.Mutex // guards what follows, and the moved of all in writing
	held    int64      // bytes
	writing []*written
	freed   chan struct{} // closed when there may be room, and then replaced
}

// written is an answer that is being written.
type written struct {
	size  int64
	moved time.Time // when its reader last took something
	cut   func()    // ends its connection
}

// newAnswerRoom divides so much memory, in bytes; 0: answersMemory.
func newAnswerRoom(memory int64) *answerRoom {
	if memory == 0 {
		memory = answersMemory
	}
	return &answerRoom{most: memory, composing: make(chan struct{}, maxComposed), freed: make(chan struct{})}
}

// compose waits for a place among those that compose views. done gives it back. The error is the cause of ctx, or wraps
// msg.ErrNotReady.
func (a *answerRoom) compose(ctx context.Context) (done func(), err error) {
	timer := time.NewTimer(roomTime)
	defer timer.Stop()
	select {
	case a.composing <- struct{}{}:
		return func() { <-a.composing }, nil
	case <-timer.C:
		return nil, fmt.Errorf("%w: too many others look at the cluster: ask again", msg.ErrNotReady)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// hold waits for room for an answer, of which there is some soon, as others are cut for it. One that is larger than all
// room is alone. The error is the cause of ctx.
func (a *answerRoom) hold(ctx context.Context, size int, cut func()) (*written, error) {
	w := &written{size: min(int64(size), a.most), cut: cut}
	for {
		freed, wait := a.enter(w)
		if freed == nil {
			return w, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-freed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// enter takes an answer in, and cuts who is in its way. Else it tells until when to wait, and how long at most.
func (a *answerRoom) enter(w *written) (freed <-chan struct{}, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for a.held+w.size > a.most {
		slowest := slices.MinFunc(a.writing, func(a, b *written) int { return a.moved.Compare(b.moved) })
		if wait = stallTime - now.Sub(slowest.moved); wait > 0 {
			return a.freed, wait
		}
		slowest.cut()
		a.remove(slowest)
	}
	w.moved = now
	a.held += w.size
	a.writing = append(a.writing, w)
	return nil, 0
}

// progress notes that a reader has taken something.
func (a *answerRoom) progress(w *written) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.moved = time.Now()
}

// leave gives the room of an answer back. Its connection is not cut from then on.
func (a *answerRoom) leave(w *written) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(w)
}

// remove is leave for who has the lock. Whoever was cut is gone already.
func (a *answerRoom) remove(w *written) {
	i := slices.Index(a.writing, w)
	if i < 0 {
		return
	}
	a.writing = slices.Delete(a.writing, i, i+1)
	a.held -= w.size
	close(a.freed)
	a.freed = make(chan struct{})
}

// write writes a body, which counts until its reader has it. The error is that of the connection, or the cause of ctx.
func (a *answerRoom) write(ctx context.Context, w http.ResponseWriter, status int, body []byte, composed func()) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if len(body) <= smallAnswer {
		composed()
		w.WriteHeader(status)
		_, err := w.Write(body)
		return err
	}
	control := http.NewResponseController(w)
	held, err := a.hold(ctx, cap(body), func() { _ = control.SetWriteDeadline(time.Now()) })
	composed()
	if err != nil {
		return err
	}
	defer a.leave(held)
	w.WriteHeader(status)
	for part := range slices.Chunk(body, answerPart) {
		if _, err := w.Write(part); err != nil {
			return err
		}
		a.progress(held)
	}
	return nil
}
