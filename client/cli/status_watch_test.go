package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// scriptedSite is an application that is reached, and reported, as the steps of a script say.
type scriptedSite struct {
	run.Site
	steps []step
	began time.Time
	looks []time.Duration // when each began
}

// step is one look.
type step struct {
	reach  error // nil: the ApplicationMaster is frozen
	report error // that of YARN
}

func (s *scriptedSite) Reach(ctx context.Context) (*client.ClusterClient, error) {
	s.looks = append(s.looks, time.Since(s.began))
	if err := s.now().reach; err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, fmt.Errorf("reach it: %w", ctx.Err())
}

// now is the step of the present look; the last one goes on.
func (s *scriptedSite) now() step { return s.steps[min(len(s.looks), len(s.steps))-1] }

func (s *scriptedSite) Report(context.Context) (records.ApplicationReport, error) {
	return records.ApplicationReport{State: records.ApplicationRunning}, s.now().report
}

func (s *scriptedSite) Attempts(context.Context) ([]records.AttemptReport, error) {
	return nil, run.ErrNoYARN
}

// TestAWatchedStatusGoesOn would catch a status -w that ends although the application runs, because one answer of its
// ApplicationMaster is lost, or YARN is away for a while; one that hides that nothing answers; and one that waits for ever for an
// application that has never answered, or of an access file.
func TestAWatchedStatusGoesOn(t *testing.T) {
	in := func(state records.ApplicationState) error {
		return &client.NotRunningError{Report: records.ApplicationReport{State: state}}
	}
	starts, ended := step{reach: in(records.ApplicationAccepted)}, step{reach: in(records.ApplicationFinished)}
	lost := &url.Error{Op: "Get", URL: "https://am", Err: &net.OpError{Op: "read", Err: errors.New("broken off")}}
	unheard := &yarnrpc.CallError{Method: "getApplicationReport", Err: errors.New("refused")}
	away, none := fmt.Errorf("%w: refused", run.ErrYARNAway), run.ErrNoYARN
	const since = "nothing has answered since "
	for _, c := range []struct {
		name  string
		steps []step
		fails bool
		times int           // that it says since when nothing answers
		lasts time.Duration // at least
	}{
		{"one answer is lost", []step{starts, {lost, nil}, ended}, false, 0, 0},
		{"one answer is lost while YARN is away", []step{starts, {lost, away}, ended}, false, 1, 0},
		{"YARN is away for long", slices.Concat([]step{starts}, slices.Repeat([]step{{unheard, away}}, 100), []step{ended}), false, 1, 200 * time.Second},
		{"the ApplicationMaster is frozen", []step{starts, {nil, away}, ended}, false, 1, 14 * time.Second},
		{"one answer to an access file is lost", []step{starts, {lost, none}, ended}, false, 1, 0},
		{"no answer to an access file", []step{starts, {lost, none}}, true, 1, 30 * time.Second},
		{"YARN never answers", []step{{unheard, away}}, true, 0, 0},
		{"it may not look", []step{starts, {client.ErrNoAccess, nil}}, true, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := &scriptedSite{steps: c.steps, began: time.Now()}
				var out bytes.Buffer
				watching := call{Streams: run.Streams{Out: &out, Err: &out}, getenv: func(string) string { return "" }}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := watching.watchStatus(ctx, site, config.Config{})
				if (err != nil) != c.fails || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ends with %v and prints\n%s", err, out.String())
				}
				if got := strings.Count(out.String(), since); got != c.times {
					t.Errorf("it says %d times %q, not %d:\n%s", got, since, c.times, out.String())
				}
				if lasted := time.Since(site.began); lasted < c.lasts || lasted > c.lasts+20*time.Second {
					t.Errorf("it lasts %v; looks at %v", lasted, site.looks)
				}
			})
		})
	}
}

// reachable is an application whose ApplicationMaster is there.
type reachable struct{ run.Site }

func (reachable) Reach(context.Context) (*client.ClusterClient, error) {
	return new(client.ClusterClient), nil
}

// TestAnApplicationThatHasAnsweredGetsLessTime would catch an old status that stays for a minute, because a frozen ApplicationMaster
// does not answer.
func TestAnApplicationThatHasAnsweredGetsLessTime(t *testing.T) {
	for want, h := range map[time.Duration]hearing{0: {site: reachable{}}, watchTimeout: {site: reachable{}, heard: time.Now()}} {
		if reached, err := h.asked().Reach(t.Context()); err != nil || reached.Patience != want {
			t.Errorf("its patience is %v, want %v; %v", reached.Patience, want, err)
		}
	}
}
