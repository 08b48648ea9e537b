package rest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// answersMemory is the memory for answers if Config does not set it, in bytes.
	answersMemory = 16 << 20
	// smallAnswer is the size up to which the kernel takes an answer at once, in bytes: such an answer
	// delays nobody.
	smallAnswer = 4 << 10
	// answerPart is how much is written at a time, in bytes.
	answerPart = 8 << 10
	// stallTime is how long a reader may take to accept the next part of an answer while other answers need
	// its memory.
	stallTime = 100 * time.Millisecond
	// ownStallTime is the same time for users who have all rights. Their links may be slow, and accept the
	// next part only when much of the kernel's buffer is sent. A page of a result that is cut must be read
	// again from its beginning.
	ownStallTime = 5 * time.Second
	// maxLookups is how many answers of a room may ask HDFS or YARN at a time.
	maxLookups = 4
	// maxInquiring is how many answers of a room may ask processes at a time for what they have in memory, and how many for what is on
	// their disks. An answer has 512 KiB at most
	// (msg.MaxGoroutines), and takes some four times as much while it is composed.
	maxInquiring = 2
	// maxSampling is how many answers of a room may sample the tasks of a vertex at a time. A sampling holds the graphs of
	// sampledAtOnce hosts, of some 200 KiB each.
	maxSampling = 2
)

// errNoTurn ends the wait of an answer whose turn has not come in time.
var errNoTurn = fmt.Errorf("%w: the ApplicationMaster composes answers to other requests: ask again", msg.ErrNotReady)

// errNoLookup ends the wait of an answer that found no lookup in time.
var errNoLookup = fmt.Errorf("%w: other requests wait for HDFS or YARN, which answers slowly: ask again", msg.ErrNotReady)

// errNoInquiry ends the wait of an answer that could ask no process in time.
var errNoInquiry = fmt.Errorf("%w: other requests wait for the answers of workers: ask again", msg.ErrNotReady)

// answerRooms divide the memory of answers. Users who have all rights have one room for results and one for
// all other answers. All other users share the third room. So users who may only view neither delay a user
// with all rights nor cause his answers to be cut. And he can view his jobs while their results fill his
// link.
type answerRooms struct{ all, results, some *answerRoom }

// newAnswerRooms divides the given number of bytes; 0: answersMemory. raise is the option that gives more.
func newAnswerRooms(bytes int64, raise config.MemoryKey) answerRooms {
	if bytes == 0 {
		bytes = answersMemory
	}
	full := fmt.Errorf("%w: answers to other requests fill the memory for answers: ask again, or raise %s", msg.ErrNotReady, raise)
	return answerRooms{
		all:     newAnswerRoom(bytes/4, ownStallTime, full),
		results: newAnswerRoom(bytes/2, ownStallTime, full),
		some:    newAnswerRoom(bytes/4, stallTime, full),
	}
}

// answerRoom bounds the memory of all answers that are being written. The length of a view is unknown
// before it is composed. So only one view is composed at a time: it has the turn until there is room for
// it, and at most this one view is in memory beyond the room. Other answers, for example a page of a
// result, are in memory before they wait for their turn.
//
// A client that reads slowly keeps its answer until the next one needs the room. Then the room cuts the
// answer whose reader has taken nothing for the longest time, and for stall at least.
//
// Users who look at the same get the same body: it counts once. A large answer that is kept for the next user counts as one that has
// stalled: see largeAnswer.
//
// Some answers are small, but need HDFS, with the connections of the whole process, or YARN. Others come from a worker, which
// may be stopped. They have places of their own, and no turn: see inquiring for the workers.
//
// Make one with newAnswerRoom. Any goroutine may use it, through an answer of its own.
type answerRoom struct {
	most    int64 // bytes
	stall   time.Duration
	full    error         // of an answer that finds no room in time
	turn    chan struct{} // capacity 1: holds a token while an answer has the turn
	lookups chan struct{} // capacity maxLookups: holds a token for each answer that asks HDFS
	asking  *inquiring
	freed   chan struct{} // holds a token if room was freed since the last one was taken; the answer that has the turn takes it

	mu      sync.Mutex // guards what follows
	held    int64      // bytes of the answers in writing
	crowded bool       // the answer that has the turn waits for room
	writing []*answer
	bodies  map[*byte]int // how many of them share a body, which counts once
}

