package appmaster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// teller is a YARN that tells of attempts.
type teller struct {
	reports     []records.AttemptReport
	application records.ApplicationReport
	hidden      error // in place of its containers
	away        error // in place of its attempts
	asked       int
}

func (y *teller) ApplicationReport(context.Context, records.ApplicationID) (records.ApplicationReport, error) {
	y.asked++
	if y.application.Name == "" {
		return records.ApplicationReport{}, yarnrpc.ErrApplicationNotFound
	}
	return y.application, nil
}

func (y *teller) Container(_ context.Context, id records.ContainerID) (records.ContainerReport, error) {
	return records.ContainerReport{ID: id, Created: time.UnixMilli(id.ID)}, y.hidden
}

func (y *teller) Attempts(context.Context, records.ApplicationID) ([]records.AttemptReport, error) {
	y.asked++
	if y.away != nil {
		return nil, y.away
	}
	return y.reports, nil
}

func (y *teller) Close() error { return nil }

// TestAYARNThatCannotAnswerIsAskedSeldom would catch viewers who ask a YARN that is away again and again, each in one of REST's few
// places for that; an error that stays when YARN is back; and one that a user who leaves causes for others.
func TestAYARNThatCannotAnswerIsAskedSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		yarn := &teller{away: errors.New("it fails over")}
		h := &history{env: testEnvironment(t, "hdfs://nn/staging"), yarn: yarn}
		left, leave := context.WithCancel(t.Context())
		leave()
		check := func(ctx context.Context, fault error, asked int) {
			t.Helper()
			if _, err := h.attempts(ctx); !errors.Is(err, fault) || yarn.asked != asked {
				t.Errorf("error %v, asked %d times; want %v, %d", err, yarn.asked, fault, asked)
			}
		}
		check(left, yarn.away, 1)
		for range 10 {
			check(t.Context(), yarn.away, 2)
		}
		time.Sleep(reportPause)
		yarn.away = nil
		check(t.Context(), nil, 3)
	})
}

// silent is a YARN that does not answer about attempts or the application before a question ends.
type silent struct {
	teller
	attempts atomic.Int64 // questions
}

func (y *silent) Attempts(ctx context.Context, _ records.ApplicationID) ([]records.AttemptReport, error) {
	y.attempts.Add(1)
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (y *silent) ApplicationReport(ctx context.Context, _ records.ApplicationID) (records.ApplicationReport, error) {
	<-ctx.Done()
	return records.ApplicationReport{}, context.Cause(ctx)
}

func (y *silent) Container(ctx context.Context, id records.ContainerID) (records.ContainerReport, error) {
	if ctx.Err() != nil {
		return records.ContainerReport{}, context.Cause(ctx)
	}
	return y.teller.Container(ctx, id)
}

// TestManyViewersAskOnce would catch viewers who all ask a silent YARN at the same time, each for the whole reportTime, and viewers
// who get the error of another viewer who has left.
func TestManyViewersAskOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		yarn := new(silent)
		h := &history{env: testEnvironment(t, "hdfs://nn/staging"), yarn: yarn}
		first, leave := context.WithCancelCause(t.Context())
		gone := errors.New("the first viewer has left")
		var viewers sync.WaitGroup
		start := time.Now()
		ask := func(ctx context.Context, want error) {
			viewers.Go(func() {
				if _, err := h.attempts(ctx); !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
			})
		}
		ask(first, gone)
		synctest.Wait()
		for range 10 {
			ask(t.Context(), context.DeadlineExceeded)
		}
		time.Sleep(time.Second)
		leave(gone)
		viewers.Wait()
		if asked, took := yarn.attempts.Load(), time.Since(start); asked != 2 || took != time.Second+reportTime {
			t.Errorf("YARN is asked %d times in %s, want twice", asked, took)
		}
	})
}

// TestASilentAnswerTakesNoTimeFromTheOther would catch a start of the container that is not told because YARN does not answer
// about the application.
func TestASilentAnswerTakesNoTimeFromTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := testEnvironment(t, "hdfs://nn/staging")
		h := &history{env: env, yarn: new(silent)}
		got, err := h.report(t.Context())
		if want := time.UnixMilli(env.container.ID); !got.Granted.Equal(want) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the container was granted at %s, want %s; error %v", got.Granted, want, err)
		}
	})
}

