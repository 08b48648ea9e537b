package ha_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

const (
	jobA ids.JobID = "0a000000000000000000000000000000"
	jobB ids.JobID = "0b000000000000000000000000000000"
	jobC ids.JobID = "0c000000000000000000000000000000"
)

func job(text string) ha.Job { return ha.Job{Graph: []byte(text), Submitted: []byte("by " + text)} }

// The test would catch a backend that loses or changes what it was given, that lets a second answer take the place of the
// first one, or that keeps what was removed.
func TestAStoreKeepsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	onBackends(t, func(ctx context.Context, b *backend) {
		s := b.lead(ctx, 1).Store
		_, err := s.Authority(ctx)
		b.is("not exist", "an authority that was not stored", err)
		b.is("", "the authority", s.SetAuthority(ctx, []byte("key")))
		b.is("", "the same authority", s.SetAuthority(ctx, []byte("key")))
		b.is("exist", "another authority", s.SetAuthority(ctx, []byte("other")))

		b.is("", "a job", s.AddJob(ctx, jobB, job("b")))
		b.is("", "a job before it", s.AddJob(ctx, jobA, job("a")))
		b.is("", "an empty job", s.AddJob(ctx, jobC, ha.Job{}))
		b.is("", "a job that is there", s.AddJob(ctx, jobA, job("another")))
		b.is("", "a cancellation", s.Cancel(ctx, jobB))
		b.is("", "a second one", s.Cancel(ctx, jobB))
		b.is("not exist", "one of an unknown job", s.Cancel(ctx, "ffff"))
		b.is("", "a commit", s.AddCommit(ctx, jobA, 3, []byte("three")))
		b.is("", "the same commit", s.AddCommit(ctx, jobA, 3, []byte("three")))
		b.is("exist", "a commit with other winners", s.AddCommit(ctx, jobA, 3, []byte("others")))
		b.is("", "a commit of another region", s.AddCommit(ctx, jobA, 0, nil))
		b.is("not exist", "a commit of an unknown job", s.AddCommit(ctx, "ffff", 0, nil))
		b.is("", "a finished commit", s.FinishCommit(ctx, jobA, 3))
		b.is("", "the same", s.FinishCommit(ctx, jobA, 3))
		b.is("not exist", "one of an unknown job", s.FinishCommit(ctx, "ffff", 0))

		b.is("", "a result", s.AddResult(ctx, jobB, msg.JobCanceled, []byte("ended")))
		b.is("", "the same result", s.AddResult(ctx, jobB, msg.JobCanceled, []byte("ended")))
		b.is("", "a result with another status", s.AddResult(ctx, jobB, msg.JobFinished, []byte("other")))
		b.is("", "a result of a job that was never stored", s.AddResult(ctx, "0", msg.JobFailed, nil))

		want := content{
			Authority: "key",
			Jobs:      []ha.JobEntry{{ID: jobA, Committed: true}, {ID: jobB, Cancelled: true}, {ID: jobC}},
			Graphs:    map[ids.JobID]string{jobA: "a by a", jobB: "b by b", jobC: " "},
			Commits:   map[ids.JobID]map[int]string{jobA: {0: "", 3: "three, finished"}},
			Results:   []ha.ResultEntry{{ID: "0", Status: msg.JobFailed}, {ID: jobB, Status: msg.JobCanceled}},
			Bodies:    map[ids.JobID]string{"0": "", jobB: "ended"},
		}
		if diff := cmp.Diff(want, b.read(ctx, s)); diff != "" {
			t.Errorf("what is stored (-want +got):\n%s", diff)
		}
		next := b.lead(ctx, 3).Store
		if diff := cmp.Diff(want, b.read(ctx, next)); diff != "" {
			t.Errorf("what the next leader finds (-want +got):\n%s", diff)
		}

		for range 2 {
			b.is("", "removal of a job", next.RemoveJob(ctx, jobA))
			b.is("", "removal of a result", next.RemoveResult(ctx, jobB))
		}
		_, err = next.Job(ctx, jobA)
		b.is("not exist", "a removed job", err)
		_, err = next.Commits(ctx, jobA)
		b.is("not exist", "its commits", err)
		_, err = next.Result(ctx, jobB)
		b.is("not exist", "a removed result", err)
		b.is("", "a removed job that comes again", next.AddJob(ctx, jobA, job("again")))
		want.Jobs = []ha.JobEntry{{ID: jobA}, {ID: jobB, Cancelled: true}, {ID: jobC}}
		want.Graphs[jobA] = "again by again"
		delete(want.Commits, jobA)
		delete(want.Bodies, jobB)
		want.Results = want.Results[:1]
		if diff := cmp.Diff(want, b.read(ctx, next)); diff != "" {
			t.Errorf("what is left (-want +got):\n%s", diff)
		}
	})
}

