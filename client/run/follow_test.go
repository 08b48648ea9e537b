package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// span is a period of a story, relative to the start of the story.
type span struct{ from, to time.Duration }

const forEver = 24 * time.Hour

// story is the course of an application. Its first master reports the job from the start until the end of the
// job, unless the master is silent.
type story struct {
	silent  []span        // the first master does not answer
	stands  bool          // a silent master accepts connections: it is frozen
	lobby   bool          // a silent master says that it does not lead yet
	ends    time.Duration // of the job; 0: never
	reports []reported    // YARN's states, by time; running from the start
	began   time.Time
	short   []span          // the job waits for slots
	slots   []time.Duration // when one more slot comes
	dumb    error           // the answer about slots; errStands: no answer
	asked   int             // the slots
	beats   []time.Duration // when heartbeats came
	looks   int             // at the job
	note    string          // how the job runs
	left    string          // what all that is left waits for
}

type reported struct {
	from    time.Duration
	state   records.ApplicationState
	attempt int32
	err     error
}

var (
	errRefused = &url.Error{Op: "Get", URL: "https://node:1", Err: syscall.ECONNREFUSED}
	errDenied  = errors.New("ResourceManager refuses to tell")
	errYARN    = fmt.Errorf("ask ResourceManager: %w", &yarnrpc.CallError{Address: "rm:8032", Method: "getApplicationReport", Err: syscall.ECONNREFUSED})
	errStands  = errors.New("server stands still") // it takes connections
)

func (s *story) now() time.Duration { return time.Since(s.began) }

// answer fails while the master is silent.
func (s *story) answer(ctx context.Context) error {
	switch {
	case !s.within(s.silent):
		return nil
	case s.lobby:
		return &url.Error{Op: "Get", URL: "https://node:1", Err: clienttoam.ErrNoKey}
	case !s.stands:
		return errRefused
	}
	<-ctx.Done()
	return &url.Error{Op: "Get", URL: "https://node:1", Err: ctx.Err()}
}

// within tells whether the present time is in one of the spans.
func (s *story) within(times []span) bool {
	return slices.ContainsFunc(times, func(t span) bool { return s.now() >= t.from && s.now() < t.to })
}

func (s *story) Job(ctx context.Context, _ ids.JobID) (client.JobState, error) {
	s.looks++
	status := msg.JobRunning
	if s.ends > 0 && s.now() >= s.ends {
		status = msg.JobFinished
	}
	return client.JobState{Status: status, Waits: s.within(s.short), Note: s.note, Left: s.left}, s.answer(ctx)
}

func (s *story) CollectPage(ctx context.Context, _ ids.JobID, _ string, _ int64) (msg.CollectPage, error) {
	return msg.CollectPage{}, s.answer(ctx)
}

func (s *story) Heartbeat(context.Context, ids.JobID, time.Time) error {
	s.beats = append(s.beats, s.now())
	return nil
}

func (s *story) Result(ctx context.Context, _ ids.JobID) (msg.JobEnded, error) {
	return msg.JobEnded{Status: msg.JobFinished}, s.answer(ctx)
}

func (s *story) RootCause(context.Context, ids.JobID) (string, error) { return "", nil }

// SlotSupply has a slot of the job for each slot that has come, and two of another job.
func (s *story) SlotSupply(ctx context.Context) (msg.SlotSupply, error) {
	s.asked++
	if errors.Is(s.dumb, errStands) {
		<-ctx.Done()
	}
	if s.dumb != nil {
		return msg.SlotSupply{}, s.dumb
	}
	there := 0
	for _, from := range s.slots {
		if s.now() >= from {
			there++
		}
	}
	return msg.SlotSupply{
		Total: there + 2, Requested: 1, RequestedSince: s.began,
		Jobs: []msg.SlotDemand{{Job: "another", Needed: 2, Held: 2}, {Job: "job", Needed: 3, Held: there, Since: s.began}},
	}, nil
}

func (s *story) report(ctx context.Context) (records.ApplicationReport, error) {
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	report := records.ApplicationReport{ID: id, Attempt: records.ApplicationAttemptID{Application: id, Attempt: 1}, State: records.ApplicationRunning}
	var err error
	for _, r := range s.reports {
		if s.now() < r.from {
			break
		}
		report.State, report.Attempt.Attempt, err = r.state, r.attempt, r.err
	}
	if errors.Is(err, errStands) {
		<-ctx.Done()
		err = fmt.Errorf("%w: %w", errStands, ctx.Err())
	}
	return report, err
}

