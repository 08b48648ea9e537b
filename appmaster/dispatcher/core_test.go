package dispatcher

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/transcript"
)

var rewrite = flag.Bool("rewrite", false, "write transcripts anew")

var testEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestCoreTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Run(t, *rewrite, func(t *testing.T) func(string) []string {
		s := &script{t: t, now: testEpoch}
		return s.command
	})
}

// TestClusterEndsOnce runs random events. It would catch a cluster for one job that ends twice, never, or
// with another outcome than its job.
func TestClusterEndsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]Mode{Attached, Detached}).Draw(t, "mode")
		core := newInstant(Config{Mode: mode})
		now := testEpoch
		var outcomes []Outcome
		started := false
		step := func(event event) {
			for _, effect := range core.Step(now, event) {
				switch e := effect.(type) {
				case endCluster:
					outcomes = append(outcomes, e.Outcome)
				case StartJobMaster:
					if started {
						t.Fatal("two jobs were started in a cluster for one")
					}
					started = true
				}
			}
		}
		statuses := []msg.JobStatus{msg.JobFinished, msg.JobCanceled, msg.JobFailed}
		var ended msg.JobStatus
		shutDown := false
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			job := rapid.SampledFrom([]ids.JobID{"j1", "j2"}).Draw(t, "job")
			switch rapid.IntRange(0, 6).Draw(t, "action") {
			case 0:
				step(submission(Submission{Job: job, Graph: graph()}))
			case 1:
				step(cancelAsked{Job: job})
			case 2:
				if started && ended == "" && len(outcomes) == 0 {
					ended = rapid.SampledFrom(statuses).Draw(t, "status")
					step(jobEnded{Job: core.order[0], JobMaster: token("1"), Details: msg.JobDetails{Status: ended}})
				}
				step(jobEnded{Job: job, JobMaster: "stale", Details: msg.JobDetails{Status: msg.JobFailed}})
			case 3:
				step(resultAsked{Job: job})
			case 4:
				if rapid.IntRange(0, 3).Draw(t, "shut down") == 0 {
					shutDown = true
					step(shutdownAsked{})
				}
			default:
				now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
				step(woken{})
			}
		}
		now = now.Add(fetchTime)
		step(woken{})
		if want := ended != "" || shutDown; (len(outcomes) == 1) != want || len(outcomes) > 1 {
			t.Fatalf("job %q, asked to end: %t; cluster ended %d times", ended, shutDown, len(outcomes))
		}
		if ended != "" && !shutDown {
			want := map[msg.JobStatus]msg.ApplicationStatus{
				msg.JobFinished: msg.ApplicationSucceeded, msg.JobCanceled: msg.ApplicationCanceled, msg.JobFailed: msg.ApplicationFailed,
			}[ended]
			if outcomes[0].Status != want {
				t.Fatalf("job %s, cluster %s", ended, outcomes[0].Status)
			}
		}
	})
}

func TestDiagnosticsAreBoundedText(t *testing.T) {
	t.Parallel()
	root := &msg.ExceptionEntry{Failure: *msg.NewFailure(strings.Repeat("é", 1<<20), strings.Repeat("é", 1<<20))}
	got := outcomeOf(&msg.JobDetails{Status: msg.JobFailed, Root: root}).Diagnostics
	if len(got) > maxDiagnostics || len(got) < maxDiagnostics-8 || !utf8.ValidString(got) {
		t.Errorf("diagnostics of %d bytes, valid: %t", len(got), utf8.ValidString(got))
	}
}

// TestASessionTakesSoManyJobs would catch a script that submits jobs in a loop and fills the
// ApplicationMaster's memory, so that all jobs are lost.
func TestASessionTakesSoManyJobs(t *testing.T) {
	t.Parallel()
	s := &script{t: t, now: testEpoch}
	s.command("mode session")
	for n := range maxUnfinished {
		s.command(fmt.Sprintf("submit j%d", n))
	}
	submit := func() error {
		_, err := s.core.admit(Submission{Job: "late", Graph: graph()}, budget.Need{})
		return err
	}
	if err := submit(); !errors.Is(err, msg.ErrTooManyJobs) {
		t.Errorf("one more: %v", err)
	}
	s.command("ended j7 #8 FINISHED")
	if err := submit(); err != nil {
		t.Errorf("one more when one has ended: %v", err)
	}
}

