package rest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// answersMemory is what answers take where nobody says, in bytes.
	answersMemory = 16 << 20
	// smallAnswer is what the kernel takes of an answer at once, in bytes: it is in nobody's way.
	smallAnswer = 4 << 10
	// answerPart is written at a time, in bytes.
	answerPart = 8 << 10
	// stallTime is how long a reader may take to have the next part of an answer while others need its memory.
	stallTime = 100 * time.Millisecond
	// ownStallTime is that of users who have all rights. Their links may be slow, and take the next part only when
	// much of what the kernel holds is sent; a page of a result that is cut is read again from its beginning.
	ownStallTime = 5 * time.Second
	// maxLookups is how many answers of a room may ask HDFS at a time.
	maxLookups = 4
)

// These end the wait of an answer.
var (
	errNoRoom   = fmt.Errorf("%w: answers to other requests fill the memory for answers: ask again, or raise %s", msg.ErrNotReady, config.JobManagerProcessSize)
	errNoLookup = fmt.Errorf("%w: other requests for programs wait for HDFS, which answers slowly: ask again", msg.ErrNotReady)
)

// answerRooms divide the memory of answers: users who have all rights have a room for results and
// another one for all else, and all other users have the third. So users who may only look neither keep
// one who may do everything waiting nor have his answers cut; and he can look at his jobs while their
// results fill his link.
type answerRooms struct{ all, results, some *answerRoom }

// newAnswerRooms divides so much memory, in bytes; 0: answersMemory.
func newAnswerRooms(memory int64) answerRooms {
	if memory == 0 {
		memory = answersMemory
	}
	return answerRooms{
		all:     newAnswerRoom(memory/4, ownStallTime),
		results: newAnswerRoom(memory/2, ownStallTime),
		some:    newAnswerRoom(memory/4, stallTime),
	}
}

// answerRoom bounds the memory of all answers that are being written. Nobody knows how long a view will
// be. So one is composed at a time, and has the turn until there is room for it: no more than that one
// is there beyond the room. An answer that is no view, as a page of a result, is there before it waits
// for its turn.
//
// A client that reads slowly keeps its answer until the next one needs the room. Then the answer is cut
// of which nothing was taken for the longest time, and for the room's stall at least.
//
// Some answers are small, but HDFS is asked for them, with the connections of the whole process: they have
// places of their own, and no turn.
//
// Make one with newAnswerRoom; any goroutine may use it, by an answer of its own.
type answerRoom struct {
	most    int64 // bytes
	stall   time.Duration
	turn    chan struct{} // capacity one: holds a token while an answer has the turn
	lookups chan struct{} // capacity maxLookups: holds a token for each answer for which HDFS is asked
	freed   chan struct{} // has a token when room was freed since it was last drawn; the answer that has the turn draws it

	mu      sync.Mutex // guards what follows
	held    int64      // bytes of those that are written
	writing []*answer
}

func newAnswerRoom(most int64, stall time.Duration) *answerRoom {
	return &answerRoom{
		most: most, stall: stall,
		turn: make(chan struct{}, 1), lookups: make(chan struct{}, maxLookups), freed: make(chan struct{}, 1),
	}
}

// answer is that to one request. It waits for its turn; then, once it is composed, for room; then it
// is written, and leaves. Each of these may be left out. One goroutine calls its methods.
type answer struct {
	room  *answerRoom
	place chan struct{} // the room's turn, or its lookups, where a token is this answer's; or nil
	until time.Time     // when it gives up waiting; zero before it waits

	// Guarded by the room's mutex, while it is written:
	size  int64     // bytes
	moved time.Time // when its reader last took a part
	cut   func()    // ends its connection
}

// await waits for the turn, for budget.RoomTime at most. The error is the cause of ctx, or errNoRoom.
func (a *answer) await(ctx context.Context) error { return a.take(ctx, a.room.turn, errNoRoom) }

// lookUp waits until HDFS may be asked for the answer, as await does. The error is the cause of ctx, or
// errNoLookup.
func (a *answer) lookUp(ctx context.Context) error { return a.take(ctx, a.room.lookups, errNoLookup) }

// take waits for a place in the room's turn, or in its lookups, and gives the other one back. The error
// is the cause of ctx, or that none is left.
func (a *answer) take(ctx context.Context, place chan struct{}, none error) error {
	if a.place == place {
		return nil
	}
	a.pass()
	ctx, cancel := a.patience(ctx, none)
	defer cancel()
	select {
	case place <- struct{}{}:
		a.place = place
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter waits until there is room for so many bytes, from when it waited first for budget.RoomTime at most,
// and passes the turn on. One that is larger than the room is alone. cut ends its connection; nobody
// calls it after leave. The error is the cause of ctx, or errNoRoom.
func (a *answer) enter(ctx context.Context, size int, cut func()) error {
	if err := a.await(ctx); err != nil {
		return err
	}
	defer a.pass()
	a.size, a.cut = min(int64(size), a.room.most), cut
	ctx, cancel := a.patience(ctx, errNoRoom)
	defer cancel()
	for {
		wait := a.room.tryEnter(a)
		if wait == 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-a.room.freed:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
	}
}

// patience bounds all waiting of an answer, and says what ends it.
func (a *answer) patience(ctx context.Context, end error) (context.Context, context.CancelFunc) {
	if a.until.IsZero() {
		a.until = time.Now().Add(budget.RoomTime)
	}
	return context.WithDeadlineCause(ctx, a.until, end)
}

// pass gives its place to the next one, if it has one.
func (a *answer) pass() {
	if a.place != nil {
		<-a.place
		a.place = nil
	}
}

// progress notes that the reader has taken a part.
func (a *answer) progress() {
	a.room.mu.Lock()
	defer a.room.mu.Unlock()
	a.moved = time.Now()
}

// leave gives back all that the answer has, if it has anything.
func (a *answer) leave() {
	a.pass()
	a.room.mu.Lock()
	defer a.room.mu.Unlock()
	a.room.remove(a)
}

// tryEnter takes an answer in, and cuts those in its way; or it tells how long to wait at most.
func (r *answerRoom) tryEnter(one *answer) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for r.held+one.size > r.most {
		slowest := slices.MinFunc(r.writing, func(x, y *answer) int { return x.moved.Compare(y.moved) })
		if left := slowest.moved.Add(r.stall).Sub(now); left > 0 {
			return left
		}
		slowest.cut()
		r.remove(slowest)
	}
	r.held += one.size
	one.moved = now
	r.writing = append(r.writing, one)
	return 0
}

// remove forgets an answer, unless it was cut before.
func (r *answerRoom) remove(one *answer) {
	i := slices.Index(r.writing, one)
	if i < 0 {
		return
	}
	r.writing = slices.Delete(r.writing, i, i+1)
	r.held -= one.size
	select {
	case r.freed <- struct{}{}:
	default:
	}
}