// tell starts the story, and returns the runner that follows it and what the runner prints.
func (s *story) tell() (*runner, attempt, *bytes.Buffer) {
	var out bytes.Buffer
	s.began = time.Now()
	limits := limitsOf(config.Config{})
	r := &runner{Journal: NewJournal(&out, s.began, false), limits: limits}
	report := func(ctx context.Context) (records.ApplicationReport, error) {
		return reportSoon(ctx, limits.patience/10, s.report)
	}
	return r, attempt{master: s, number: 1, job: &running{id: "job"}, report: report}, &out
}

// silenceLine is the line that the client prints about a silent master.
var silenceLine = regexp.MustCompile(`^application_1_0002: its ApplicationMaster has not answered since (\d\d:\d\d:\d\d): YARN says it is (?:RUNNING|ACCEPTED), attempt [12]; YARN may start another attempt or end the application\n$`)

// TestASilentMasterIsBorneWith would catch a client that gives up while YARN has not yet noticed a lost node,
// one that waits for what cannot come, and one that does either without a message, without the time, or with
// many messages.
func TestASilentMasterIsBorneWith(t *testing.T) {
	const (
		accepted, running, failed = records.ApplicationAccepted, records.ApplicationRunning, records.ApplicationFailed
		silentFrom                = time.Minute
	)
	silent := []span{{silentFrom, forEver}}
	for _, c := range []struct {
		name  string
		story story
		err   error // nil: the job ends
		after time.Duration
		says  int
	}{
		{
			name:  "a node is lost, and another attempt runs",
			story: story{silent: silent, reports: []reported{{11 * time.Minute, accepted, 1, nil}, {11*time.Minute + 5*time.Second, accepted, 2, nil}, {12 * time.Minute, running, 2, nil}}},
			err:   errNextAttempt, after: 12 * time.Minute, says: 11,
		},
		{
			name:  "a node stands still, and another attempt runs",
			story: story{silent: silent, stands: true, reports: []reported{{11 * time.Minute, accepted, 2, nil}, {12 * time.Minute, running, 2, nil}}},
			err:   errNextAttempt, after: 12 * time.Minute, says: 11,
		},
		{
			name:  "another attempt comes at once",
			story: story{silent: silent, reports: []reported{{silentFrom + time.Second, accepted, 1, nil}, {silentFrom + 3*time.Second, running, 2, nil}}},
			err:   errNextAttempt, after: silentFrom + 3*time.Second,
		},
		{
			name:  "there is no other attempt",
			story: story{silent: silent, reports: []reported{{11 * time.Minute, failed, 1, nil}}},
			err:   client.ErrApplicationEnded, after: 11 * time.Minute, says: 10,
		},
		{
			name:  "YARN refuses to tell",
			story: story{silent: silent, reports: []reported{{2 * time.Minute, running, 1, errDenied}}},
			err:   errDenied, after: 2 * time.Minute, says: 1,
		},
		{
			name:  "YARN is away, too",
			story: story{silent: silent, reports: []reported{{2 * time.Minute, running, 1, errYARN}}},
			err:   errYARN, after: 2*time.Minute + 30*time.Second, says: 1,
		},
		{
			name:  "YARN stands still, too",
			story: story{silent: silent, reports: []reported{{2 * time.Minute, running, 1, errStands}}},
			err:   errStands, after: 2*time.Minute + 30*time.Second, says: 1,
		},
		{
			name:  "YARN is away from before, and says nothing of a short silence",
			story: story{silent: []span{{silentFrom, silentFrom + 25*time.Second}}, reports: []reported{{0, running, 1, errYARN}}, ends: 2 * time.Minute},
			after: 2 * time.Minute,
		},
		{
			name:  "YARN is away from before, and the master for good",
			story: story{silent: silent, reports: []reported{{0, running, 1, errYARN}}},
			err:   errRefused, after: silentFrom + 30*time.Second,
		},
		{
			name: "YARN fails over while a node is lost",
			story: story{silent: silent, reports: []reported{
				{2 * time.Minute, running, 1, errStands}, {2*time.Minute + 25*time.Second, running, 1, nil}, {11 * time.Minute, running, 2, nil},
			}},
			err: errNextAttempt, after: 11 * time.Minute, says: 10,
		},
		{
			name:  "neither has ever answered",
			story: story{silent: []span{{0, forEver}}, reports: []reported{{0, running, 1, errYARN}}},
			err:   errRefused, after: 30 * time.Second,
		},
		{
			name:  "there is no YARN to ask",
			story: story{silent: silent, reports: []reported{{0, running, 1, ErrNoYARN}}},
			err:   errRefused, after: silentFrom + 30*time.Second,
		},
		{
			name:  "it answers again, twice",
			story: story{silent: []span{{silentFrom, 2 * time.Minute}, {3 * time.Minute, 3*time.Minute + time.Second}, {4 * time.Minute, 5 * time.Minute}}, ends: 6 * time.Minute},
			after: 6 * time.Minute, says: 2,
		},
		{
			name:  "it has never answered, and runs",
			story: story{silent: []span{{0, forEver}}},
			err:   errRefused, after: 30 * time.Second,
		},
		{
			name:  "it does not lead, because it waits for HDFS",
			story: story{silent: []span{{0, 5 * time.Minute}}, lobby: true, ends: 6 * time.Minute},
			after: 6 * time.Minute, says: 5,
		},
		{
			name:  "it has never answered, and another attempt comes late",
			story: story{silent: []span{{0, forEver}}, reports: []reported{{time.Second, accepted, 1, nil}, {2 * time.Minute, running, 2, nil}}},
			err:   errNextAttempt, after: 2 * time.Minute, says: 2,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, a, out := c.story.tell()
				err := r.watch(t.Context(), a, new(jobgraph.JobGraph))
				if !errors.Is(err, c.err) {
					t.Errorf("error %v, want %v", err, c.err)
				}
				if late := c.story.now() - c.after; late < 0 || late > lookTimeout+time.Second {
					t.Errorf("it ends after %v, want %v", c.story.now(), c.after)
				}
				said := 0
				for line := range strings.Lines(strings.ReplaceAll(out.String(), "job is RUNNING\n", "")) {
					told := silenceLine.FindStringSubmatch(line)
					if told == nil || !slices.ContainsFunc(c.story.silent, func(silent span) bool {
						last := c.story.began.Add(silent.from) // it answered at that time, or at the request before
						return told[1] == last.Local().Format(time.TimeOnly) || told[1] == last.Add(-lookInterval).Local().Format(time.TimeOnly)
					}) {
						t.Errorf("printed %q", line)
					}
					said++
				}
				if said != c.says {
					t.Errorf("it is said %d times, want %d:\n%s", said, c.says, out)
				}
			})
		})
	}
}