func newAnswerRoom(most int64, stall time.Duration, full error) *answerRoom {
	return &answerRoom{
		most: most, stall: stall, full: full,
		turn: make(chan struct{}, 1), lookups: make(chan struct{}, maxLookups), asking: newInquiring(), freed: make(chan struct{}, 1),
		bodies: make(map[*byte]int),
	}
}

// answer is the answer to one request. It waits for its turn. When it is composed, it waits for room. Then
// it is written, and leaves. Each step may be left out. One goroutine calls its methods.
type answer struct {
	room  *answerRoom
	place chan struct{} // the room's turn, lookups, or one of asking's places, whichever holds this answer's token; or nil
	asked *askedProcess // the process at which it has the turn; nil: none
	asks  time.Time     // since when it asks HDFS, YARN or a process; zero: it does not
	until time.Time     // when it gives up waiting; zero before it waits

	kept *largeAnswer // its body, if it is kept and does not count yet; or nil

	// Guarded by the room's mutex, while it is written:
	body  *byte     // the beginning of its body, which answers that are the same share; nil: it shares none
	size  int64     // bytes
	moved time.Time // when its reader last took a part
	cut   func()    // ends its connection
}

// await waits for the turn, at most until budget.RoomTime after the answer's first wait. The error is the
// cause of ctx, errNoTurn, or the room's full if the answer that has the turn finds no room.
func (a *answer) await(ctx context.Context) error {
	err := a.take(ctx, a.room.turn, errNoTurn)
	if errors.Is(err, errNoTurn) {
		a.room.mu.Lock()
		defer a.room.mu.Unlock()
		if a.room.crowded {
			return a.room.full
		}
	}
	return err
}

// lookUp waits until the answer may ask HDFS, as await does. The error is the cause of ctx, or errNoLookup.
func (a *answer) lookUp(ctx context.Context) error {
	if err := a.take(ctx, a.room.lookups, errNoLookup); err != nil {
		return err
	}
	a.asks = time.Now()
	return nil
}

// inquire waits until the answer may ask a process about what it has in memory or on its disk, as await does. The error is the cause of
// ctx, or errNoInquiry.
func (a *answer) inquire(ctx context.Context, process string, disk bool) error {
	if disk {
		return a.askAt(ctx, "disk of "+process, a.room.asking.disks)
	}
	return a.askAt(ctx, process, a.room.asking.places)
}

// sample waits until the answer may sample the tasks of a job, as await does. The error is the cause of ctx, or errNoInquiry.
func (a *answer) sample(ctx context.Context, job ids.JobID) error {
	return a.askAt(ctx, "tasks of job "+string(job), a.room.asking.samplings)
}

// askAt waits for the turn at what is asked, and then for one of the places.
func (a *answer) askAt(ctx context.Context, process string, places chan struct{}) error {
	a.pass()
	waiting, cancel := a.patience(ctx, errNoInquiry)
	defer cancel()
	turn, err := a.room.asking.wait(waiting, process)
	if err != nil {
		return err
	}
	if err := a.take(ctx, places, errNoInquiry); err != nil {
		turn.leave()
		return err
	}
	a.asked, a.asks = turn, time.Now()
	return nil
}