// The test would catch an id that names a place outside its directory, or a result that is not read again.
func TestAStoreRefusesWhatItCouldNotName(t *testing.T) {
	t.Parallel()
	onBackends(t, func(ctx context.Context, b *backend) {
		s := b.lead(ctx, 1).Store
		before := b.tree()
		for _, id := range []ids.JobID{"", ".", "..", "a/b", "../a", ".hidden", "a.FINISHED", "a b", ids.JobID(strings.Repeat("a", 200))} {
			b.is("other", "a job", s.AddJob(ctx, id, job("x")))
			b.is("other", "a cancellation", s.Cancel(ctx, id))
			b.is("other", "a commit", s.AddCommit(ctx, id, 0, nil))
			b.is("other", "a finished commit", s.FinishCommit(ctx, id, 0))
			b.is("other", "a result", s.AddResult(ctx, id, msg.JobFinished, nil))
			b.is("other", "a removal", s.RemoveJob(ctx, id))
			b.is("other", "a removal of a result", s.RemoveResult(ctx, id))
			_, err := s.Job(ctx, id)
			b.is("other", "reading", err)
			_, err = s.Commits(ctx, id)
			b.is("other", "reading commits", err)
			_, err = s.Result(ctx, id)
			b.is("other", "reading a result", err)
		}
		b.is("other", "a region below 0", s.AddCommit(ctx, jobA, -1, nil))
		b.is("other", "a finished region below 0", s.FinishCommit(ctx, jobA, -1))
		b.is("other", "the result of a running job", s.AddResult(ctx, jobA, msg.JobRunning, nil))
		for _, address := range []string{"", "host", "host:", ":1", "host:70000", "host:0", "host:http", strings.Repeat("h", 300) + ":1"} {
			b.is("other", "an address", s.Publish(ctx, address, nil))
		}
		if diff := cmp.Diff(before, b.tree()); diff != "" {
			t.Errorf("what was refused has changed (-before +after):\n%s", diff)
		}
	})
}

// write is a change that an attempt makes.
type write struct {
	what string
	do   func(ctx context.Context, s ha.Store) error
}