// TestWhoGivesUpNamesTheOptionAsItWasSet would catch an error with a number of seconds that no option has, for
// a master that has never answered.
func TestWhoGivesUpNamesTheOptionAsItWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, err := config.New(config.Layer{Source: "-D", Values: map[string]string{"client.timeout": "90s"}})
		if err != nil {
			t.Fatal(err)
		}
		s := story{silent: []span{{0, forEver}}}
		r, a, _ := s.tell()
		r.limits = limitsOf(cfg)
		const told = "given up (client.timeout: 90s): "
		if err := r.watch(t.Context(), a, new(jobgraph.JobGraph)); !errors.Is(err, errRefused) || !strings.HasPrefix(err.Error(), told) || s.now() < 90*time.Second {
			t.Errorf("%v after %v, want %q", err, s.now(), told)
		}
	})
}

// TestHowAJobRunsIsSaidOnce would catch a client that says nothing of a job in waves, or says it at each look or after each
// ApplicationMaster.
func TestHowAJobRunsIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := story{ends: time.Minute, note: "it runs in waves"}
		r, a, out := s.tell()
		for range 2 {
			if err := r.watch(t.Context(), a, new(jobgraph.JobGraph)); err != nil {
				t.Error(err)
			}
			a.number++
		}
		if said := strings.Count(out.String(), "about the job: it runs in waves\n"); said != 1 {
			t.Errorf("it is said %d times:\n%s", said, out)
		}
	})
}

