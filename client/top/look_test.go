package top

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// slowMaster answers each question after some time: with a job and a number of workers.
type slowMaster struct {
	master
	takes   time.Duration
	workers int
	load    error // the answer about the load of a worker
	loaded  []string
}

func (m *slowMaster) Overview(ctx context.Context) (client.Overview, error) {
	return client.Overview{Running: 1}, pause.For(ctx, m.takes)
}

func (m *slowMaster) Jobs(ctx context.Context) ([]client.JobOverview, error) {
	return []client.JobOverview{{ID: clicks, Name: "clicks", Status: msg.JobRunning}}, pause.For(ctx, m.takes)
}

func (m *slowMaster) Details(ctx context.Context, job ids.JobID) (restapi.JobDetailsInfo, error) {
	return restapi.JobDetailsInfo{ID: job, Name: "clicks", State: msg.JobRunning}, pause.For(ctx, m.takes)
}

func (m *slowMaster) Activity(ctx context.Context, _ ids.JobID) (restapi.JobVertices, error) {
	return restapi.JobVertices{Now: 1}, pause.For(ctx, m.takes)
}

func (m *slowMaster) Waiting(ctx context.Context, _ ids.JobID) (string, time.Time, error) {
	return "", time.Time{}, pause.For(ctx, m.takes)
}

func (m *slowMaster) Workers(ctx context.Context) (all []client.Worker, err error) {
	for i := range m.workers {
		all = append(all, client.Worker{ID: worker(i)})
	}
	return all, pause.For(ctx, m.takes)
}

func (m *slowMaster) Load(ctx context.Context, worker string) (client.Load, error) {
	m.loaded = append(m.loaded, worker)
	if err := pause.For(ctx, m.takes); err != nil {
		return client.Load{}, err
	}
	return client.Load{Known: m.load == nil}, m.load
}

func worker(i int) string { return fmt.Sprintf("container_%02d", i) }

// workers are the ids of the first workers.
func workers(n int) (all []string) {
	for i := range n {
		all = append(all, worker(i))
	}
	return all
}

// TestALongLookEndsWithAPicture would catch a view that shows nothing of an ApplicationMaster whose answers take some seconds
// each, because all of them together may take ten.
func TestALongLookEndsWithAPicture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var told []Look
		var after []time.Duration
		err := look(t.Context(), &slowMaster{takes: 8 * time.Second, workers: 2}, &loads{}, Asked{Workers: workers(2)}, func(l Look) {
			told, after = append(told, l), append(after, time.Since(began))
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{16 * time.Second, 40 * time.Second, 56 * time.Second} // the jobs; the chosen one; the workers, with one load
		if diff := cmp.Diff(want, after); diff != "" {
			t.Fatalf("told after (-want +got):\n%s", diff)
		}
		m := New("application_1700000000000_0001", time.Now())
		for i, has := range []func(Model) bool{
			func(m Model) bool { return len(m.jobs) == 1 && m.Job == nil && m.Partial },
			func(m Model) bool { return m.Job != nil && m.Partial },
			func(m Model) bool { return m.Job != nil && len(m.workers) == 2 && m.Workers[0].Known && !m.Partial },
		} {
			if m = Update(m, Looked{told[i]}); !has(m) {
				t.Errorf("after part %d the view has %+v", i+1, m.Look)
			}
		}
		at := m.At
		for i := range 2 { // the next look begins
			next := told[i]
			next.At = at.Add(time.Minute)
			if m = Update(m, Looked{next}); m.Job == nil || len(m.workers) != 2 || m.At != at {
				t.Errorf("part %d of the next look leaves %+v", i+1, m.Look)
			}
		}
	})
}

