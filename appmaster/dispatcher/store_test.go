package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// slowStore is a Store whose HDFS takes time, is away or belongs to another master.
type slowStore struct {
	inMemory
	takes       time.Duration // for each call
	from, until time.Time     // HDFS is away in this time
	err         error         // of each call
	calls       atomic.Int32  // at the same time
	most        atomic.Int32
}

func (s *slowStore) wait(ctx context.Context) error {
	for now, most := s.calls.Add(1), s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	defer s.calls.Add(-1)
	takes := s.takes
	if now := time.Now(); now.After(s.from) {
		takes = max(takes, s.until.Sub(now))
	}
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *slowStore) AddJob(ctx context.Context, job ids.JobID, j ha.Job) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.inMemory.Store.AddJob(ctx, job, j)
}

func (s *slowStore) AddResult(ctx context.Context, job ids.JobID, status msg.JobStatus, body []byte) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.inMemory.Store.AddResult(ctx, job, status, body)
}

func (s *slowStore) Job(ctx context.Context, job ids.JobID) (ha.Job, error) {
	if err := s.wait(ctx); err != nil {
		return ha.Job{}, err
	}
	return s.inMemory.Store.Job(ctx, job)
}

func (s *slowStore) Result(ctx context.Context, job ids.JobID) ([]byte, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.inMemory.Store.Result(ctx, job)
}

func (s *slowStore) ResultHead(ctx context.Context, job ids.JobID, most int64) ([]byte, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.inMemory.Store.ResultHead(ctx, job, most)
}

// runOver starts a master of an epoch over a store. die ends it, and returns what Run returned.
func runOver(t *testing.T, mode Mode, epoch ids.Epoch, store Store, start Starter) (d *Dispatcher, die func() error) {
	t.Helper()
	return beside{store: store, start: start, discard: keepOutputs}.run(t, mode, epoch)
}

// keepOutputs is a Discarder of jobs without output.
func keepOutputs(context.Context, ids.JobID, msg.JobStatus) {}

// beside is what a master works with.
type beside struct {
	store   Store
	start   Starter
	discard Discarder
	archive Archiver // nil: jobs are not archived
}