// TestTheWaitForAnotherAttemptIsInterrupted would catch a client that Ctrl-C does not end.
func TestTheWaitForAnotherAttemptIsInterrupted(t *testing.T) {
	for _, stands := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := story{silent: []span{{time.Minute, forEver}}, stands: stands}
			r, a, _ := s.tell()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Hour, func() { cancel(ErrInterrupted) })
			if err := r.watch(ctx, a, new(jobgraph.JobGraph)); !errors.Is(err, ErrInterrupted) || s.now() != time.Hour {
				t.Errorf("stands still %t: %v after %v, want the interruption after an hour", stands, err, s.now())
			}
		})
	}
}

// TestWhatIsCollectedEndsWithTheApplication would catch a client that waits forever for the rest of a result
// after the job's end, when it no longer asks for the job's state.
func TestWhatIsCollectedEndsWithTheApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := story{silent: []span{{0, forEver}}, reports: []reported{{time.Second, records.ApplicationKilled, 1, nil}}}
		r, a, out := s.tell()
		err := r.collect(t.Context(), nil, a, a.job.reads("counts")) // no page comes for a driver
		if !errors.Is(err, client.ErrApplicationEnded) || out.Len() > 0 {
			t.Errorf("error %v, printed %q", err, out)
		}
	})
}

// TestAMasterMayEndBeforeItTellsHowItsJobDid would catch the error that a job cannot be followed, if its master
// has just ended and YARN still reports the application as running.
func TestAMasterMayEndBeforeItTellsHowItsJobDid(t *testing.T) {
	for want, c := range map[error]story{
		nil:                        {silent: []span{{0, time.Minute}}},
		client.ErrApplicationEnded: {silent: []span{{0, forEver}}, reports: []reported{{5 * time.Second, records.ApplicationFinished, 1, nil}}},
		errNextAttempt:             {silent: []span{{0, forEver}}, reports: []reported{{5 * time.Second, records.ApplicationRunning, 2, nil}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := c
			r, a, _ := s.tell()
			if ended, err := r.result(t.Context(), a); !errors.Is(err, want) || err == nil && ended.Status != msg.JobFinished {
				t.Errorf("the job ended as %+v, %v; want %v", ended, err, want)
			}
		})
	}
}

// TestTheEndOfAShortJobIsSeenSoon would catch a client that waits longer between requests than a short job
// takes, and one that always asks as often as at first.
func TestTheEndOfAShortJobIsSeenSoon(t *testing.T) {
	for _, took := range []time.Duration{time.Millisecond, 60 * time.Millisecond, 350 * time.Millisecond, 5 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := story{ends: took}
			r, a, _ := s.tell()
			if err := r.watch(t.Context(), a, new(jobgraph.JobGraph)); err != nil {
				t.Fatal(err)
			}
			if late := s.now() - took; late > max(firstLooks, min(took/8, lookInterval)) {
				t.Errorf("the end of a job that took %v is seen %v later", took, late)
			}
			if most := 32 + int(took/lookInterval); s.looks > most {
				t.Errorf("a job that took %v is looked at %d times, want %d at most", took, s.looks, most)
			}
		})
	}
}

// TestHeartbeatsComeWhereTheJobEndsWithItsClient would catch a job that is cancelled although its client lives,
// and heartbeats for a job that does not end with its client.
func TestHeartbeatsComeWhereTheJobEndsWithItsClient(t *testing.T) {
	for name, want := range map[string][]time.Duration{
		"true": {0, 30 * time.Second, 60 * time.Second, 90 * time.Second}, "false": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := story{ends: 100 * time.Second}
			r, a, _ := s.tell()
			cfg, err := config.New(config.Layer{Values: map[string]string{"execution.shutdown-on-attached-exit": name}})
			if err != nil {
				t.Fatal(err)
			}
			r.limits = limitsOf(cfg)
			if err := r.watch(t.Context(), a, new(jobgraph.JobGraph)); err != nil {
				t.Fatal(err)
			}
			for i, at := range s.beats {
				s.beats[i] = at.Truncate(lookInterval) // one comes with the next request
			}
			if diff := cmp.Diff(want, s.beats); diff != "" {
				t.Errorf("-sae %s (-want +got):\n%s", name, diff)
			}
		})
	}
}