// TestWhatIsKeptStaysWithinItsLimits runs a session for weeks. It would catch an ApplicationMaster whose
// memory grows with the jobs that it has run, or with what they have collected; a job that is dropped too
// early, or during the handover to its client; and results that a client may be reading, and that are
// dropped before results without a client.
func TestWhatIsKeptStaysWithinItsLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Time: time.Hour, Jobs: rapid.IntRange(1, 5).Draw(t, "jobs"), Bytes: int64(rapid.IntRange(1, 20).Draw(t, "KiB")) << 10}
		core := newInstant(Config{Mode: Session, Archive: limits})
		now := testEpoch
		running := map[ids.JobID]ids.JobMasterID{}
		kept := map[ids.JobID]jobEnded{} // what the core must know
		size := func() (sum int64) {
			for _, e := range kept {
				sum += budget.EndedSize(&e.Details)
				for _, b := range e.Results {
					sum += int64(b.Size())
				}
			}
			return sum
		}
		stays := func(e jobEnded) bool { return now.Sub(e.Details.End) < handoverTime }
		isRead := func(e jobEnded) bool {
			unread := false
			for _, b := range e.Results {
				unread = unread || !b.Drained()
			}
			return unread && now.Sub(e.Details.End) < readingTime
		}
		step := func(event event) {
			for _, effect := range core.Step(now, event) {
				switch e := effect.(type) {
				case StartJobMaster:
					running[e.Submission.Job] = e.JobMaster
				case jobForgotten:
					gone, known := kept[e.Job]
					age := now.Sub(gone.Details.End)
					must := age >= limits.Time || len(kept) > limits.Jobs
					if !known || !must && (size() <= limits.Bytes || stays(gone)) {
						t.Fatalf("%s is forgotten after %s", e.Job, age)
					}
					for id, other := range kept {
						if other.Details.End.Before(gone.Details.End) && (must || isRead(gone) || !isRead(other)) {
							t.Fatalf("%s is forgotten before %s, which is older", e.Job, id)
						}
						if !must && isRead(gone) && !isRead(other) && !stays(other) {
							t.Fatalf("%s is forgotten, which may be being read, before %s", e.Job, id)
						}
					}
					delete(kept, e.Job)
				}
			}
		}
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "minutes")) * time.Minute)
			job := ids.JobID(fmt.Sprintf("j%d", i))
			detached := rapid.Bool().Draw(t, "detached")
			step(submission(Submission{Job: job, Graph: graph(), Detached: detached}))
			if !rapid.Bool().Draw(t, "ends") {
				continue
			}
			buffer := collect.New(collect.MaxBuffered, 0, false)
			if _, err := buffer.Add(0, make([]byte, rapid.IntRange(1, 10<<10).Draw(t, "collected"))); err != nil {
				t.Fatal(err)
			}
			buffer.End()
			e := jobEnded{
				Job: job, JobMaster: running[job], Results: collect.Results{"r": buffer},
				Details: msg.JobDetails{ID: job, Status: msg.JobFinished, End: now, Name: strings.Repeat("n", rapid.IntRange(0, 5<<10).Draw(t, "name"))},
			}
			delete(running, job)
			kept[job] = e
			if detached {
				kept[job] = jobEnded{Details: e.Details}
			}
			step(e)
			if rapid.Bool().Draw(t, "read") {
				step(pageAsked{Job: job, Name: "r", Cursor: int64(rapid.IntRange(0, 1).Draw(t, "cursor"))})
			}
			if len(core.archive.jobs) != len(kept) || core.archive.size != size() {
				t.Fatalf("%d ended jobs of %d bytes are kept, want %d of %d", len(core.archive.jobs), core.archive.size, len(kept), size())
			}
			mayGo := false
			for _, e := range kept {
				mayGo = mayGo || !stays(e)
			}
			if len(kept) > limits.Jobs || size() > limits.Bytes && mayGo && len(kept) > 1 {
				t.Fatalf("%d jobs of %d bytes are kept, allowed are %d of %d", len(kept), size(), limits.Jobs, limits.Bytes)
			}
			if len(core.jobs) != len(kept)+len(running) || len(core.order) != len(core.jobs) {
				t.Fatalf("%d jobs and %d in order are known, want %d", len(core.jobs), len(core.order), len(kept)+len(running))
			}
		}
	})
}