// run starts a master of an epoch. die ends it, and returns what Run returned.
func (b beside) run(t *testing.T, mode Mode, epoch ids.Epoch) (d *Dispatcher, die func() error) {
	t.Helper()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	c := configured(mode)
	c.Epoch, c.IDs, c.Archives = epoch, "0123456789abcdef", b.archive != nil
	d = New(c, b.store, b.start, b.discard, logger)
	d.ArchiveBy(b.archive)
	left, err := ReadStore(t.Context(), b.store)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Recover(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return d, func() error {
		cancel()
		return <-done
	}
}

// TestACancelledJobDoesNotWaitForItsOutput would catch a job that cannot be cancelled while its output is on an HDFS that is
// away.
func TestACancelledJobDoesNotWaitForItsOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, die := runOver(t, Session, 1, newMemory(t).Store, func(ctx context.Context, _ StartJobMaster) (JobMaster, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if err := d.Submit(t.Context(), Submission{Job: "j1", Graph: graph()}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := d.CancelJob(t.Context(), "j1"); err != nil {
			t.Fatal(err)
		}
		if end, err := d.JobResult(t.Context(), "j1", time.Minute); err != nil || end.Status != msg.JobCanceled {
			t.Errorf("the job is %s, error %v", end.Status, err)
		}
		_ = die()
	})
}

// TestAStopAndACancellationNeedNoDataNode would catch users who cannot end a job or a session while HDFS takes no content;
// and a master that runs the jobs of a session whose stop an earlier one has answered.
func TestAStopAndACancellationNeedNoDataNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{inMemory: newMemory(t), from: time.Now().Add(time.Second), until: time.Now().Add(10 * time.Minute)}
		d, die := runOver(t, Session, 1, store, newFakeMaster)
		for _, id := range []ids.JobID{"stays", "cancelled"} {
			if err := d.Submit(t.Context(), Submission{Job: id, Graph: graph()}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		answers := make(chan error, atOnce)
		for i := range atOnce {
			go func() {
				answers <- d.Submit(t.Context(), Submission{Job: ids.JobID(fmt.Sprint("j", i)), Graph: graph()})
			}()
		}
		synctest.Wait()
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.CancelJob(soon, "cancelled"); err != nil {
			t.Errorf("cancel: %v", err)
		}
		if err := d.ShutDown(soon); err != nil {
			t.Errorf("stop: %v", err)
		}
		if err := die(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		for range atOnce {
			if err := <-answers; !errors.Is(err, msg.ErrEnding) && !errors.Is(err, actor.ErrStopped) {
				t.Errorf("a job that is not stored: %v", err)
			}
		}
		store.until = time.Now()
		next, dieToo := runOver(t, Session, 2, store, func(context.Context, StartJobMaster) (JobMaster, error) {
			t.Error("a job runs again")
			return nil, errors.New("stopped")
		})
		if outcome, err := next.Outcome(t.Context()); err != nil || outcome.Status != msg.ApplicationSucceeded {
			t.Errorf("the next master: %+v, %v", outcome, err)
		}
		if err := dieToo(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// fullStore has no room for results of more than so many bytes.
type fullStore struct {
	inMemory
	room atomic.Int64
	why  error
}

func (s *fullStore) AddResult(ctx context.Context, job ids.JobID, status msg.JobStatus, body []byte) error {
	if int64(len(body)) > s.room.Load() {
		return s.why
	}
	return s.inMemory.Store.AddResult(ctx, job, status, body)
}

// TestAResultThatIsRefusedHasAReason would catch a job that runs for ever after its end, and nobody learns why.
func TestAResultThatIsRefusedHasAReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fullStore{inMemory: newMemory(t), why: filesystem.ErrQuota}
		d, die := runOver(t, Session, 1, store, newFakeMaster)
		if err := d.Submit(t.Context(), Submission{Job: "broken", Graph: graph()}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		running, err := d.JobDetails(t.Context(), "broken")
		if err != nil || running.Status.GloballyTerminal() || len(running.Exceptions) != 1 || !strings.Contains(running.Exceptions[0].Failure.Message, filesystem.ErrQuota.Error()) {
			t.Errorf("its result is not stored: %+v, error %v", running, err)
		}
		if err := d.CancelJob(t.Context(), "broken"); !errors.Is(err, msg.ErrNotReady) || !errors.Is(err, filesystem.ErrQuota) {
			t.Errorf("cancel: %v", err)
		}
		store.room.Store(1 << 20)
		time.Sleep(retryTime)
		synctest.Wait()
		if ended, err := d.JobDetails(t.Context(), "broken"); err != nil || ended.Status != msg.JobFailed || len(ended.Exceptions) != 1 || ended.Exceptions[0].Failure.Message == running.Exceptions[0].Failure.Message {
			t.Errorf("its result is stored: %+v, error %v", ended, err)
		}
		if err := die(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestAJobWithoutAResultMakesRoomForItsEnd would catch a job that has filled a quota with its output, and never ends because
// its end cannot be stored; and output that is removed before the end of its job is stored, although there is room: the next
// master would need it.
func TestAJobWithoutAResultMakesRoomForItsEnd(t *testing.T) {
	t.Parallel()
	for _, why := range []error{filesystem.ErrQuota, errors.New("HDFS refuses")} {
		synctest.Test(t, func(t *testing.T) {
			store := &fullStore{inMemory: newMemory(t), why: why}
			var discarded atomic.Int32
			d, die := beside{store: store, start: newFakeMaster, discard: func(_ context.Context, _ ids.JobID, status msg.JobStatus) {
				if status != msg.JobFailed {
					t.Errorf("the output of a job that is %s is removed", status)
				}
				discarded.Add(1)
				store.room.Store(1 << 20)
			}}.run(t, Session, 1)
			if err := d.Submit(t.Context(), Submission{Job: "broken", Graph: graph()}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			ended, err := d.JobDetails(t.Context(), "broken")
			if full := errors.Is(why, filesystem.ErrQuota); err != nil || (ended.Status == msg.JobFailed) != full || (discarded.Load() > 0) != full {
				t.Errorf("%v: the job is %s, error %v; its output was removed %d times", why, ended.Status, err, discarded.Load())
			}
			if err := die(); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// TestRemovalsHoldUpNoOthers would catch a session that accepts no jobs while the outputs of its jobs are on an HDFS that is
// away.
func TestRemovalsHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, die := beside{
			store: newMemory(t).Store, start: newFakeMaster,
			discard: func(ctx context.Context, _ ids.JobID, _ msg.JobStatus) { <-ctx.Done() },
		}.run(t, Session, 1)
		for i := range 3 * atOnce {
			job := Submission{Job: ids.JobID(fmt.Sprintf("broken%d", i)), Graph: graph()}
			soon, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := d.Submit(soon, job); err != nil {
				t.Errorf("job %d: %v", i, err)
			}
			cancel()
			synctest.Wait()
		}
		if err := die(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestASubmissionWaitsForTheStore would catch a client that is told of a job which may be lost, a job that is listed or runs
// before it is stored, and a store that is asked too much at once.
func TestASubmissionWaitsForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{inMemory: newMemory(t), takes: time.Minute}
		d, die := runOver(t, Session, 1, store, newFakeMaster)
		begin, jobs := time.Now(), 2*atOnce
		answers := make(chan error, jobs)
		for i := range jobs {
			go func() {
				answers <- d.Submit(t.Context(), Submission{Job: ids.JobID(fmt.Sprintf("j%d", i)), Graph: graph()})
			}()
		}
		time.Sleep(time.Second)
		if listed, err := d.Jobs(t.Context()); err != nil || len(listed) > 0 {
			t.Errorf("%d jobs are listed before they are stored, error %v", len(listed), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.Submit(ctx, Submission{Job: "j0", Graph: graph()}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the client leaves: error %v", err)
		}
		if err := d.Submit(t.Context(), Submission{Job: "j0", Graph: graph()}); !errors.Is(err, msg.ErrJobExists) {
			t.Errorf("again: error %v", err)
		}
		for range jobs {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if spent := time.Since(begin); spent != 2*time.Minute || store.most.Load() != atOnce {
			t.Errorf("%d jobs take %s, %d at once", jobs, spent, store.most.Load())
		}
		if listed, err := d.Unfinished(t.Context()); err != nil || len(listed) != jobs {
			t.Errorf("%d jobs run, error %v", len(listed), err)
		}
		if err := die(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestAJobEndsWhileHDFSIsAway would catch a client that waits longer than it asked for, or that is told of an end that may
// be lost, and a page that makes the client forget what it has read.
func TestAJobEndsWhileHDFSIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{inMemory: newMemory(t), from: time.Now().Add(time.Second), until: time.Now().Add(time.Hour + 10*time.Minute)}
		d, die := runOver(t, Session, 3, store, newFakeMaster)
		submit(t, d, "j1")
		submit(t, d, "lost")
		large := graph()
		large.Name = "large"
		if err := d.Submit(t.Context(), Submission{Job: "broken", Graph: large}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + time.Minute) // j1 has ended
		begin := time.Now()
		passed := func(want time.Duration) {
			t.Helper()
			if got := time.Since(begin); got != want {
				t.Errorf("after %s, want %s", got, want)
			}
		}
		for job, want := range map[ids.JobID]msg.JobStatus{"j1": msg.JobRunning, "broken": msg.JobInitializing, "lost": msg.JobFailing} {
			r, err := d.JobResult(t.Context(), job, 40*time.Second)
			if err != nil || r.Status != want {
				t.Errorf("%s is %s, want %s, error %v", job, r.Status, want, err)
			}
		}
		passed(2 * time.Minute)
		cursor := int64(3)<<47 + 5
		page, err := d.CollectPage(t.Context(), "j1", "top", cursor, time.Minute)
		if err != nil || page.Epoch != 3<<20 || page.Next != cursor || len(page.Records) > 0 || page.End {
			t.Errorf("page %+v, error %v", page, err)
		}
		passed(3 * time.Minute)
		jobs, err := d.Jobs(t.Context())
		if err != nil || len(jobs) != 3 || jobs[0].Status != msg.JobRunning {
			t.Errorf("jobs %+v, error %v", jobs, err)
		}
		passed(3 * time.Minute)
		if r, err := d.JobResult(t.Context(), "j1", time.Hour); err != nil || r.Status != msg.JobFinished {
			t.Errorf("result %+v, error %v", r, err)
		}
		passed(9 * time.Minute)
		if err := die(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestALaterMasterEndsThisOne would catch a master that continues, or that fails jobs, when another one leads. It may learn
// that from its own change, from a JobMaster, and when it makes one.
func TestALaterMasterEndsThisOne(t *testing.T) {
	t.Parallel()
	superseded := fmt.Errorf("write: %w", ha.ErrSuperseded)
	for name, test := range map[string]struct {
		store *slowStore
		start Starter
		want  error
	}{
		"the store says so":      {&slowStore{err: superseded}, newFakeMaster, ha.ErrSuperseded},
		"no JobMaster is made":   {&slowStore{}, func(context.Context, StartJobMaster) (JobMaster, error) { return nil, superseded }, ha.ErrSuperseded},
		"everything was removed": {&slowStore{err: ha.ErrNothing}, newFakeMaster, ha.ErrNothing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				test.store.inMemory = newMemory(t)
				d, die := runOver(t, Session, 1, test.store, test.start)
				_ = d.Submit(t.Context(), Submission{Job: "j1", Graph: graph()})
				synctest.Wait()
				if err := die(); !errors.Is(err, test.want) {
					t.Errorf("run: %v, want %v", err, test.want)
				}
				if test.store.result("j1") != "" {
					t.Error("the job of another master has ended")
				}
			})
		})
	}
}

// TestTheNextMasterGoesOn would catch a job that does not run again, or without its commit records; a client that cannot go
// on to read where it was; and an end that is requested from one master, and of which the next one knows nothing.
func TestTheNextMasterGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outlives := ha.NewMemory()
		store := leading(t, outlives, 1)
		d, die := runOver(t, Session, 1, store, newFakeMaster)
		submit(t, d, "ends")
		if r, err := d.JobResult(t.Context(), "ends", 2*time.Hour); err != nil || r.Status != msg.JobFinished {
			t.Fatalf("result %+v, error %v", r, err)
		}
		submit(t, d, "goes-on")
		submit(t, d, "is-cancelled")
		if err := store.AddCommit(t.Context(), "goes-on", 4, []byte("winners")); err != nil {
			t.Fatal(err)
		}
		page, err := d.CollectPage(t.Context(), "ends", "top", 0, 0)
		if err != nil || string(page.Records) != "abc" {
			t.Fatalf("page %+v, error %v", page, err)
		}
		_ = die()
		if err := store.Cancel(t.Context(), "is-cancelled"); err != nil { // of which nobody was told
			t.Fatal(err)
		}

		starts := make(chan StartJobMaster, 2)
		store = leading(t, outlives, 2)
		d, die = runOver(t, Session, 2, store, func(ctx context.Context, start StartJobMaster) (JobMaster, error) {
			starts <- start
			time.Sleep(time.Second) // the other one is later
			return newFakeMaster(ctx, start)
		})
		time.Sleep(time.Minute)
		for range 2 {
			s := <-starts
			if s.JobMaster.Epoch() != 2 || s.Recovered == nil || s.Submission.Graph.Name != "wordcount" {
				t.Errorf("started %+v", s)
			}
			if commits := string(s.Recovered[4].Record); s.Submission.Job == "goes-on" && commits != "winners" {
				t.Errorf("commit record %q", commits)
			}
		}
		jobs, err := d.Jobs(t.Context())
		if err != nil || len(jobs) != 3 || len(starts) > 0 {
			t.Fatalf("jobs %+v, error %v, %d others were started", jobs, err, len(starts))
		}
		for i, want := range []msg.JobStatus{msg.JobFinished, msg.JobRunning, msg.JobCanceled} {
			if jobs[i].Status != want {
				t.Errorf("%s is %s, want %s", jobs[i].ID, jobs[i].Status, want)
			}
		}
		again, err := d.CollectPage(t.Context(), "ends", "top", page.Next, 0)
		if err != nil || !again.End || len(again.Records) > 0 || again.Epoch != page.Epoch {
			t.Errorf("the rest: %+v, error %v", again, err)
		}
		_ = die()
	})
}

// TestResultsOfAnotherMasterMayBeOutOfReach would catch a list of jobs that waits as long as HDFS is away, viewers who each
// wait for it although the first one has waited in vain, and a question without an answer.
func TestResultsOfAnotherMasterMayBeOutOfReach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{inMemory: newMemory(t)}
		d, die := runOver(t, Session, 1, store, newFakeMaster)
		submit(t, d, "j1")
		time.Sleep(time.Hour + time.Minute)
		_ = die()
		store.from, store.until = time.Now().Add(-1), time.Now().Add(time.Minute)
		d, die = runOver(t, Session, 2, store, newFakeMaster)
		begin := time.Now()
		if jobs, err := d.Jobs(t.Context()); err != nil || len(jobs) != 1 || jobs[0].Status != msg.JobFinished || time.Since(begin) != readTime {
			t.Errorf("jobs %+v after %s, error %v", jobs, time.Since(begin), err)
		}
		for name, err := range map[string]error{
			"details": func() error { _, err := d.JobDetails(t.Context(), "j1"); return err }(),
			"result":  func() error { _, err := d.JobResult(t.Context(), "j1", time.Minute); return err }(),
			"page":    func() error { _, err := d.CollectPage(t.Context(), "j1", "top", 0, time.Minute); return err }(),
		} {
			if !errors.Is(err, msg.ErrNotReady) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if spent := time.Since(begin); spent != 4*readTime {
			t.Errorf("all this took %s", spent)
		}
		// Ten viewers do not wait in turn for what the first ones have not got.
		begin = time.Now()
		for range 10 {
			jobs, err := d.Jobs(t.Context())
			if err != nil || len(jobs) != 1 || jobs[0].Status != msg.JobFinished {
				t.Errorf("jobs %+v, error %v", jobs, err)
			}
			if _, err := d.JobDetails(t.Context(), "j1"); !errors.Is(err, msg.ErrNotReady) {
				t.Errorf("details: error %v", err)
			}
			if _, err := d.VertexSubtasks(t.Context(), "j1", "v"); !errors.Is(err, msg.ErrNotReady) {
				t.Errorf("vertex: error %v", err)
			}
		}
		if spent := time.Since(begin); spent != 0 {
			t.Errorf("ten viewers have waited for %s", spent)
		}
		time.Sleep(time.Minute)
		if jobs, err := d.Jobs(t.Context()); err != nil || len(jobs) != 1 || jobs[0].End.Sub(jobs[0].Start) != time.Hour {
			t.Errorf("when HDFS answers again: jobs %+v, error %v", jobs, err)
		}
		if j, err := d.JobDetails(t.Context(), "j1"); err != nil || j.End.Sub(j.Start) != time.Hour {
			t.Errorf("when HDFS answers again: %+v, error %v", j, err)
		}
		if r, err := d.JobResult(t.Context(), "j1", 0); err != nil || r.Duration != time.Hour {
			t.Errorf("result %+v, error %v", r, err)
		}
		_ = die()
	})
}

// TestAThousandJobsAreRead would catch a master that reads jobs one by one, or all at once, and one that does not begin
// because it cannot read a single job.
func TestAThousandJobsAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const jobs = 1000
		how, err := encodeSubmission(Submission{}, testEpoch)
		if err != nil {
			t.Fatal(err)
		}
		unreadable := map[ids.JobID]ha.Job{
			"j0500": {Graph: []byte("{"), Submitted: how}, "j0501": {Graph: []byte("{}"), Submitted: []byte("{")},
			"j0502": {Graph: []byte(`{"name":"no protocol version"}`), Submitted: how},
		}
		store := &slowStore{inMemory: newMemory(t), takes: 10 * time.Millisecond}
		k := stored{store.inMemory.Store}
		for i := range jobs {
			s := Submission{Job: ids.JobID(fmt.Sprintf("j%04d", jobs-i)), Graph: graph()}
			err := k.addJob(t.Context(), s, testEpoch.Add(time.Duration(i)))
			if broken, is := unreadable[s.Job]; is {
				_ = store.RemoveJob(t.Context(), s.Job)
				err = store.inMemory.Store.AddJob(t.Context(), s.Job, broken)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		left, err := ReadStore(t.Context(), store)
		if spent := time.Since(begin); err != nil || len(left.Jobs) != jobs || spent > time.Second || store.most.Load() != atOnce {
			t.Errorf("%d jobs in %s, %d at once, error %v", len(left.Jobs), spent, store.most.Load(), err)
		}
		refused := 0
		for i, job := range left.Jobs {
			_, broken := unreadable[job.Submission.Job]
			if broken {
				refused++
			}
			if broken != (job.Err != nil) || i > 0 && job.Submitted.Before(left.Jobs[i-1].Submitted) || !broken && job.Need.Bytes == 0 {
				t.Errorf("%s at place %d, submitted at %s: %v", job.Submission.Job, i, job.Submitted, job.Err)
			}
		}
		if refused != len(unreadable) {
			t.Errorf("%d jobs cannot be read", refused)
		}
		store.err = fmt.Errorf("read: %w", ha.ErrSuperseded)
		if _, err := ReadStore(t.Context(), store); !errors.Is(err, ha.ErrSuperseded) {
			t.Errorf("another master leads: error %v", err)
		}
		store.err = errors.New("no such block")
		if left, err := ReadStore(t.Context(), store); err != nil || len(left.Jobs) != jobs || left.Jobs[0].Err == nil {
			t.Errorf("no job can be read: %d jobs, error %v", len(left.Jobs), err)
		}
	})
}

// TestQuestionsThatWaitAreBounded would catch a master whose memory grows with each request of clients while HDFS is away.
func TestQuestionsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	core := newCore(configured(Session))
	core.Step(testEpoch, recovered{Recovered{Results: []ha.ResultEntry{{ID: "ended", Status: msg.JobFinished}}}})
	core.Step(testEpoch, submission(Submission{Job: "stored", Graph: graph()}))
	for name, e := range map[string]event{
		"submission":         submission(Submission{Job: "stored", Graph: graph()}),
		"cancellation":       cancelAsked{Job: "stored"},
		"job":                jobAsked{Job: "ended"},
		"result":             resultAsked{Job: "ended"},
		"page":               pageAsked{Job: "ended"},
		"another submission": submission(Submission{Job: "ended", Graph: graph()}),
	} {
		refused := 0
		for range 3 * maxAsking {
			for _, effect := range core.Step(testEpoch, e) {
				answer, is := effect.(reply)
				if err := errorOf(answer); is && errors.Is(err, msg.ErrNotReady) {
					refused++
				}
			}
		}
		if refused < 2*maxAsking {
			t.Errorf("%s: %d of %d questions are refused", name, refused, 3*maxAsking)
		}
	}
	for range 3 * maxAsking {
		core.Step(testEpoch, jobsAsked{})
	}
	j := core.jobs["stored"]
	if n := max(len(j.submitters), len(j.cancellers), len(core.loads.listing), len(core.loads.waiting["ended"])); n > maxAsking {
		t.Errorf("%d questions wait", n)
	}
}

// errorOf returns the error of an answer.
func errorOf(r reply) error {
	switch a := r.Content().(type) {
	case error:
		return a
	case jobEntry:
		return a.Err
	case pageAnswer:
		return a.Err
	}
	return nil
}
