package ha_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// life is what the masters of an application do, one after the other. A new one goes on where the last one has ended.
func life() []write {
	return []write{
		{"authority", func(ctx context.Context, s ha.Store) error { return s.SetAuthority(ctx, []byte("key")) }},
		{"publish", func(ctx context.Context, s ha.Store) error { return s.Publish(ctx, "host:1", []byte("access")) }},
		{"job a", func(ctx context.Context, s ha.Store) error { return s.AddJob(ctx, jobA, job("a")) }},
		{"job b", func(ctx context.Context, s ha.Store) error { return s.AddJob(ctx, jobB, job("b")) }},
		{"cancel b", func(ctx context.Context, s ha.Store) error { return s.Cancel(ctx, jobB) }},
		{"commit a", func(ctx context.Context, s ha.Store) error { return s.AddCommit(ctx, jobA, 1, []byte("winners")) }},
		{"finish commit a", func(ctx context.Context, s ha.Store) error { return s.FinishCommit(ctx, jobA, 1) }},
		{"result a", func(ctx context.Context, s ha.Store) error {
			return s.AddResult(ctx, jobA, msg.JobFinished, []byte("a"))
		}},
		{"remove a", func(ctx context.Context, s ha.Store) error { return s.RemoveJob(ctx, jobA) }},
		{"result b", func(ctx context.Context, s ha.Store) error { return s.AddResult(ctx, jobB, msg.JobCanceled, nil) }},
		{"remove b", func(ctx context.Context, s ha.Store) error { return s.RemoveJob(ctx, jobB) }},
		{"forget a", func(ctx context.Context, s ha.Store) error { return s.RemoveResult(ctx, jobA) }},
		{"job a again", func(ctx context.Context, s ha.Store) error { return s.AddJob(ctx, jobA, job("again")) }},
		{"publish another address", func(ctx context.Context, s ha.Store) error { return s.Publish(ctx, "host:2", []byte("other")) }},
		{"stop", func(ctx context.Context, s ha.Store) error { return s.Stop(ctx) }},
		{"end", func(ctx context.Context, s ha.Store) error { return s.End(ctx, end) }},
		{"remove", func(ctx context.Context, s ha.Store) error { return s.Remove(ctx) }},
	}
}

var end = ha.Outcome{Status: msg.ApplicationSucceeded, Diagnostics: "well"}

// story is a run of a life.
type story struct {
	t    *testing.T
	w    *world
	name string
	ops  []write
	most int // changes that an attempt makes; 0: all
	done int // changes that were answered
	// leading is the epoch of the attempt that was started last.
	leading ids.Epoch
	// want is what is stored after each number of changes. nil: the story finds it out.
	want []content
	got  []content
	// zombies are processes that were frozen. They wake up after a number of changes.
	zombies []*engine.Process
	wake    int
}

func (s *story) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s: %s", s.name, fmt.Sprintf(format, args...))
}

// ends is the number of the change that ends the application.
func (s *story) ends() int { return len(s.ops) - 2 }

// attempt leads, checks what it finds, and goes on. An attempt that was frozen and wakes up when another one leads must not
// change anything any more.
func (s *story) attempt(ctx context.Context, files *dfsmodel.FileSystem, epoch ids.Epoch) {
	term, err := attempt(files, home, epoch).Lead(ctx)
	switch {
	case s.leading > epoch:
		s.outlived(ctx, term, epoch, err)
		return
	case class(err) == "nothing" && s.done > s.ends():
		s.done = len(s.ops) // the answer to the removal was lost
		return
	case err != nil:
		s.errorf("attempt %d after %d changes: %v", epoch, s.done, err)
		return
	case term.Outcome != nil:
		if *term.Outcome != end || s.done < s.ends() {
			s.errorf("attempt %d after %d changes finds the end %+v", epoch, s.done, *term.Outcome)
		}
		s.done = max(s.done, s.ends()+1)
	case s.want != nil && !s.finds(ctx, term, epoch, s.done, min(s.done+1, len(s.want)-1)): // the last change may have happened without an answer
		return
	}
	if left := s.w.temporary(); term.Outcome == nil && len(left) > 0 {
		s.errorf("attempt %d leaves %q", epoch, left)
	}
	for first := s.done; s.done < len(s.ops) && (s.most == 0 || s.done < first+s.most); {
		if s.done <= s.ends() && !s.finds(ctx, term, epoch, s.done, s.done) {
			return
		}
		op := s.ops[s.done]
		err := op.do(ctx, term.Store)
		if s.leading > epoch {
			s.outlived(ctx, term, epoch, err)
			return
		}
		if err != nil {
			s.errorf("%s by attempt %d after %d changes: %v", op.what, epoch, s.done, err)
			return
		}
		if s.done++; s.done == s.wake {
			s.w.After(0, nil, func() { s.w.thaw(s.zombies...) })
		}
	}
}