// take waits for one of the room's places, and gives back the one that it has. The error is the
// cause of ctx, or the parameter none if the answer has waited for too long. A place that is free is taken also then: what was
// composed for a long time is not thrown away.
func (a *answer) take(ctx context.Context, place chan struct{}, none error) error {
	if a.place == place {
		return nil
	}
	a.pass()
	select {
	case place <- struct{}{}:
		a.place = place
		return nil
	default:
	}
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

// enter waits until there is room for the given number of bytes, at most until budget.RoomTime after the
// answer's first wait, and passes the turn on. An answer that is larger than the room has the room alone.
// cut ends its connection; it is not called after leave. The error is the cause of ctx, errNoTurn, or the room's full.
func (a *answer) enter(ctx context.Context, size int, cut func()) error {
	if err := a.await(ctx); err != nil {
		return err
	}
	defer a.pass()
	a.size, a.cut = min(int64(size), a.room.most), cut
	ctx, cancel := a.patience(ctx, a.room.full)
	defer cancel()
	defer a.room.setCrowded(false) // before the turn is passed on
	for {
		wait := a.room.tryEnter(a)
		if wait == 0 {
			return nil
		}
		a.room.setCrowded(true)
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

// enterWith enters as enter does, with a body that other answers may have too. It is not empty.
func (a *answer) enterWith(ctx context.Context, body []byte, cut func()) error {
	a.body = &body[0]
	return a.enter(ctx, cap(body), cut)
}

// patience bounds all waiting of an answer, without the time in which it asks others. end is the cause when the time is over.
func (a *answer) patience(ctx context.Context, end error) (context.Context, context.CancelFunc) {
	if a.until.IsZero() {
		a.until = time.Now().Add(budget.RoomTime)
	}
	return context.WithDeadlineCause(ctx, a.until, end)
}

// pass gives the answer's places to the next ones, if it has places.
func (a *answer) pass() {
	if a.place != nil {
		<-a.place
		a.place = nil
	}
	if a.asked != nil {
		a.asked.leave()
		a.asked = nil
	}
	if !a.asks.IsZero() {
		if !a.until.IsZero() {
			a.until = a.until.Add(time.Since(a.asks))
		}
		a.asks = time.Time{}
	}
}

// progress notes that the reader has taken a part. It reports whether the answer has its room still: otherwise it was
// cut.
func (a *answer) progress() bool {
	a.room.mu.Lock()
	defer a.room.mu.Unlock()
	a.moved = time.Now()
	return slices.Contains(a.room.writing, a)
}

// vacate gives back the memory that the answer holds.
func (a *answer) vacate() {
	a.room.mu.Lock()
	defer a.room.mu.Unlock()
	a.room.remove(a)
}

// leave gives back everything that the answer holds.
func (a *answer) leave() {
	a.pass()
	if a.kept != nil { // it has not entered: nothing counts the body
		a.kept.leave()
	}
	a.vacate()
}

// setCrowded notes whether the answer that has the turn waits for room.
func (r *answerRoom) setCrowded(waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crowded = waits
}

// tryEnter adds an answer to the room, and cuts those that have stalled. If there is no room, it returns
// how long to wait at most.
func (r *answerRoom) tryEnter(one *answer) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for r.bodies[one.body] == 0 && r.held+one.size > r.most {
		slowest := slices.MinFunc(r.writing, func(x, y *answer) int { return x.moved.Compare(y.moved) })
		if left := slowest.moved.Add(r.stall).Sub(now); left > 0 {
			return left
		}
		slowest.cut()
		r.remove(slowest)
	}
	one.moved = now
	r.add(one)
	if kept := one.kept; kept != nil && kept.told.Load() != nil {
		// It has never moved, so that it is the first one to be cut.
		kept.counts.size, kept.counts.body, kept.counts.cut = one.size, one.body, kept.leave
		r.add(kept.counts)
	}
	one.kept = nil
	return 0
}

// add adds an answer for which there is room.
func (r *answerRoom) add(one *answer) {
	r.writing = append(r.writing, one)
	if one.body != nil {
		if r.bodies[one.body]++; r.bodies[one.body] > 1 {
			return
		}
	}
	r.held += one.size
}

// remove removes an answer, unless it was cut before.
func (r *answerRoom) remove(one *answer) {
	i := slices.Index(r.writing, one)
	if i < 0 {
		return
	}
	r.writing = slices.Delete(r.writing, i, i+1)
	if one.body != nil {
		if r.bodies[one.body]--; r.bodies[one.body] > 0 {
			return
		}
		delete(r.bodies, one.body)
	}
	r.held -= one.size
	select {
	case r.freed <- struct{}{}:
	default:
	}
}
