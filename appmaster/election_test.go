package appmaster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// decided is an Election whose decision is known. Meanwhile it asks the attempt's REST port.
type decided struct {
	ha.Election
	term   ha.Term
	err    error
	during func(context.Context)
}

func (d decided) Lead(ctx context.Context) (ha.Term, error) {
	d.during(ctx)
	return d.term, d.err
}

// unremovable is a store that stays.
type unremovable struct{ ha.Store }

func (unremovable) Remove(context.Context) error { return os.ErrPermission }

// TestAnAttemptThatDoesNotLead would catch an attempt that leads before YARN knows it, that lets clients wait meanwhile, or
// tells them anything else than that they have to wait; one that was replaced and changes something, or ends as if it had not
// started; one that starts anew what an earlier one has ended, or tells YARN of another end; and one that removes the files
// which name what it could not remove.
func TestAnAttemptThatDoesNotLead(t *testing.T) {
	t.Parallel()
	attempt := ha.NewMemory().Election(1)
	ended, err := attempt.Lead(t.Context())
	if err == nil {
		err = ended.Store.End(t.Context(), ha.Outcome{Status: msg.ApplicationFailed, Diagnostics: "disk is full"})
	}
	if err == nil {
		ended, err = attempt.Lead(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	left := ended
	left.Store = unremovable{ended.Store}
	for name, c := range map[string]struct {
		term       ha.Term
		err        error
		want       dispatcher.Outcome
		wantErr    error
		notStarted bool
		lines      []string
		filesStay  bool
		elsewhere  bool // what is stored is not with the staged files
	}{
		"a later one leads":          {err: fmt.Errorf("lead: %w", ha.ErrSuperseded), wantErr: ha.ErrSuperseded, filesStay: true},
		"there is nothing to lead":   {err: fmt.Errorf("lead: %w", ha.ErrNothing), wantErr: ha.ErrNothing, notStarted: true, filesStay: true},
		"an earlier one has ended":   {term: ended, want: dispatcher.Outcome(*ended.Outcome), lines: []string{`deregister FAILED "disk is full"`}},
		"what is stored there stays": {term: left, want: dispatcher.Outcome(*ended.Outcome), lines: []string{`deregister FAILED "disk is full"`}},
		"what is stored elsewhere stays": {
			term: left, want: dispatcher.Outcome(*ended.Outcome), lines: []string{`deregister FAILED "disk is full"`}, filesStay: true, elsewhere: true,
		},
		"it cannot read the decision": {err: os.ErrPermission, wantErr: os.ErrPermission, notStarted: true, filesStay: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkers(t, dataflowtest.NewFiles(nil))
			env := testEnvironment(t, "file://"+t.TempDir())
			var known atomic.Bool
			m, err := build(t.Context(), time.Now(), env, quiet(), func(_ *process, s Supply, _ *clienttoam.Verifier) (resourcemanager.WorkerProvider, error) {
				return registering{w, func() {
					known.Store(true)
					s.Registered("")
				}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			w.mux = m.Mux()
			m.leads = func(*led) { t.Error("the attempt serves") }
			if m.outside.Launch.HighAvailability = m.outside.Launch.StagingDir; c.elsewhere {
				m.outside.Launch.HighAvailability = "hdfs://nn/ha/application_1_0001"
			}
			during := func(ctx context.Context) {
				if !known.Load() {
					t.Error("the attempt leads before YARN knows it")
				}
				if status, err := statusOf(ctx, m.ports.rest.Addr().String()); err != nil || status != http.StatusServiceUnavailable {
					t.Errorf("meanwhile clients get status %d, error %v", status, err)
				}
			}
			m.outside.Election = decided{m.outside.Election, c.term, c.err, during}
			outcome, err := m.run(t.Context())
			if !errors.Is(err, c.wantErr) || errors.Is(err, ErrNotStarted) != c.notStarted || outcome != c.want {
				t.Errorf("run = %+v, %v; want %+v, %v, not started: %t", outcome, err, c.want, c.wantErr, c.notStarted)
			}
			if diff := cmp.Diff(c.lines, w.lines()); diff != "" {
				t.Errorf("YARN and workers are told (-want +got):\n%s", diff)
			}
			if stay := (&started{staging: env.launch.StagingDir[len("file://"):]}).filesStay(); stay != c.filesStay {
				t.Errorf("staged files stay: %t", stay)
			}
		})
	}
}

// unannounced is a store that asks REST while it publishes the address. Then a later attempt leads.
type unannounced struct {
	ha.Store
	during func(context.Context)
}

func (u unannounced) Publish(ctx context.Context, _ string, _ []byte) error {
	u.during(ctx)
	return ha.ErrSuperseded
}

// TestClientsWaitWhileTheAddressIsNotPublished would catch clients that get no answer while HDFS is away when the attempt
// publishes its address, and an owner who finds another certificate there than that of the application.
func TestClientsWaitWhileTheAddressIsNotPublished(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
	w := newWorkers(t, files)
	env := testEnvironment(t, "file://"+t.TempDir())
	stage(t, env, files)
	m, err := build(t.Context(), time.Now(), env, quiet(), func(_ *process, s Supply, _ *clienttoam.Verifier) (resourcemanager.WorkerProvider, error) {
		return registering{w, func() { s.Registered("") }}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.mux = m.Mux()
	term, err := ha.NewMemory().Election(1).Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	term.Store = unannounced{term.Store, func(ctx context.Context) {
		asked = true
		owners, err := pki.RESTClientTLS(m.keys.front.Authority())
		if err != nil {
			t.Error(err)
			return
		}
		if status, err := statusFor(ctx, owners, m.ports.rest.Addr().String()); err != nil || status != http.StatusServiceUnavailable {
			t.Errorf("the owner gets status %d, error %v", status, err)
		}
	}}
	m.outside.Election = decided{m.outside.Election, term, nil, func(context.Context) {}}
	if _, err := m.run(t.Context()); !errors.Is(err, ha.ErrSuperseded) || !asked {
		t.Errorf("run: error %v; it has published: %t", err, asked)
	}
}

// statusOf is the status of the answer of REST to somebody who accepts any certificate.
func statusOf(ctx context.Context, address string) (int, error) {
	return statusFor(ctx, &tls.Config{InsecureSkipVerify: true}, address)
}

func statusFor(ctx context.Context, accepts *tls.Config, address string) (int, error) {
	stranger := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: accepts}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/"+launch.AccessFile, nil)
	if err != nil {
		return 0, err
	}
	response, err := stranger.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