// TestAMasterThatIsSilentEndsTheLook would catch a view that waits for ever for a frozen node.
func TestAMasterThatIsSilentEndsTheLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := look(t.Context(), &slowMaster{takes: time.Hour}, &loads{}, Asked{}, func(Look) { t.Error("there was no answer") })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != askTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestAMasterRestsAfterAMiss would catch a view that keeps an ApplicationMaster busy for half of the time because its looks fail,
// and one that shows the next ApplicationMaster late.
func TestAMasterRestsAfterAMiss(t *testing.T) {
	for name, c := range map[string]struct {
		took time.Duration
		err  error
		want time.Duration
	}{
		"quick":           {10 * time.Millisecond, nil, lookInterval},
		"slow":            {8 * time.Second, nil, 40 * time.Second},
		"refused":         {10 * time.Millisecond, errors.New("refused"), lookInterval},
		"failed":          {3 * time.Second, errors.New("broken off"), 15 * time.Second},
		"failed for long": {time.Minute, errors.New("silent"), mostRest},
		"replaced":        {12 * time.Second, fmt.Errorf("attempt 2: %w", client.ErrReplacing), lookInterval},
	} {
		if got := restAfter(c.took, c.err); got != c.want {
			t.Errorf("%s: rests for %v, not %v", name, got, c.want)
		}
	}
}

// TestLoadsTakeTurns would catch a look that lasts for a minute because loads come slowly, a worker whose load is never asked for
// then, and a picture that one worker without an answer takes away.
func TestLoadsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &slowMaster{takes: 300 * time.Millisecond, load: &client.StatusError{Status: http.StatusServiceUnavailable}}
		var l loads
		for range 3 {
			began := time.Now()
			if _, err := l.ask(t.Context(), m, workers(12)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > mostLoading+m.takes {
				t.Errorf("it took %v", took)
			}
			if found, err := l.ask(t.Context(), m, workers(12)); err != nil || len(found) > 0 {
				t.Errorf("asked again at once: %v, %v", found, err)
			}
			if err := pause.For(t.Context(), loadInterval); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(workers(12), m.loaded); diff != "" {
			t.Errorf("asked for (-want +got):\n%s", diff)
		}
		m.takes = time.Hour
		if _, err := l.ask(t.Context(), m, workers(12)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an ApplicationMaster that is silent: %v", err)
		}
	})
}

// TestAnEndingApplicationDoesNotWaitToStart would catch a view that says of a session, after its stop, that it waits for its
// ApplicationMaster: until YARN knows the end, it says RUNNING.
func TestAnEndingApplicationDoesNotWaitToStart(t *testing.T) {
	reported := func(state records.ApplicationState) error {
		return &client.NotRunningError{Report: records.ApplicationReport{State: state}}
	}
	for _, c := range []struct {
		err  error
		want Event
	}{
		{fmt.Errorf("reach it: %w: %w", reported(records.ApplicationRunning), client.ErrEnding), Missed{Words: "the application is ending"}},
		{reported(records.ApplicationAccepted), Missed{Words: "ACCEPTED: it waits for its ApplicationMaster"}},
	} {
		if got := missed(c.err); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.err, got, c.want)
		}
	}
}

// TestAUserWhoMayNotLookIsToldAtOnce would catch a view that asks again and again for what the user may not see, and one that
// takes the last picture away because its master's next answer is a refusal.
func TestAUserWhoMayNotLookIsToldAtOnce(t *testing.T) {
	refused := fmt.Errorf("no: %w", &client.StatusError{Status: http.StatusForbidden})
	for name, c := range map[string]struct {
		first bool
		err   error
		ends  bool
	}{
		"at first":      {true, refused, true},
		"later":         {false, refused, false},
		"unknown":       {true, fmt.Errorf("17: %w", yarnrpc.ErrApplicationNotFound), true},
		"busy":          {true, &client.StatusError{Status: http.StatusServiceUnavailable}, false},
		"no connection": {true, errors.New("refused"), false},
	} {
		m := Update(New("application_1700000000000_0001", noon()), missedFirst(c.first, c.err))
		if ends := errors.Is(m.refused, c.err) && m.refused != nil; ends != c.ends || m.words == "" {
			t.Errorf("%s: ends with %v, and says %q", name, m.refused, m.words)
		}
		if m = Update(seen(80, 24), missedFirst(c.first, c.err)); m.refused != nil || m.words == "" {
			t.Errorf("%s: a view that has shown something ends with %v", name, m.refused)
		}
	}
}
