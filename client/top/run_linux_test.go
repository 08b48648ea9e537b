package top

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// oneJob is an ApplicationMaster with a job.
type oneJob struct{ rest.Gateway }

func (oneJob) Jobs(context.Context) ([]msg.JobOverview, error) {
	return []msg.JobOverview{{ID: clicks, Name: "clicks by user", Status: msg.JobRunning}}, nil
}

func (oneJob) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	return msg.JobDetails{ID: job, Name: "clicks by user", Status: msg.JobRunning}, nil
}

// slowly has each answer about its job wait for open.
type slowly struct {
	oneJob
	open chan struct{}
}

func (s slowly) JobDetails(ctx context.Context, job ids.JobID) (msg.JobDetails, error) {
	select {
	case <-s.open:
		return s.oneJob.JobDetails(ctx, job)
	case <-ctx.Done():
		return msg.JobDetails{}, ctx.Err()
	}
}

func (oneJob) TaskExecutors(context.Context) ([]msg.TaskExecutorDetails, error) { return nil, nil }

func (oneJob) SlotSupply(context.Context) (msg.SlotSupply, error) { return msg.SlotSupply{}, nil }

// site is an application. YARN answers when report does.
type site struct {
	access launch.Access
	report func(ctx context.Context) (records.ApplicationReport, error)
}

func (site) Application() string { return "application_1700000000000_0001" }

func (s site) Report(ctx context.Context) (records.ApplicationReport, error) { return s.report(ctx) }

func (s site) Reach(context.Context) (*client.ClusterClient, error) {
	return client.NewClusterClient(s.access)
}

// Explain asks YARN.
func (s site) Explain(ctx context.Context, _ *client.ClusterClient, err error) error {
	if report, failed := s.report(ctx); failed == nil {
		return &client.ReplacingError{Report: report}
	}
	return err
}

// TestASilentYARNDoesNotDelayTheView would catch a view that asks YARN first and shows nothing while YARN is silent; one that
// asks for the ApplicationMaster only when YARN answers; and one that does not end then.
func TestASilentYARNDoesNotDelayTheView(t *testing.T) {
	silent := func(ctx context.Context) (records.ApplicationReport, error) {
		<-ctx.Done()
		return records.ApplicationReport{}, ctx.Err()
	}
	application := site{resttest.Serve(t, oneJob{}, rest.Config{}), silent}
	terminal, ended := ptytest.On(t, 80, 24, func(screen *os.File) error {
		_, err := Run(t.Context(), Request{Site: application, In: screen, Out: screen})
		return err
	})
	terminal.Await(0, "Vertices of clicks by user")
	terminal.Type("q")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTheFirstLookIsShownInParts would catch an empty screen until the last answer of a slow ApplicationMaster.
func TestTheFirstLookIsShownInParts(t *testing.T) {
	open := make(chan struct{})
	away := func(context.Context) (records.ApplicationReport, error) {
		return records.ApplicationReport{}, run.ErrNoYARN
	}
	application := site{resttest.Serve(t, slowly{open: open}, rest.Config{}), away}
	terminal, ended := ptytest.On(t, 80, 24, func(screen *os.File) error {
		_, err := Run(t.Context(), Request{Site: application, In: screen, Out: screen})
		return err
	})
	at := terminal.Await(terminal.Await(0, "Vertices of clicks by user"), asking)
	close(open)
	terminal.Await(at, "no workers")
	terminal.Type("q")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTheViewSaysThatYARNIsSilent would catch a state that looks true although nobody says so any more.
func TestTheViewSaysThatYARNIsSilent(t *testing.T) {
	away := func(context.Context) (records.ApplicationReport, error) {
		return records.ApplicationReport{}, run.ErrYARNAway
	}
	var told []Event
	if wait := report(t.Context(), site{report: away}, func(e Event) { told = append(told, e) }); wait != reportInterval {
		t.Errorf("asks again after %v", wait)
	}
	if diff := cmp.Diff([]Event{Unheard{}}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestAnApplicationMasterThatDoesNotAnswerIsToldAtOnce would catch a picture that looks true until YARN has said why it is
// not, and a view that asks rarely because YARN is slow.
func TestAnApplicationMasterThatDoesNotAnswerIsToldAtOnce(t *testing.T) {
	access := resttest.Serve(t, oneJob{}, rest.Config{})
	access.Address = "127.0.0.1:1" // nobody listens there
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		slow := func(ctx context.Context) (r records.ApplicationReport, err error) {
			r.State = records.ApplicationAccepted
			return r, pause.For(ctx, time.Minute)
		}
		a := asker{site: site{access, slow}}
		var after []time.Duration
		var told []Missed
		wait := a.ask(t.Context(), Asked{}, func(e Event) {
			missed, is := e.(Missed)
			if !is {
				t.Errorf("told %#v", e)
			}
			told, after = append(told, missed), append(after, time.Since(began))
		})
		if diff := cmp.Diff([]time.Duration{0, time.Minute}, after); diff != "" {
			t.Fatalf("told after (-want +got):\n%s", diff)
		}
		if told[0].Replacing || !told[1].Replacing {
			t.Errorf("told %+v", told)
		}
		if wait != lookInterval {
			t.Errorf("the next look is %v later", wait)
		}
	})
}

// TestTheNextLookComesSoonAfterAMiss would catch a view that shows the next ApplicationMaster only after a minute, because
// the last look at the old one has taken its whole time.
func TestTheNextLookComesSoonAfterAMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frozen := frozenSite{}
		a := asker{site: frozen}
		if wait := a.ask(t.Context(), Asked{}, func(Event) {}); wait != askTimeout {
			t.Errorf("the next look is %v later", wait)
		}
	})
}

// frozenSite never connects to its ApplicationMaster.
type frozenSite struct{ site }

func (frozenSite) Reach(ctx context.Context) (*client.ClusterClient, error) {
	<-ctx.Done()
	return nil, errors.Join(errors.New("no answer"), ctx.Err())
}