// TestAttemptsAreToldAsYARNKnowsThem would catch a node or a container that no attempt has, a list that misses how this
// attempt began, and a ResourceManager that each viewer of the page can make busy.
func TestAttemptsAreToldAsYARNKnowsThem(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t, "hdfs://nn/staging")
	application := env.container.Attempt.Application
	env.container.Attempt.Attempt = 2
	began := time.UnixMilli(946684800000)
	report := func(attempt int32, state records.AttemptState, host string, port int) records.AttemptReport {
		id := records.ApplicationAttemptID{Application: application, Attempt: attempt}
		return records.AttemptReport{ID: id, Host: host, RPCPort: port, State: state, Started: began}
	}
	first := report(1, records.AttemptFailed, "N/A", -1)
	first.Finished, first.Diagnostics = began.Add(time.Minute), "exit code 1"
	first.MasterContainer = records.ContainerID{Attempt: first.ID, ID: 1}
	yarn := &teller{reports: []records.AttemptReport{report(2, records.AttemptLaunched, "N/A", -1), first}}
	h := &history{env: env, yarn: yarn}
	want := []msg.AttemptDetails{
		{Attempt: 1, Container: first.MasterContainer.String(), State: "FAILED", Started: began, Ended: first.Finished, Diagnostics: "exit code 1"},
		{Attempt: 2, State: "LAUNCHED", Started: began},
	}
	check := func(asked int) {
		t.Helper()
		got, err := h.attempts(t.Context())
		if err != nil || yarn.asked != asked {
			t.Errorf("YARN is asked %d times, want %d; %v", yarn.asked, asked, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
	}
	check(1)
	yarn.reports = []records.AttemptReport{first, report(2, records.AttemptRunning, "node2", 8032)}
	want[1].State, want[1].Node = "RUNNING", "node2"
	check(2)
	check(2)
}

// TestYARNsReportOfTheApplicationIsAskedForOnce would catch a ResourceManager that each viewer of the page can make busy, an
// answer from before the registration that stays, a page without the time line because YARN does not answer, and one that
// forgets its queue because YARN does not answer again, or does not tell about the container.
func TestYARNsReportOfTheApplicationIsAskedForOnce(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t, "hdfs://nn/staging")
	yarn := new(teller)
	h := &history{env: env, yarn: yarn}
	check := func(want Report, fault error, asked int) {
		t.Helper()
		h.askNext = time.Time{} // the pause is over
		got, err := h.report(t.Context())
		if got != want || !errors.Is(err, fault) || yarn.asked != asked {
			t.Errorf("report %+v, error %v, asked %d times; want %+v, %v, %d", got, err, yarn.asked, want, fault, asked)
		}
	}
	yarn.hidden = yarnrpc.ErrApplicationNotFound
	check(Report{}, yarnrpc.ErrApplicationNotFound, 1)
	yarn.hidden = nil
	if _, err := h.report(t.Context()); err != nil || yarn.asked != 1 {
		t.Errorf("at once after an error: YARN is asked %d times, error %v", yarn.asked, err)
	}
	granted := Report{Granted: time.UnixMilli(env.container.ID)}
	check(granted, yarnrpc.ErrApplicationNotFound, 2)
	h.reported = Report{}
	yarn.application = records.ApplicationReport{Name: "a", Queue: "root.q", TrackingURL: "N/A"}
	yarn.hidden = errors.New("the node is lost")
	check(Report{Name: "a", Queue: "root.q"}, yarn.hidden, 3)
	yarn.hidden = nil
	want := Report{Name: "a", Queue: "root.q", Granted: granted.Granted}
	check(want, nil, 4)
	told := yarn.application
	yarn.application = records.ApplicationReport{} // YARN fails over
	check(want, yarnrpc.ErrApplicationNotFound, 5)
	yarn.application = told
	yarn.application.TrackingURL = "http://rm/proxy/a/"
	want.TrackingURL = "http://rm/proxy/a/"
	check(want, nil, 6)
	check(want, nil, 6)
}