// finds checks what is stored: the state after either number of changes. In a first run it notes the state. It returns false
// if the attempt must not go on.
func (s *story) finds(ctx context.Context, term ha.Term, epoch ids.Epoch, changes, orChanges int) bool {
	if s.want != nil && changes == orChanges && changes < s.ends() {
		return true // it costs many calls
	}
	found, err := read(ctx, term.Store)
	switch {
	case s.leading > epoch:
		s.outlived(ctx, term, epoch, err)
		return false
	case err == nil && s.want == nil:
		s.got = append(s.got, found)
	case err != nil || !cmp.Equal(found, s.want[changes]) && !cmp.Equal(found, s.want[orChanges]):
		s.errorf("attempt %d after %d changes (-want +got):\n%s\nerror %v", epoch, changes, cmp.Diff(s.want[changes], found), err)
	}
	return true
}

// outlived checks that an attempt whose last call was answered too late can do nothing.
func (s *story) outlived(ctx context.Context, term ha.Term, epoch ids.Epoch, err error) {
	if err != nil && !fenced(err) {
		s.errorf("attempt %d wakes up in a call: %v", epoch, err)
	}
	if term.Store == nil {
		return
	}
	for _, w := range append(reads(), writes()...) {
		if err := w.do(ctx, term.Store); !fenced(err) && !(err == nil && w.what == "remove" && len(s.w.tree()) == 0) {
			s.errorf("%s by attempt %d, which has woken up: %v", w.what, epoch, err)
		}
	}
}

func fenced(err error) bool { return class(err) == "superseded" || class(err) == "nothing" }

// run runs attempts until the life is at its end. pause is the time between two attempts.
func (s *story) run(pause time.Duration) {
	for epoch := ids.Epoch(1); s.done < len(s.ops) && epoch < 10; epoch++ {
		s.leading = epoch
		p := s.w.process(fmt.Sprint("attempt ", epoch), func(ctx context.Context, files *dfsmodel.FileSystem) { s.attempt(ctx, files, epoch) })
		for p.Alive() && !p.Frozen() && s.w.Step() {
		}
		if p.Frozen() {
			s.zombies = append(s.zombies, p)
		}
		next := false
		s.w.After(pause, nil, func() { next = true })
		for !next && s.w.Step() {
		}
	}
	s.leading++
	s.w.thaw(s.zombies...)
	s.w.run(s.t)
	if s.done < len(s.ops) {
		s.errorf("it stops after %d changes", s.done)
	}
	if left := s.w.tree(); len(left) > 0 {
		s.errorf("left at the end: %q", left)
	}
}

// undisturbed returns what is stored after each number of changes.
func undisturbed(t *testing.T) []content {
	t.Helper()
	s := &story{t: t, w: newWorld(t, 1), name: "undisturbed", ops: life()}
	s.run(0)
	if len(s.got) != len(life())-1 {
		t.Fatalf("an undisturbed life has %d states", len(s.got))
	}
	return s.got
}

// The n-th call of a life meets each fate, for each n. The test would catch a change that is lost or made twice because its
// answer was lost, a leader that takes its own rename for another one's, an accepted job that a killed master takes with it,
// a job that comes back after its removal because a call is executed late, and a master that changes something when it
// wakes up.
func TestEachCallIsLostLateOrTheLast(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	type schedule struct {
		fate   fate
		lateBy time.Duration
		pause  time.Duration
		most   int
		wake   int
	}
	for _, c := range []schedule{
		{fate: lost},
		{fate: unheard},
		{fate: late, lateBy: 1005 * time.Millisecond}, // when its caller tries again
		{fate: late, lateBy: 1102 * time.Millisecond}, // between its look and its next try
		{fate: late, lateBy: 1150 * time.Millisecond},
		{fate: late, lateBy: time.Minute}, // when all is over
		{fate: killed},
		{fate: killed, pause: time.Hour},
		{fate: deaf},
		{fate: frozen},
		{fate: held},
		{fate: frozen, wake: 10},
		{fate: held, wake: 10},
		{fate: lost, most: 4},
		{fate: unheard, most: 4},
		{fate: late, most: 4, lateBy: 1150 * time.Millisecond},
		{fate: late, most: 4, lateBy: time.Minute, pause: 2 * time.Minute},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			for n, more := 0, true; more; n++ {
				w := newWorld(t, uint64(n))
				w.lateBy = c.lateBy
				s := &story{t: t, w: w, name: fmt.Sprintf("call %d is %v", n, c.fate), ops: life(), want: want, most: c.most, wake: c.wake}
				more = false
				w.fate = func(number int, _ string, op dfsmodel.Operation) fate {
					if number != n {
						return answered
					}
					more = true
					s.name += " (" + op.String() + ")"
					return c.fate
				}
				s.run(c.pause)
				w.Close()
			}
		})
	}
}
