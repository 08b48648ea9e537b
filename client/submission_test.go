package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// keeping is a session that runs each job once, like a Dispatcher.
type keeping struct {
	sessionGateway
	jobs map[ids.JobID]error // that it has; nil: it runs
}

func (k *keeping) SubmitJob(_ context.Context, job restapi.JobSubmission) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refusal != nil {
		return k.refusal
	}
	if ended, known := k.jobs[job.Job]; known {
		if ended != nil {
			return ended
		}
		return fmt.Errorf("%w: %s", msg.ErrJobExists, job.Job)
	}
	k.jobs[job.Job] = nil
	k.submitted = append(k.submitted, job)
	return nil
}

func (k *keeping) ClientSeen(_ context.Context, job ids.JobID) error { return k.find("beat", job) }

func (k *keeping) CancelJob(_ context.Context, job ids.JobID) error {
	err := k.find("cancel", job)
	if err != nil { // its submission may be on its way
		k.mu.Lock()
		defer k.mu.Unlock()
		k.jobs[job] = msg.ErrJobWithdrawn
	}
	return err
}

func (k *keeping) find(what string, job ids.JobID) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ended, known := k.jobs[job]; !known || errors.Is(ended, msg.ErrJobWithdrawn) {
		return msg.ErrJobNotFound
	}
	k.did = append(k.did, what)
	return nil
}

// losing loses messages between client and session.
type losing struct {
	to   http.RoundTripper
	ways []way // of the next requests; then they arrive
	late *http.Request
}

// anyProgram is the hash of a program.
var anyProgram = strings.Repeat("0", 64)

// way is what happens to a request.
type way int

const (
	arrives way = iota
	losesAnswer
	losesRequest
	findsNobody
	comesLate // after the next one
)

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	way := arrives
	if len(l.ways) > 0 {
		way, l.ways = l.ways[0], l.ways[1:]
	}
	switch way {
	case arrives:
		response, err := l.to.RoundTrip(r)
		if late := l.late; late != nil && err == nil {
			l.late = nil
			var nobodys *http.Response
			if nobodys, err = l.to.RoundTrip(late); err == nil {
				err = nobodys.Body.Close()
			}
		}
		return response, err
	case comesLate:
		wrote(r)
		l.late = r.Clone(context.WithoutCancel(r.Context()))
		return nil, &net.OpError{Op: "read", Err: syscall.ETIMEDOUT}
	case losesAnswer:
		response, err := l.to.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		return nil, errors.Join(response.Body.Close(), io.ErrUnexpectedEOF)
	case losesRequest:
		wrote(r)
		return nil, &net.OpError{Op: "write", Err: syscall.ECONNRESET}
	default:
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
}

// wrote reports the start of a request, like a transport.
func wrote(r *http.Request) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
		trace.WroteHeaders()
	}
}

// lossy is a session behind a network that loses these requests.
func lossy(t *testing.T, ways ...way) (*keeping, *ClusterClient) {
	t.Helper()
	k := &keeping{jobs: make(map[ids.JobID]error)}
	c := connect(t, resttest.Serve(t, k, rest.Config{Session: k}))
	c.http.Transport = &losing{to: c.http.Transport, ways: ways}
	return k, c
}

// TestALostAnswerIsNoFailedSubmission would catch a command that reports a failure for a job that runs, and one
// that reports a submission for a job that does not.
func TestALostAnswerIsNoFailedSubmission(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ways    []way
		between func(*keeping, ids.JobID) // the two tries
		status  int                       // of the second try's error; 0: there is none
		runs    bool
	}{
		"nothing is lost":                 {nil, nil, 0, true},
		"the answer is lost":              {[]way{losesAnswer}, nil, 0, true},
		"the request is lost":             {[]way{losesRequest}, nil, 0, true},
		"nobody was there":                {[]way{findsNobody}, nil, 0, true},
		"the job has ended meanwhile":     {[]way{losesAnswer}, func(k *keeping, id ids.JobID) { k.jobs[id] = msg.ErrJobEnded }, 0, true},
		"somebody cancels it meanwhile":   {[]way{losesRequest}, func(k *keeping, id ids.JobID) { _ = k.CancelJob(t.Context(), id) }, http.StatusGone, false},
		"the session takes no more":       {[]way{losesAnswer}, func(k *keeping, _ ids.JobID) { k.refusal = msg.ErrNotReady }, 0, true},
		"the session took none":           {[]way{losesRequest}, func(k *keeping, _ ids.JobID) { k.refusal = msg.ErrNotReady }, http.StatusServiceUnavailable, false},
		"the session took none, and ends": {[]way{losesRequest}, func(k *keeping, _ ids.JobID) { k.refusal = msg.ErrEnding }, http.StatusServiceUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, client := lossy(t, c.ways...)
			s := NewSubmission(restapi.JobSubmission{Program: restapi.ProgramID{SHA256: anyProgram}})
			err := s.Bring(t.Context(), client)
			if len(c.ways) > 0 {
				if !Gone(err) {
					t.Fatalf("first try: %v", err)
				}
				if c.between != nil {
					c.between(k, s.ID())
				}
				err = s.Bring(t.Context(), client)
			}
			status, refused := errors.AsType[*StatusError](err)
			if c.status == 0 && err != nil || c.status != 0 && (!refused || status.Status != c.status) {
				t.Errorf("got %v, want status %d", err, c.status)
			}
			if runs := len(k.submitted) == 1 && k.submitted[0].Job == s.ID(); runs != c.runs || len(k.submitted) > 1 {
				t.Errorf("submitted %v, want the job: %t", k.submitted, c.runs)
			}
		})
	}
}