// TestForgottenJobsAreBounded would catch a session of months that remembers each job it has run, and a
// session that forgets the other jobs because clients ask for one job again and again.
func TestForgottenJobsAreBounded(t *testing.T) {
	t.Parallel()
	var f forgotten
	id := func(n int) ids.JobID { return ids.JobID(strconv.Itoa(n)) }
	for n := range 3 * maxForgotten {
		f.add(testEpoch, id(n))
	}
	if len(f.jobs) != maxForgotten || len(f.order) != maxForgotten || f.has(id(0)) || !f.has(id(3*maxForgotten-1)) {
		t.Errorf("%d ids are remembered, in a list of %d", len(f.jobs), len(f.order))
	}
	later := testEpoch.Add(repeatTime - time.Second)
	for range 3 { // a client repeats the oldest one
		f.add(later, id(2*maxForgotten))
	}
	if len(f.order) != maxForgotten || !f.has(id(2*maxForgotten+1)) {
		t.Errorf("%d ids are remembered, in a list of %d, when one was repeated", len(f.jobs), len(f.order))
	}
	if dropped := f.expire(testEpoch.Add(repeatTime)); len(dropped) != maxForgotten-1 || f.has(id(2*maxForgotten+1)) || !f.has(id(2*maxForgotten)) || len(f.jobs) != 1 {
		t.Errorf("%d ids are remembered and %d dropped after %s, of which one was repeated", len(f.jobs), len(dropped), repeatTime)
	}
	if at := f.next(); !at.Equal(later.Add(repeatTime)) {
		t.Errorf("the next one is dropped at %s", at)
	}
	if dropped := f.expire(later.Add(repeatTime)); len(dropped) != 1 || len(f.jobs) != 0 || !f.next().IsZero() {
		t.Errorf("%d ids are remembered after %s", len(f.jobs), 2*repeatTime)
	}
}

// TestCancelledIDsPushOutNoEndedJob would catch a job that runs twice because a client has cancelled
// thousands of ids that the session does not have, and the reverse: a job that runs although it was
// cancelled, because thousands of others have ended since.
func TestCancelledIDsPushOutNoEndedJob(t *testing.T) {
	t.Parallel()
	c := configured(Session)
	c.Archive.Jobs = 1
	core := newInstant(c)
	submit := func(id ids.JobID) (jobMaster ids.JobMasterID, answer error) {
		for _, effect := range core.Step(testEpoch, submission(Submission{Job: id, Graph: graph()})) {
			switch e := effect.(type) {
			case reply:
				answer, _ = e.Content().(error)
			case StartJobMaster:
				jobMaster = e.JobMaster
			}
		}
		return jobMaster, answer
	}
	run := func(id ids.JobID) {
		jobMaster, err := submit(id)
		if err != nil {
			t.Fatal(err)
		}
		core.Step(testEpoch, jobEnded{Job: id, JobMaster: jobMaster, Details: msg.JobDetails{ID: id, Status: msg.JobFinished, End: testEpoch}})
	}
	run("ended")
	run("last") // and the other one is not kept any longer
	for n := range maxForgotten {
		core.Step(testEpoch, cancelAsked{Job: ids.JobID(fmt.Sprintf("never%d", n))})
	}
	if _, err := submit("ended"); !errors.Is(err, msg.ErrJobEnded) {
		t.Errorf("after %d ids that never were, a job that has ended is answered with %v", maxForgotten, err)
	}
	for n := range maxForgotten - 1 {
		run(ids.JobID(fmt.Sprintf("other%d", n)))
	}
	if _, err := submit("never0"); !errors.Is(err, msg.ErrJobWithdrawn) {
		t.Errorf("after %d other jobs, one that was cancelled before it came is answered with %v", maxForgotten, err)
	}
	if _, err := submit("ended"); !errors.Is(err, msg.ErrJobEnded) {
		t.Errorf("after %d other jobs, one that has ended is answered with %v", maxForgotten-1, err)
	}
}