// TestAShortageIsToldWhileItLasts would catch a job that waits without a message, and a message with the first
// number of slots, with the start of another wait, with another job's slots as its own, or with this command's
// options instead of the session's.
func TestAShortageIsToldWhileItLasts(t *testing.T) {
	for fails, waits := range map[string]string{
		"for 5m0s (slot.request.timeout)":           (&perJob{Request: Request{limits: limitsOf(config.Config{})}}).waits(),
		"within the session's slot.request.timeout": new(session).waits(),
	} {
		synctest.Test(t, func(t *testing.T) {
			s := story{short: []span{{0, 70 * time.Second}, {2 * time.Minute, 3 * time.Minute}}, slots: []time.Duration{30 * time.Second, 150 * time.Second}, ends: 4 * time.Minute}
			r, a, out := s.tell()
			a.job.slotWait = waits
			if err := r.watch(t.Context(), a, new(jobgraph.JobGraph)); err != nil {
				t.Fatal(err)
			}
			var want strings.Builder
			want.WriteString("job is RUNNING\n")
			for _, told := range []struct {
				since time.Duration
				have  int
			}{{0, 0}, {0, 1}, {2 * time.Minute, 1}} {
				fmt.Fprintf(&want, "job waits for slots since %s: it needs 3 slots and has %d; other jobs hold 2; containers requested from YARN: 1, since %s. The job fails if no slot comes %s\n",
					s.began.Add(told.since).Local().Format(time.TimeOnly), told.have, s.began.Local().Format(time.TimeOnly), fails)
			}
			if diff := cmp.Diff(want.String(), out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAJobWaitsForItsWorkers would catch a job about which the user learns nothing while its workers copy large
// cached files: it has all its slots, and no task runs.
func TestAJobWaitsForItsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := story{short: []span{{0, 2 * time.Minute}}, slots: []time.Duration{0, 0, 20 * time.Second}, ends: 3 * time.Minute}
		r, a, out := s.tell()
		a.job.slotWait = "soon"
		if err := r.watch(t.Context(), a, new(jobgraph.JobGraph)); err != nil {
			t.Fatal(err)
		}
		at := func(d time.Duration) string { return s.began.Add(d).Local().Format(time.TimeOnly) }
		workers := fmt.Sprintf("job waits for its workers since %s: it has its 3 slots; workers fetch its program and its cached files, and start task hosts (see taskmanager.log)\n", at(20*time.Second))
		want := fmt.Sprintf("job is RUNNING\njob waits for slots since %s: it needs 3 slots and has 2; other jobs hold 2; containers requested from YARN: 1, since %s. The job fails if no slot comes soon\n%s%s",
			at(0), at(0), workers, workers)
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("printed (-want +got):\n%s", diff)
		}
	})
}

// TestAJobSaysForWhatAllThatIsLeftWaits would catch a client that only says that slots are too few, and one that says of a job which
// waits for workers of an earlier ApplicationMaster that they fetch its program.
func TestAJobSaysForWhatAllThatIsLeftWaits(t *testing.T) {
	for there, want := range map[int]string{0: "job waits for slots since [^;]*; .*; all that is left waits for “read”[.] The job fails", 3: "job waits since [0-9:]*: all that is left waits for “read”\n"} {
		synctest.Test(t, func(t *testing.T) {
			s := story{short: []span{{0, forEver}}, slots: make([]time.Duration, there), ends: time.Minute, left: "all that is left waits for “read”"}
			r, a, out := s.tell()
			if err := r.watch(t.Context(), a, new(jobgraph.JobGraph)); err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(want).Match(out.Bytes()) {
				t.Errorf("printed %q, want %q", out, want)
			}
		})
	}
}

// TestAMasterThatDoesNotTellOfSlotsIsFollowed would catch a client that sees the end of its job a minute late
// because it asks why the job waits, and one that asks this with each request.
func TestAMasterThatDoesNotTellOfSlotsIsFollowed(t *testing.T) {
	for _, dumb := range []error{errStands, errRefused} {
		synctest.Test(t, func(t *testing.T) {
			s := story{short: []span{{0, forEver}}, dumb: dumb, ends: 16 * time.Second}
			r, a, _ := s.tell()
			if err := r.watch(t.Context(), a, new(jobgraph.JobGraph)); err != nil {
				t.Fatal(err)
			}
			if late := s.now() - s.ends; late > lookTimeout {
				t.Errorf("%v: the job's end is seen %v later", dumb, late)
			}
			if most := int(s.ends / slotsInterval); s.asked == 0 || s.asked > most {
				t.Errorf("%v: asked %d times, want %d at most", dumb, s.asked, most)
			}
		})
	}
}
