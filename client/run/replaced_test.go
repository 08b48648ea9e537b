package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// oneJob is the job of these tests.
const oneJob = ids.JobID("0123456789abcdef0123456789abcdef")

// succession is a session whose first ApplicationMaster dies at some time, and is replaced.
type succession struct {
	first, second connect
	mu            sync.Mutex // guards what follows
	dead          bool       // the first one is
	asked         int        // how often YARN was asked since
	early         int        // how often the second one was looked for before it led
	stale         int        // for how many of these looks the address of the first one is still there
}

// connect makes a connection to an ApplicationMaster.
type connect func() (*client.ClusterClient, error)

func (s *succession) die() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = true
}

func (s *succession) String() string      { return "application_1_0002" }
func (s *succession) means() string       { return "-id application_1_0002" }
func (s *succession) Application() string { return "application_1_0002" }

func (s *succession) Report(context.Context) (records.ApplicationReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	report := records.ApplicationReport{State: records.ApplicationRunning}
	report.Attempt.Attempt = 1
	if s.dead {
		if s.asked++; s.asked > 1 {
			report.Attempt.Attempt = 2
		}
		if s.asked == 2 {
			report.State = records.ApplicationAccepted
		}
	}
	return report, nil
}

func (s *succession) Attempts(context.Context) ([]records.AttemptReport, error) {
	return nil, ErrNoYARN
}

func (s *succession) Explain(_ context.Context, _ *client.ClusterClient, err error) error { return err }

// Reach finds the second ApplicationMaster only after some time.
func (s *succession) Reach(context.Context) (*client.ClusterClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dead {
		return s.first()
	}
	switch s.early++; {
	case s.early <= s.stale:
		return s.first()
	case s.early < 3:
		return nil, &client.ReplacingError{}
	case s.early < 5:
		return nil, client.ErrEnding
	case s.early < 7: // HDFS does not answer
		return nil, fmt.Errorf("read access: %w", &yarnrpc.CallError{Err: syscall.ECONNREFUSED})
	}
	return s.second()
}

// sessionAt is a command that follows jobs of this session.
func sessionAt(site Site, out io.Writer) *session {
	return &session{site: site, Request: Request{Journal: NewJournal(out, time.Now(), false), limits: limitsOf(config.Config{})}}
}

// bringing is a command that brings a program to this session, and submits its jobs.
func bringing(t *testing.T, site Site, out io.Writer) *session {
	t.Helper()
	s := sessionAt(site, out)
	s.program = program.Program{Path: executable(t, program.Native(), ""), Name: "words", SHA256: strings.Repeat("1", 64)}
	return s
}

// served makes the connection to a master of this number.
func served(t *testing.T, number int32, g rest.Gateway, c rest.Config) connect {
	t.Helper()
	access := resttest.Serve(t, g, c)
	access.Attempt = number
	return func() (*client.ClusterClient, error) { return client.NewClusterClient(access) }
}

// followed is the job of these tests, which the first ApplicationMaster has accepted.
func followed() *running {
	return &running{id: oneJob, name: "job words", application: "application_1_0002", attempt: 1, does: goesOn}
}

// life is an ApplicationMaster with one job.
type life struct {
	rest.Gateway
	pages map[int64]msg.CollectPage // by cursor; at another cursor it dies, once the state was asked for
	die   func()

	mu     sync.Mutex      // guards what follows
	states []msg.JobStatus // of the job, for one request each; the last one stays. None: there is no such job
	seen   bool            // the state was asked for
	ended  bool            // it has died
}

func (l *life) answer(err error) error {
	if l.ended {
		return msg.ErrEnding
	}
	return err
}

func (l *life) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.states) == 0 {
		return msg.JobDetails{}, msg.ErrJobNotFound
	}
	l.seen = true
	state := l.states[0]
	if len(l.states) > 1 {
		l.states = l.states[1:]
	}
	return msg.JobDetails{ID: job, Name: "words", Status: state}, l.answer(nil)
}