// TestAnotherJobOfThisIDIsAnError would catch a job that counts as submitted because another one has its id.
func TestAnotherJobOfThisIDIsAnError(t *testing.T) {
	t.Parallel()
	for _, ways := range [][]way{nil, {findsNobody}} {
		k, client := lossy(t, ways...)
		s := NewSubmission(restapi.JobSubmission{Job: runningJob, Program: restapi.ProgramID{SHA256: anyProgram}})
		if s.ID() == runningJob || len(s.ID()) != 32 {
			t.Errorf("the job's id is %q", s.ID())
		}
		k.jobs[s.ID()] = nil
		var err error
		for range len(ways) + 1 {
			err = s.Bring(t.Context(), client)
		}
		if refused, is := errors.AsType[*StatusError](err); !is || refused.Status != http.StatusConflict {
			t.Errorf("got %v, want a conflict", err)
		}
	}
}

// TestASubmissionThatFailsLeavesNoJob would catch a command that is interrupted, or gives up, and whose job
// still runs, and one that does not say so if it cannot prevent that.
func TestASubmissionThatFailsLeavesNoJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ways     []way
		cancels  bool
		mayRun   bool
		canceled bool // the context
	}{
		"the answer is lost":                 {ways: []way{losesAnswer}, cancels: true},
		"the answer is lost, and by Ctrl-C":  {ways: []way{losesAnswer}, cancels: true, canceled: true},
		"the request is lost":                {ways: []way{losesRequest}},
		"nobody was there":                   {ways: []way{findsNobody}},
		"the request comes after the cancel": {ways: []way{comesLate}},
		"the session is silent from then on": {ways: []way{losesAnswer, losesRequest}, mayRun: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, client := lossy(t, c.ways...)
			s := NewSubmission(restapi.JobSubmission{Program: restapi.ProgramID{SHA256: anyProgram}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := s.Bring(ctx, client); err == nil {
				t.Fatal("nothing is lost")
			}
			if c.canceled {
				cancel()
			}
			err := s.Withdraw(ctx, client)
			if errors.Is(err, ErrLeftBehind) != c.mayRun || err != nil != c.mayRun {
				t.Errorf("got %v, and the job may run: %t", err, c.mayRun)
			}
			if got := slices.Contains(k.did, "cancel"); got != c.cancels {
				t.Errorf("cancelled: %t, want %t", got, c.cancels)
			}
			if runs := len(k.submitted) > 0; runs && !c.cancels && !c.mayRun {
				t.Errorf("submitted %v, and nobody ends it", k.submitted)
			}
		})
	}
}

// TestAJobThatWasNeverSentDoesNotRun would catch the message that a job may run although no session has it:
// there is no session, or its certificate is the wrong one.
func TestAJobThatWasNeverSentDoesNotRun(t *testing.T) {
	t.Parallel()
	k := &keeping{jobs: make(map[ids.JobID]error)}
	impostor, nowhere := resttest.Serve(t, k, rest.Config{Session: k}), resttest.Serve(t, k, rest.Config{Session: k})
	impostor.Authority, nowhere.Address = nowhere.Authority, "127.0.0.1:1"
	for _, access := range []launch.Access{impostor, nowhere} {
		client := connect(t, access)
		s := NewSubmission(restapi.JobSubmission{Program: restapi.ProgramID{SHA256: anyProgram}})
		if err := s.Bring(t.Context(), client); err == nil || len(k.submitted) > 0 {
			t.Errorf("%s: brought with error %v; it has %v", access.Address, err, k.submitted)
		}
		if err := s.Withdraw(t.Context(), client); err != nil {
			t.Errorf("%s: %v", access.Address, err)
		}
	}
}

// TestALostAnswerOfYARNIsNoFailedSubmission would catch an application that runs although the client reports a
// refusal, or two applications: the id from YARN identifies an application as a job id does a job.
func TestALostAnswerOfYARNIsNoFailedSubmission(t *testing.T) {
	t.Parallel()
	for _, lost := range []yarnfake.When{yarnfake.Before, yarnfake.After} {
		fake := fakeCluster(t, yarnfake.Config{})
		yarn := seenBy(t, "alice", fake, fake.Conf()).YARN
		created, err := yarn.NewApplication(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fake.Drop("submitApplication", lost)
		report, err := yarn.Submit(t.Context(), records.SubmissionContext{
			ID: created.ID, Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
		})
		if err != nil || report.ID != created.ID || report.State.Terminal() {
			t.Errorf("submitted %s, which is %s: %v", report.ID, report.State, err)
		}
		all, err := yarn.Applications(t.Context(), yarnclient.Filter{})
		if err != nil || len(all) != 1 {
			t.Errorf("YARN has %v, %v", all, err)
		}
	}
}