// writes are all kinds of changes.
func writes() []write {
	return []write{
		{"authority", func(ctx context.Context, s ha.Store) error { return s.SetAuthority(ctx, []byte("late")) }},
		{"publish", func(ctx context.Context, s ha.Store) error { return s.Publish(ctx, "late:1", []byte("late")) }},
		{"job", func(ctx context.Context, s ha.Store) error { return s.AddJob(ctx, "1a7e", job("late")) }},
		{"job that is there", func(ctx context.Context, s ha.Store) error { return s.AddJob(ctx, jobA, job("late")) }},
		{"cancel", func(ctx context.Context, s ha.Store) error { return s.Cancel(ctx, jobA) }},
		{"commit", func(ctx context.Context, s ha.Store) error { return s.AddCommit(ctx, jobA, 7, []byte("late")) }},
		{"finish commit", func(ctx context.Context, s ha.Store) error { return s.FinishCommit(ctx, jobA, 1) }},
		{"remove job", func(ctx context.Context, s ha.Store) error { return s.RemoveJob(ctx, jobA) }},
		{"remove no job", func(ctx context.Context, s ha.Store) error { return s.RemoveJob(ctx, "1a7e") }},
		{"result", func(ctx context.Context, s ha.Store) error {
			return s.AddResult(ctx, jobA, msg.JobFailed, []byte("late"))
		}},
		{"result that is there", func(ctx context.Context, s ha.Store) error {
			return s.AddResult(ctx, jobB, msg.JobFailed, []byte("late"))
		}},
		{"remove result", func(ctx context.Context, s ha.Store) error { return s.RemoveResult(ctx, jobB) }},
		{"remove no result", func(ctx context.Context, s ha.Store) error { return s.RemoveResult(ctx, "1a7e") }},
		{"stop", func(ctx context.Context, s ha.Store) error { return s.Stop(ctx) }},
		{"end", func(ctx context.Context, s ha.Store) error {
			return s.End(ctx, ha.Outcome{Status: msg.ApplicationFailed})
		}},
		{"remove", func(ctx context.Context, s ha.Store) error { return s.Remove(ctx) }},
	}
}

// reads are all kinds of reading.
func reads() []write {
	return []write{
		{"authority", func(ctx context.Context, s ha.Store) error { _, err := s.Authority(ctx); return err }},
		{"stopped", func(ctx context.Context, s ha.Store) error { _, err := s.Stopped(ctx); return err }},
		{"jobs", func(ctx context.Context, s ha.Store) error { _, err := s.Jobs(ctx); return err }},
		{"job", func(ctx context.Context, s ha.Store) error { _, err := s.Job(ctx, jobA); return err }},
		{"commits", func(ctx context.Context, s ha.Store) error { _, err := s.Commits(ctx, jobA); return err }},
		{"results", func(ctx context.Context, s ha.Store) error { _, err := s.Results(ctx); return err }},
		{"head", func(ctx context.Context, s ha.Store) error { _, err := s.ResultHead(ctx, jobB, 1); return err }},
		{"result", func(ctx context.Context, s ha.Store) error { _, err := s.Result(ctx, jobB); return err }},
	}
}

// fill stores something of each kind.
func (b *backend) fill(ctx context.Context, s ha.Store) {
	b.Helper()
	b.is("", "authority", s.SetAuthority(ctx, []byte("key")))
	b.is("", "job", s.AddJob(ctx, jobA, job("a")))
	b.is("", "commit", s.AddCommit(ctx, jobA, 1, []byte("one")))
	b.is("", "result", s.AddResult(ctx, jobB, msg.JobFinished, []byte("b")))
	b.is("", "address", s.Publish(ctx, "host:1", []byte("access")))
}

// The test would catch an attempt that changes or reads anything after another one leads: a job that is accepted twice, a
// result in the place of a job that runs, an end of an application that goes on.
func TestAReplacedAttemptChangesNothing(t *testing.T) {
	t.Parallel()
	onBackends(t, func(ctx context.Context, b *backend) {
		old := b.lead(ctx, 1).Store
		b.fill(ctx, old)
		s := b.lead(ctx, 2).Store
		b.is("", "publish", s.Publish(ctx, "new:2", []byte("new access")))
		want, tree := b.read(ctx, s), b.tree()
		for _, w := range append(writes(), reads()...) {
			b.is("superseded", w.what, w.do(ctx, old))
			if diff := cmp.Diff(tree, b.tree()); diff != "" {
				t.Errorf("%s of a replaced attempt (-before +after):\n%s", w.what, diff)
			}
		}
		_, err := b.attempt(1).Lead(ctx)
		b.is("superseded", "lead again", err)
		b.is("superseded", "confirm", b.attempt(1).Confirm(ctx))
		b.is("", "confirm the leader", b.attempt(2).Confirm(ctx))
		b.is("", "confirm the next one", b.attempt(3).Confirm(ctx))
		if diff := cmp.Diff(want, b.read(ctx, s)); diff != "" {
			t.Errorf("what the leader reads (-before +after):\n%s", diff)
		}
		if leader, err := b.Leader(ctx); err != nil || leader != (ha.Leader{Epoch: 2, Address: "new:2"}) {
			t.Errorf("the leader is %+v, %v", leader, err)
		}
	})
}