func (l *life) CollectPage(_ context.Context, _ ids.JobID, _ string, cursor int64, _ time.Duration) (msg.CollectPage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	page, is := l.pages[cursor]
	switch {
	case len(l.states) == 0:
		return page, msg.ErrJobNotFound
	case !is && !l.seen:
		return msg.CollectPage{Epoch: 10, Next: cursor}, nil
	case !is:
		l.ended = true
		l.die()
	}
	return page, l.answer(nil)
}

func (l *life) JobResult(context.Context, ids.JobID, time.Duration) (msg.JobEnded, error) {
	return msg.JobEnded{Status: msg.JobFinished}, nil
}

// TestAClientFollowsTheNextMaster would catch a client that gives up a job which the next ApplicationMaster has, or that
// says so again and again, for as long as the address of the last one is there; records that come twice or are lost, whether
// the job runs again or had ended; and a client that waits for a job which was lost.
func TestAClientFollowsTheNextMaster(t *testing.T) {
	const told = "the ApplicationMaster of application_1_0002 has been replaced: attempt 2 goes on\n"
	for name, c := range map[string]struct {
		next      *life
		collected string
		says      string
		err       string
	}{
		"the job runs again": {
			&life{
				states: []msg.JobStatus{msg.JobInitializing, msg.JobCreated, msg.JobRunning, msg.JobFinished},
				pages:  map[int64]msg.CollectPage{5: {Epoch: 20, Next: 9, Records: []byte("b"), End: true}},
			}, "10 a\n20 b\n", "job is RUNNING\n" + told + "job words is FINISHED after 0s\n", "",
		},
		"the job had ended": {
			&life{
				states: []msg.JobStatus{msg.JobFinished},
				pages:  map[int64]msg.CollectPage{5: {Epoch: 10, Next: 9, Records: []byte("c"), End: true}},
			}, "10 a\n10 c\n", "job is RUNNING\n" + told + "job words is FINISHED after 0s\n", "",
		},
		"the job restarts there": {
			&life{
				states: []msg.JobStatus{msg.JobRunning, msg.JobRestarting, msg.JobRunning, msg.JobFinished},
				pages:  map[int64]msg.CollectPage{5: {Epoch: 20, Next: 9, End: true}},
			}, "10 a\n20 \n", "job is RUNNING\n" + told + "job is RUNNING\njob words is FINISHED after 0s\n", "",
		},
		"nothing outlives the first": {&life{}, "10 a\n", "job is RUNNING\n" + told, "was lost with the previous one: run it again"},
	} {
		t.Run(name, func(t *testing.T) {
			site := &succession{stale: 4}
			first := &life{states: []msg.JobStatus{msg.JobRunning}, die: site.die, pages: map[int64]msg.CollectPage{0: {Epoch: 10, Next: 5, Records: []byte("a")}}}
			site.first, site.second = served(t, 1, first, rest.Config{}), served(t, 2, c.next, rest.Config{})
			var out, collected bytes.Buffer
			d, err := driver.Start(t.Context(), os.Args[0], []string{repeating}, driver.Options{Stdout: &collected, Stderr: os.Stderr})
			if err != nil {
				t.Fatal(err)
			}
			s := sessionAt(site, &out)
			job := followed()
			s.Outcome.begin(job.id, "words")
			unfinished, err := s.runner().follow(t.Context(), d, job, collecting())
			if unfinished != nil || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("unfinished %v, error %v, want %q", unfinished, err, c.err)
			}
			if err := d.Close(); err != nil && c.err == "" {
				t.Error(err)
			}
			if diff := cmp.Diff(c.says, out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.collected, collected.String()); diff != "" {
				t.Errorf("the driver is told (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheAddressOfTheLastMasterIsNotTaken would catch a client that asks a dead ApplicationMaster again and again without a
// pause, because the next one has not replaced the address yet, and an access file that is of no use.
func TestTheAddressOfTheLastMasterIsNotTaken(t *testing.T) {
	site := &succession{dead: true, stale: 3, first: served(t, 1, &life{}, rest.Config{}), second: served(t, 2, &life{}, rest.Config{})}
	s := sessionAt(site, io.Discard)
	reached, err := s.runner().reach(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reached.Close)
	if reached.Attempt != 2 {
		t.Errorf("reached attempt %d", reached.Attempt)
	}
	cluster := clusterOfTwo(t)
	job := targetOn(t, cluster, &bytes.Buffer{})
	if _, err := job.submit(t.Context(), collecting()); err != nil {
		t.Fatal(err)
	}
	if _, err := job.app.AwaitServing(t.Context(), func(records.ApplicationReport) {}); err != nil {
		t.Fatal(err)
	}
	for attempt, want := range map[int32]error{1: nil, 2: client.ErrReplacing} {
		if _, err := Access(t.Context(), &onYARN{cluster: cluster, id: job.app.ID}, attempt); !errors.Is(err, want) {
			t.Errorf("access to attempt %d: %v, want %v", attempt, err, want)
		}
	}
}

// TestAMasterMayBeReplacedBeforeItsClientFollows would catch a lost job that seems to have ended long ago, and a user who does
// not learn that the ApplicationMaster is another one.
func TestAMasterMayBeReplacedBeforeItsClientFollows(t *testing.T) {
	site := &succession{dead: true, early: 100, second: served(t, 2, &life{}, rest.Config{})}
	var out bytes.Buffer
	s := sessionAt(site, &out)
	job := followed()
	_, err := s.runner().follow(t.Context(), nil, job, &jobgraph.JobGraph{Name: "words"})
	if err == nil || !strings.Contains(err.Error(), "was lost with the previous one: run it again") {
		t.Errorf("got %v", err)
	}
	if want := "the ApplicationMaster of application_1_0002 has been replaced: attempt 2 goes on\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// TestADetachedJobIsSetUpByTheNextMaster would catch a command that says that a job runs which was lost, and one that fails
// although the next ApplicationMaster has the job.
func TestADetachedJobIsSetUpByTheNextMaster(t *testing.T) {
	const told = "the ApplicationMaster of application_1_0002 has been replaced: attempt 2 goes on\n"
	for name, c := range map[string]struct {
		next *life
		want msg.JobStatus
		err  string
	}{
		"it has the job":   {&life{states: []msg.JobStatus{msg.JobInitializing, msg.JobRunning}}, msg.JobRunning, ""},
		"it has no memory": {&life{}, "", "was lost with the previous one: run it again"},
	} {
		site := &succession{}
		first := &life{states: []msg.JobStatus{msg.JobInitializing}, ended: true}
		site.first = func() (*client.ClusterClient, error) {
			reached, err := served(t, 1, first, rest.Config{})()
			site.dead = true // Reach holds the lock
			return reached, err
		}
		site.second = served(t, 2, c.next, rest.Config{})
		var out bytes.Buffer
		s := sessionAt(site, &out)
		state, err := s.runner().initialized(t.Context(), followed())
		if state.Status != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || out.String() != told {
			t.Errorf("%s: job is %q, error %v, printed %q", name, state.Status, err, out.String())
		}
	}
}

// heir takes jobs. The first ApplicationMaster dies when it has one, before it answers.
type heir struct {
	*forgetful
	die  func()    // nil: it lives on
	took ids.JobID // by the ApplicationMaster before
}

func (h heir) SubmitJob(ctx context.Context, job restapi.JobSubmission) error {
	if job.Job == h.took {
		return msg.ErrJobExists
	}
	if h.die != nil && len(h.submitted) > 0 {
		return msg.ErrEnding
	}
	if err := h.forgetful.SubmitJob(ctx, job); err != nil || h.die == nil {
		return err
	}
	h.die()
	panic(http.ErrAbortHandler) // breaks the connection
}

// TestASubmissionIsRepeatedAtTheNextMaster would catch a job that runs twice or not at all, because its ApplicationMaster
// died when it had the job, and a program that the next one does not get.
func TestASubmissionIsRepeatedAtTheNextMaster(t *testing.T) {
	for _, outlives := range []bool{true, false} {
		site := &succession{}
		first, second := &forgetful{has: make(map[string]string)}, &forgetful{has: make(map[string]string)}
		next := &heir{forgetful: second}
		before := heir{forgetful: first, die: func() {
			if outlives {
				next.took = first.submitted[0].Job
			}
			site.die()
		}}
		site.first, site.second = served(t, 1, before, rest.Config{Session: before}), served(t, 2, next, rest.Config{Session: next})
		var out bytes.Buffer
		s := bringing(t, site, &out)
		end := s.open(t.Context())
		job, err := s.submit(t.Context(), collecting())
		if err != nil {
			t.Fatal(err)
		}
		again := 0
		if !outlives {
			again = 1
		}
		if len(first.submitted) != 1 || len(second.submitted) != again || job.id != first.submitted[0].Job || again == 1 && job.id != second.submitted[0].Job {
			t.Errorf("outlives %t: job %s, submitted %d times and %d times", outlives, job.id, len(first.submitted), len(second.submitted))
		}
		want := fmt.Sprintf("the ApplicationMaster of application_1_0002 has been replaced: attempt 2 goes on\nsubmitted job words (%s) to application_1_0002\n", job.id)
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("outlives %t: printed %q, want %q", outlives, out.String(), want)
		}
		end()
	}
}

// leaving is a session that takes no jobs any more.
type leaving struct {
	*forgetful
	asked int
}

func (l *leaving) SubmitJob(context.Context, restapi.JobSubmission) error {
	l.asked++
	return msg.ErrEnding
}

// TestAReplacementIsToldOnce would catch a program with several jobs that prints the same replacement again for the next
// job, and one that first submits it to the ApplicationMaster that is known to be gone.
func TestAReplacementIsToldOnce(t *testing.T) {
	site := &succession{}
	first, second := &leaving{forgetful: &forgetful{has: make(map[string]string)}}, &forgetful{has: make(map[string]string)}
	site.first, site.second = served(t, 1, first, rest.Config{Session: first}), served(t, 2, second, rest.Config{Session: second})
	var out bytes.Buffer
	s := bringing(t, site, &out)
	end := s.open(t.Context())
	defer end()
	if <-s.ready; s.failure != nil {
		t.Fatal(s.failure)
	}
	r := s.runner() // follows the program's first job
	job := followed()
	site.die()
	if !r.next(job, nextAttemptError{2}) {
		t.Error("the job is given up")
	}
	if _, err := s.submit(t.Context(), collecting()); err != nil { // the second one
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "has been replaced: attempt 2 goes on"); n != 1 || first.asked > 0 || len(second.submitted) != 1 {
		t.Errorf("told %d times, asked the first one %d times, submitted %d times: printed %q", n, first.asked, len(second.submitted), out.String())
	}
}

// breaking is a session whose ApplicationMaster dies during an upload.
type breaking struct {
	*forgetful
	die func()
}

func (b breaking) AddProgram(_ context.Context, _, _ string, content io.Reader) (details msg.ProgramDetails, err error) {
	if _, err = io.Copy(io.Discard, content); err != nil {
		return details, err
	}
	b.die()
	panic(http.ErrAbortHandler) // breaks the connection
}

// TestALongUploadIsRepeatedAtTheNextMaster would catch an upload that is given up as soon as its ApplicationMaster dies,
// because it has taken longer than client.timeout.
func TestALongUploadIsRepeatedAtTheNextMaster(t *testing.T) {
	site := &succession{}
	first, second := breaking{&forgetful{has: make(map[string]string)}, site.die}, &forgetful{has: make(map[string]string)}
	site.first, site.second = served(t, 1, first, rest.Config{Session: first}), served(t, 2, second, rest.Config{Session: second})
	s := bringing(t, site, io.Discard)
	s.limits = limits{patience: time.Nanosecond}
	end := s.open(t.Context())
	defer end()
	if <-s.ready; s.failure != nil || len(second.uploads) != 1 {
		t.Errorf("uploaded %q, %v", second.uploads, s.failure)
	}
	synctest.Test(t, func(t *testing.T) {
		reached, err := site.first()
		if err != nil {
			t.Fatal(err)
		}
		s := sessionAt(&succession{dead: true, early: 100, second: site.second}, io.Discard)
		s.reached = reached
		calls := 0
		err = s.persist(t.Context(), func(context.Context) error {
			if calls++; s.reached.Attempt == 2 {
				return nil
			}
			time.Sleep(2 * s.patience) // until the session can refuse it
			return errRefused
		})
		s.reached.Close()
		if err != nil {
			t.Errorf("a first request that takes long: %v after %d calls", err, calls)
		}
	})
}

// TestAnUploadThatAlwaysBreaksIsGivenUp would catch a command that uploads a program for ever, because something between it
// and a living ApplicationMaster breaks each upload, and one that gives up although each try brings one more file.
func TestAnUploadThatAlwaysBreaksIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	times := 0
	master := breaking{&forgetful{has: make(map[string]string)}, func() {
		if times++; times == 100 {
			cancel()
		}
	}}
	site := &succession{first: served(t, 1, master, rest.Config{Session: master})}
	s := bringing(t, site, io.Discard)
	s.limits = limits{patience: 100 * time.Millisecond, patienceTold: "client.timeout 100 ms"}
	end := s.open(ctx)
	<-s.ready
	if s.failure == nil || !strings.Contains(s.failure.Error(), "given up (client.timeout 100 ms): bring program words to application_1_0002: ") {
		t.Errorf("after %d uploads: %v", times, s.failure)
	}
	end()
	for _, files := range []int{1, 6} {
		synctest.Test(t, func(t *testing.T) {
			s := sessionAt(&succession{}, io.Discard)
			s.reached = &client.ClusterClient{Attempt: 1}
			calls := 0
			err := s.persist(t.Context(), func(context.Context) error {
				if calls++; calls == 6 {
					return nil
				}
				s.heard, s.brought = time.Now(), min(calls, files)
				time.Sleep(3 * s.patience / 4)
				return errRefused
			})
			if (err == nil) != (files == 6) {
				t.Errorf("%d files came one by one: %v after %d calls", files, err, calls)
			}
		})
	}
}

// TestACancellationIsRepeatedAtTheNextMaster would catch a job that goes on although it was to end with its client.
func TestACancellationIsRepeatedAtTheNextMaster(t *testing.T) {
	site := &succession{}
	first, second := &cancelled{}, &cancelled{}
	first.die = site.die
	site.first, site.second = served(t, 1, first, rest.Config{}), served(t, 2, second, rest.Config{})
	s := sessionAt(site, io.Discard)
	if err := s.runner().cancel(t.Context(), &running{id: oneJob}); err != nil || first.times != 1 || second.times != 1 {
		t.Errorf("cancelled %d times and %d times, %v", first.times, second.times, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	site.early = -1 << 30
	time.AfterFunc(10*time.Millisecond, func() { cancel(ErrInterrupted) })
	if err := s.runner().cancel(ctx, &running{id: oneJob}); !errors.Is(err, ErrInterrupted) {
		t.Errorf("while there is none: %v", err)
	}
}

// cancelled is an ApplicationMaster whose job is cancelled. If it has to die, it does so after that.
type cancelled struct {
	rest.Gateway
	die   func()
	times int
}

func (c *cancelled) CancelJob(context.Context, ids.JobID) error {
	c.times++
	return nil
}

func (c *cancelled) JobResult(context.Context, ids.JobID, time.Duration) (msg.JobEnded, error) {
	if c.die != nil {
		c.die()
		return msg.JobEnded{}, msg.ErrEnding
	}
	return msg.JobEnded{Status: msg.JobCanceled}, nil
}
