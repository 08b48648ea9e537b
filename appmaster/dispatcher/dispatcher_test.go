package dispatcher

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// configured is the Config by default options.
func configured(mode Mode) Config {
	c := Configured(config.Config{})
	c.Mode = mode
	return c
}

// fakeMaster runs a job for an hour unless it is cancelled, and collects "abc"
// at its end.
type fakeMaster struct {
	id        ids.JobID
	cancelled chan struct{}
	ended     chan struct{}
	suspended chan struct{} // closed if the job has not ended
}

func newFakeMaster(_ context.Context, start StartJobMaster) (JobMaster, error) {
	s := start.Submission
	if s.Graph.Name == "large" {
		time.Sleep(time.Minute)
	}
	if strings.HasPrefix(string(s.Job), "broken") {
		return nil, errors.New("no such option")
	}
	return &fakeMaster{id: s.Job, cancelled: make(chan struct{}), ended: make(chan struct{}), suspended: make(chan struct{})}, nil
}

func (f *fakeMaster) Run(ctx context.Context) (msg.JobDetails, collect.Results, error) {
	defer close(f.ended)
	if f.id == "lost" {
		time.Sleep(time.Minute)
		close(f.suspended)
		return msg.JobDetails{}, nil, errors.New("no ResourceManager")
	}
	details := msg.JobDetails{ID: f.id, Start: time.Now(), Status: msg.JobFinished, Vertices: []msg.VertexDetails{{ID: "v", Parallelism: 3}}}
	if f.id != "huge" {
		details.Vertices[0].Subtasks = subtasks.Encode(keptSubtasks())
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.cancelled:
		details.Status = msg.JobCanceled
	case <-ctx.Done():
		close(f.suspended)
		return msg.JobDetails{}, nil, context.Cause(ctx)
	}
	b := collect.New(collect.MaxBuffered, 0, false)
	_, err := b.Add(0, []byte("abc"))
	b.End()
	details.End = time.Now()
	return details, collect.Results{"top": b}, err
}

func (f *fakeMaster) Cancel(context.Context) error {
	close(f.cancelled) // twice would panic: the Dispatcher passes one on
	return nil
}

func (f *fakeMaster) stopped() error {
	select {
	case <-f.suspended:
		return actor.ErrStopped
	default:
		return nil
	}
}

func (f *fakeMaster) Details(context.Context) (msg.JobDetails, error) {
	return msg.JobDetails{ID: f.id, Status: msg.JobRunning}, f.stopped()
}

func (f *fakeMaster) Overview(context.Context) (msg.JobOverview, error) {
	return msg.JobOverview{ID: f.id, Status: msg.JobRunning}, f.stopped()
}

func (f *fakeMaster) VertexSubtasks(_ context.Context, vertex string) (msg.VertexSubtasks, error) {
	if vertex != "v" {
		return msg.VertexSubtasks{}, msg.ErrVertexNotFound
	}
	return msg.VertexSubtasks{VertexDetails: msg.VertexDetails{ID: vertex}, Subtasks: make([]msg.Subtask, 3)}, f.stopped()
}

func (f *fakeMaster) CollectPage(ctx context.Context, _ string, cursor int64, wait time.Duration) (msg.CollectPage, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-f.ended:
		return msg.CollectPage{}, actor.ErrStopped
	case <-timer.C:
		return msg.CollectPage{Next: cursor}, nil
	case <-ctx.Done():
		return msg.CollectPage{}, context.Cause(ctx)
	}
}

// run starts a Dispatcher that stops with the test.
func run(t *testing.T, mode Mode) *Dispatcher {
	t.Helper()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	c := configured(mode)
	c.IDs = "0123456789abcdef"
	d := New(c, nil, newFakeMaster, keepOutputs, logger)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	})
	return d
}

func submit(t *testing.T, d *Dispatcher, job ids.JobID) {
	t.Helper()
	if err := d.Submit(t.Context(), Submission{Job: job, Graph: graph()}); err != nil {
		t.Fatal(err)
	}
}

func TestClientFollowsItsJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := run(t, Attached)
		submit(t, d, "j1")
		synctest.Wait()
		if _, known := d.JobMaster("j1"); !known {
			t.Error("running job has no JobMaster")
		}
		if details, err := d.JobDetails(t.Context(), "j1"); err != nil || details.Status != msg.JobRunning {
			t.Errorf("details: %s, error %v", details.Status, err)
		}
		begin := time.Now()
		r, err := d.JobResult(t.Context(), "j1", time.Minute)
		if err != nil || r.Status != msg.JobRunning || time.Since(begin) != time.Minute {
			t.Errorf("result while it runs: %s after %s, error %v", r.Status, time.Since(begin), err)
		}
		page, err := d.CollectPage(t.Context(), "j1", "top", 0, 2*time.Hour)
		if err != nil || string(page.Records) != "abc" || !page.End || time.Since(begin) != time.Hour {
			t.Errorf("page over the end of the job: %+v after %s, error %v", page, time.Since(begin), err)
		}
		r, err = d.JobResult(t.Context(), "j1", time.Minute)
		if err != nil || r.Status != msg.JobFinished || r.Duration != time.Hour {
			t.Errorf("result: %+v, error %v", r, err)
		}
		outcome, err := d.Outcome(t.Context())
		if err != nil || outcome.Status != msg.ApplicationSucceeded || time.Since(begin) != time.Hour {
			t.Errorf("outcome %+v after %s, error %v", outcome, time.Since(begin), err)
		}
		if _, known := d.JobMaster("j1"); known {
			t.Error("ended job still has a JobMaster")
		}
	})
}

func TestClientThatWaitsHearsOfTheEndAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := run(t, Attached)
		submit(t, d, "j1")
		begin := time.Now()
		if r, err := d.JobResult(t.Context(), "j1", 2*time.Hour); err != nil || r.Status != msg.JobFinished || time.Since(begin) != time.Hour {
			t.Errorf("result %s after %s, error %v", r.Status, time.Since(begin), err)
		}
		// It does not come for what was collected.
		if o, err := d.Outcome(t.Context()); err != nil || o.Status != msg.ApplicationSucceeded || time.Since(begin) != time.Hour+collectTime {
			t.Errorf("outcome %+v after %s, error %v", o, time.Since(begin), err)
		}
	})
}

func TestListsMergeRunningAndEndedJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := run(t, Session)
		for _, job := range []ids.JobID{"j1", "broken", "j2"} {
			submit(t, d, job)
		}
		for range 2 {
			if err := d.CancelJob(t.Context(), "j1"); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		jobs, err := d.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []msg.JobStatus
		for _, j := range jobs {
			got = append(got, j.Status)
		}
		want := []msg.JobStatus{msg.JobCanceled, msg.JobFailed, msg.JobRunning}
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("jobs are %v, want %v", got, want)
		}
		r, err := d.JobResult(t.Context(), "broken", 0)
		if err != nil || r.Failure == nil || r.Failure.Message != "no such option" {
			t.Errorf("result of a job that could not be started: %+v, error %v", r, err)
		}
	})
}

// TestAnApplicationEndsAsItsJobs would catch an application that does not wait for the jobs of a program
// that ended before them, or that does not report the job that did not finish.
func TestAnApplicationEndsAsItsJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := run(t, Application)
		begin := time.Now()
		await := func(want msg.ApplicationStatus, after time.Duration) {
			t.Helper()
			if o, err := d.AwaitJobs(t.Context()); err != nil || o.Status != want || time.Since(begin) != after {
				t.Errorf("outcome %+v after %s, error %v; want %s after %s", o, time.Since(begin), err, want, after)
			}
		}
		await(msg.ApplicationSucceeded, 0) // there was none
		submit(t, d, "j1")
		await(msg.ApplicationSucceeded, time.Hour)
		submit(t, d, "broken")
		submit(t, d, "j2")
		await(msg.ApplicationFailed, 2*time.Hour)
		submit(t, d, "j3")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("enough"))
		defer cancel()
		if _, err := d.AwaitJobs(ctx); err == nil || err.Error() != "enough" {
			t.Errorf("while a job runs: error %v", err)
		}
	})
}

func TestErrorsCanBeTested(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := run(t, Session)
		submit(t, d, "j1")
		_, detailsErr := d.JobDetails(t.Context(), "j9")
		_, resultErr := d.JobResult(t.Context(), "j9", 0)
		_, pageErr := d.CollectPage(t.Context(), "j9", "top", 0, 0)
		for name, test := range map[string]struct{ got, want error }{
			"details of an unknown job": {detailsErr, msg.ErrJobNotFound},
			"result of an unknown job":  {resultErr, msg.ErrJobNotFound},
			"page of an unknown job":    {pageErr, msg.ErrJobNotFound},
			"cancel of an unknown job":  {d.CancelJob(t.Context(), "j9"), msg.ErrJobNotFound},
			"a job that exists":         {d.Submit(t.Context(), Submission{Job: "j1", Graph: graph()}), msg.ErrJobExists},
			"a graph that is not valid": {d.Submit(t.Context(), Submission{Job: "j2", Graph: &jobgraph.JobGraph{}}), jobgraph.ErrInvalid},
		} {
			if !errors.Is(test.got, test.want) {
				t.Errorf("%s: got error %v, want %v", name, test.got, test.want)
			}
		}
		if err := d.ShutDown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o, err := d.Outcome(t.Context()); err != nil || o.Status != msg.ApplicationSucceeded {
			t.Errorf("outcome %+v, error %v", o, err)
		}
		if err := d.Submit(t.Context(), Submission{Job: "j2", Graph: graph()}); !errors.Is(err, msg.ErrEnding) {
			t.Errorf("job for an ending cluster: got error %v", err)
		}
	})
}