// The test would catch an application that runs again after its end, or ends in two ways.
func TestTheEndIsTheEnd(t *testing.T) {
	t.Parallel()
	onBackends(t, func(ctx context.Context, b *backend) {
		s := b.lead(ctx, 1).Store
		b.fill(ctx, s)
		jobs, err := s.Jobs(ctx)
		b.is("", "the jobs", err)
		want := ha.Outcome{Status: msg.ApplicationSucceeded, Diagnostics: "all is \"well\"\n"}
		b.is("", "the end", s.End(ctx, want))
		b.is("", "the end again", s.End(ctx, ha.Outcome{Status: msg.ApplicationFailed}))
		_, err = b.Leader(ctx)
		b.is("ended", "the leader", err)
		tree := b.tree()
		for _, w := range append(writes(), reads()...) {
			if w.what != "end" && w.what != "remove" {
				b.is("ended", w.what, w.do(ctx, s))
			}
		}
		if diff := cmp.Diff(tree, b.tree()); diff != "" {
			t.Errorf("after the end (-before +after):\n%s", diff)
		}
		for epoch := ids.Epoch(2); epoch < 4; epoch++ {
			term := b.lead(ctx, epoch)
			if diff := cmp.Diff(&want, term.Outcome); diff != "" {
				t.Errorf("attempt %d finds another end (-want +got):\n%s", epoch, diff)
			}
			b.is("superseded", "the end by the first attempt", s.End(ctx, ha.Outcome{Status: msg.ApplicationFailed}))
			b.is("superseded", "removal by the first attempt", s.Remove(ctx))
			b.is("ended", "a job after the end", term.Store.AddJob(ctx, jobC, job("c")))
			left, err := term.Left.Jobs(ctx)
			if diff := cmp.Diff(jobs, left); err != nil || diff != "" {
				t.Errorf("attempt %d finds other jobs, error %v (-want +got):\n%s", epoch, err, diff)
			}
			for _, e := range left {
				_, err := term.Left.Job(ctx, e.ID)
				b.is("", "a job that is left", err)
			}
			_, err = term.Left.Job(ctx, jobC)
			b.is("not exist", "a job that was never there", err)
			s = term.Store
		}
		b.is("", "removal", s.Remove(ctx))
		b.is("", "removal again", s.Remove(ctx))
		if left := b.tree(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		_, err = b.attempt(4).Lead(ctx)
		b.is("nothing", "an attempt after the removal", err)
		b.is("nothing", "confirm after the removal", b.attempt(4).Confirm(ctx))
		b.is("nothing", "a job after the removal", s.AddJob(ctx, jobC, job("c")))
		_, err = b.Leader(ctx)
		b.is("nothing", "the leader after the removal", err)
	})
}

// The test would catch a worker that is sent to a master that was replaced, and a host whose name is not read again.
func TestTheAddressIsThatOfTheLeader(t *testing.T) {
	t.Parallel()
	onBackends(t, func(ctx context.Context, b *backend) {
		look := func(want ha.Leader, class string) {
			t.Helper()
			got, err := b.Leader(ctx)
			b.is(class, "leader", err)
			if got != want {
				t.Errorf("the leader is %+v, want %+v", got, want)
			}
		}
		look(ha.Leader{}, "replacing")
		epoch := ids.Epoch(0)
		for _, addresses := range [][]string{{"node-1.example-org:39001", "10.0.0.1:1"}, {"[2001:db8::1%eth0]:65535", "a_b:7"}, {"host%3A:8"}} {
			epoch += 2
			s := b.lead(ctx, epoch).Store
			look(ha.Leader{}, "replacing")
			for _, address := range addresses {
				b.is("", "publish", s.Publish(ctx, address, []byte(address)))
				look(ha.Leader{Epoch: epoch, Address: address}, "")
				b.is("", "publish again", s.Publish(ctx, address, []byte(address)))
				look(ha.Leader{Epoch: epoch, Address: address}, "")
			}
		}
	})
}

// The test would catch a leader that takes itself, or an attempt that has published nothing, for the last leader, and a time that
// belongs to another one, such as the first.
func TestALeaderKnowsTheLastOne(t *testing.T) {
	t.Parallel()
	onBackends(t, func(ctx context.Context, b *backend) {
		var began time.Time
		lead := func(epoch ids.Epoch, want ha.Leader, since bool) ha.Store {
			t.Helper()
			term := b.lead(ctx, epoch)
			if diff := cmp.Diff(want, term.Last.Leader); diff != "" {
				t.Errorf("attempt %d: the last leader (-want +got):\n%s", epoch, diff)
			}
			if at := term.Last.Since; since && (at.Before(began.Truncate(time.Second)) || at.After(sched.Now(ctx))) || !since && !at.IsZero() {
				t.Errorf("attempt %d: the last one leads since %s, want a time after %s: %t", epoch, at, began, since)
			}
			return term.Store
		}
		publish := func(s ha.Store, address string) {
			t.Helper()
			began = sched.Now(ctx)
			b.is("", "publish", s.Publish(ctx, address, nil))
		}
		s := lead(1, ha.Leader{}, false)
		publish(s, "n1:1")
		publish(lead(1, ha.Leader{}, false), "n1:1") // its process has started again
		publish(lead(10, ha.Leader{Epoch: 1, Address: "n1:1"}, true), "[::1]:3")
		last := lead(11, ha.Leader{Epoch: 10, Address: "[::1]:3"}, true)
		b.is("", "the end", last.End(ctx, ha.Outcome{Status: msg.ApplicationFailed}))
		lead(12, ha.Leader{}, false)
	})
}

// The test would catch a leader that takes the access file of an attempt that has published no address for that of the last leader.
func TestTheTimeOfALeaderIsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.process("all", func(ctx context.Context, files *dfsmodel.FileSystem) {
		lead := func(epoch ids.Epoch) ha.Term {
			term, err := attempt(files, home, epoch).Lead(ctx)
			if err != nil {
				t.Error(err)
			}
			return term
		}
		if err := lead(1).Store.Publish(ctx, "n1:1", nil); err != nil {
			t.Error(err)
		}
		lead(2)
		if last := lead(3).Last; last.Epoch != 1 || !last.Since.IsZero() {
			t.Errorf("the last leader is %+v, want attempt 1 without a time", last)
		}
	})
	w.run(t)
}

// The test would catch an attempt that starts again, as YARN may let it, and loses what it has stored, or cannot lead.
func TestAnAttemptMayStartAgain(t *testing.T) {
	t.Parallel()
	onBackends(t, func(ctx context.Context, b *backend) {
		s := b.lead(ctx, 2).Store
		b.fill(ctx, s)
		want := b.read(ctx, s)
		again := b.lead(ctx, 2).Store
		if diff := cmp.Diff(want, b.read(ctx, again)); diff != "" {
			t.Errorf("what it finds (-want +got):\n%s", diff)
		}
		b.is("", "a job", again.AddJob(ctx, jobC, job("c")))
		b.is("", "the end", again.End(ctx, ha.Outcome{Status: msg.ApplicationCanceled}))
		if term := b.lead(ctx, 2); term.Outcome == nil || term.Outcome.Status != msg.ApplicationCanceled {
			t.Errorf("after the end it finds %+v", term.Outcome)
		}
	})
}