// TestAJobThatIsBeingMadeHoldsNobodyUp makes the JobMasters of two jobs for a minute each. It would catch a
// Dispatcher whose loop waits for that, and a job that meanwhile is not listed, cannot be cancelled, or
// runs a second time when its client submits it again.
func TestAJobThatIsBeingMadeHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := run(t, Session)
		begin := time.Now()
		large := graph()
		large.Name = "large"
		for _, job := range []ids.JobID{"j1", "broken"} {
			if err := d.Submit(t.Context(), Submission{Job: job, Graph: large}); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Submit(t.Context(), Submission{Job: "j1", Graph: large}); !errors.Is(err, msg.ErrJobExists) {
			t.Errorf("the same job again: got error %v", err)
		}
		submit(t, d, "small")
		synctest.Wait()
		jobs, err := d.Jobs(t.Context())
		if err != nil || len(jobs) != 3 || jobs[0].Status != msg.JobInitializing || jobs[0].Name != "large" || jobs[2].Status != msg.JobRunning {
			t.Errorf("jobs %+v, error %v", jobs, err)
		}
		if details, err := d.JobDetails(t.Context(), "j1"); err != nil || details.Status != msg.JobInitializing || !details.Start.Equal(begin) {
			t.Errorf("details %+v, error %v", details, err)
		}
		if r, err := d.JobResult(t.Context(), "j1", 0); err != nil || r.Status != msg.JobInitializing {
			t.Errorf("result %+v, error %v", r, err)
		}
		if _, known := d.JobMaster("j1"); known {
			t.Error("there is a JobMaster already")
		}
		if err := d.CancelJob(t.Context(), "j1"); err != nil {
			t.Errorf("cancel: %v", err)
		}
		if spent := time.Since(begin); spent != 0 {
			t.Errorf("all this took %s", spent)
		}
		if page, err := d.CollectPage(t.Context(), "j1", "top", 0, 30*time.Second); err != nil || len(page.Records) > 0 || page.End || time.Since(begin) != 30*time.Second {
			t.Errorf("page %+v after %s, error %v", page, time.Since(begin), err)
		}
		if r, err := d.JobResult(t.Context(), "j1", time.Hour); err != nil || r.Status != msg.JobCanceled || time.Since(begin) != time.Minute {
			t.Errorf("result %+v after %s, error %v", r, time.Since(begin), err)
		}
		synctest.Wait()
		details, err := d.JobDetails(t.Context(), "broken")
		if err != nil || details.Status != msg.JobFailed || !details.Start.Equal(begin) || details.End.Sub(begin) != time.Minute {
			t.Errorf("job that cannot be made: %+v, error %v", details, err)
		}
	})
}

// TestInitialized would catch a client that learns too early or never whether its job was set up.
func TestInitialized(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := run(t, Session)
		for job, want := range map[ids.JobID]msg.JobStatus{"j1": msg.JobRunning, "broken1": msg.JobFailed} {
			large := graph()
			large.Name = "large"
			if err := d.Submit(t.Context(), Submission{Job: job, Graph: large}); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			for range 2 { // the second time it has been set up, or has failed, long ago
				r, err := d.Initialized(t.Context(), job)
				if err != nil || r.Status != want || (r.Failure != nil) != (want == msg.JobFailed) || time.Since(begin) != time.Minute {
					t.Errorf("%s after %s: %+v, error %v", job, time.Since(begin), r, err)
				}
			}
		}
		if _, err := d.Initialized(t.Context(), "j9"); !errors.Is(err, msg.ErrJobNotFound) {
			t.Errorf("unknown job: error %v", err)
		}
	})
}

// TestAClusterMayEndWhileAJobIsMade would catch a JobMaster that is made and never run: its Run undoes what
// was made.
func TestAClusterMayEndWhileAJobIsMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger := logrus.New()
		logger.SetOutput(io.Discard)
		var made JobMaster
		d := New(configured(Session), nil, func(ctx context.Context, start StartJobMaster) (JobMaster, error) {
			master, err := newFakeMaster(ctx, start)
			made = master
			return master, err
		}, keepOutputs, logger)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		large := graph()
		large.Name = "large"
		if err := d.Submit(t.Context(), Submission{Job: "j1", Graph: large}); err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := d.Initialized(t.Context(), "j1"); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("error %v", err)
		}
		<-done
		if made == nil || !errors.Is(made.(*fakeMaster).stopped(), actor.ErrStopped) {
			t.Error("the JobMaster that was made was not run to its end")
		}
	})
}

// A Dispatcher that stops suspends its jobs and waits for them.
func TestStopSuspendsJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger := logrus.New()
		logger.SetOutput(io.Discard)
		d := New(configured(Session), nil, newFakeMaster, keepOutputs, logger)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		submit(t, d, "j1")
		synctest.Wait()
		master, _ := d.JobMaster("j1")
		cancel()
		<-done
		if !errors.Is(master.(*fakeMaster).stopped(), actor.ErrStopped) {
			t.Error("job runs on")
		}
		for _, err := range []error{
			func() error { _, err := d.Outcome(t.Context()); return err }(),
			func() error { _, err := d.Jobs(t.Context()); return err }(),
			func() error { _, err := d.JobResult(t.Context(), "j1", time.Hour); return err }(),
			d.Submit(t.Context(), Submission{Job: "j2", Graph: graph()}),
		} {
			if !errors.Is(err, actor.ErrStopped) {
				t.Errorf("after the end: got error %v", err)
			}
		}
	})
}
