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
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/actortest"
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

// script drives a core by commands, as its transcripts have them:
//
//	mode session|application|attached|detached [jobs=N] [bytes=N]   first; what is kept at most
//	submit JOB [detached=true] [client=DURATION]
//	failed JOB JOBMASTER TEXT                 no JobMaster can be made
//	ended JOB JOBMASTER STATUS [results=NAME,…] [TEXT of the failure]
//	cancel|job|result|seen JOB, jobs, await, shutdown
//	finish STATUS [TEXT]                      the application has ended
//	page JOB NAME CURSOR
//	wait DURATION                             with the wakes that fall due
//	asleep DURATION                           the process is stopped
//	pause DURATION                            likewise, and the next event comes before the wake
//
// JobMasters are numbered #1, #2, … in the order of their jobs.
type script struct {
	t    *testing.T
	now  time.Time
	wake time.Time

	stepper actortest.Stepper[event, effect]
}

func graph() *jobgraph.JobGraph {
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "wordcount",
		Vertices: []jobgraph.Vertex{{Name: "v", Parallelism: 1, Source: true}},
	}
	g.Digest = g.ComputeDigest()
	return g
}

// token is the n-th fencing token that a core makes whose Config.IDs is "".
func token(text string) ids.JobMasterID {
	n, _ := strconv.Atoi(strings.TrimPrefix(text, "#"))
	return ids.JobMasterID(fmt.Sprintf("%016x", n))
}

func (s *script) command(line string) []string {
	s.t.Helper()
	words := strings.Fields(line)
	options := map[string]string{}
	var args []string
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			options[name] = value
		} else {
			args = append(args, w)
		}
	}
	rest := func(i int) string { return strings.Join(args[min(i, len(args)):], " ") }
	job := func() ids.JobID { return ids.JobID(args[1]) }
	switch args[0] {
	case "mode":
		mode, known := map[string]Mode{"session": Session, "application": Application, "attached": Attached, "detached": Detached}[args[1]]
		if !known {
			s.t.Fatalf("unknown mode %q", args[1])
		}
		c := configured(mode)
		for name, set := range map[string]func(n int){
			"jobs": func(n int) { c.Archive.Jobs = n }, "bytes": func(n int) { c.Archive.Bytes = int64(n) },
		} {
			if n, err := strconv.Atoi(options[name]); err == nil {
				set(n)
			}
		}
		s.stepper.Core = newCore(c)
		return nil
	case "submit":
		submitted := Submission{Job: job(), Graph: graph(), Detached: options["detached"] == "true"}
		if text := options["client"]; text != "" {
			submitted.ClientTimeout = s.duration(text)
		}
		return s.step(submission(submitted))
	case "failed":
		return s.step(jobMasterFailed{Job: job(), JobMaster: token(args[2]), Err: errors.New(rest(3))})
	case "ended":
		return s.step(s.ended(args, options, rest(4)))
	case "cancel":
		return s.step(cancelAsked{Job: job()})
	case "seen":
		return s.step(clientSeen{Job: job()})
	case "finish":
		return s.step(endAsked{Outcome: Outcome{Status: msg.ApplicationStatus(args[1]), Diagnostics: rest(2)}})
	case "job":
		return s.step(jobAsked{Job: job()})
	case "jobs":
		return s.step(jobsAsked{})
	case "result":
		return s.step(resultAsked{Job: job()})
	case "page":
		cursor, err := strconv.Atoi(args[3])
		if err != nil {
			s.t.Fatal(err)
		}
		return s.step(pageAsked{Job: job(), Name: args[2], Cursor: int64(cursor)})
	case "await":
		return s.step(jobsAwaited{})
	case "shutdown":
		return s.step(shutdownAsked{})
	case "asleep":
		s.now = s.now.Add(s.duration(args[1]))
		return s.wait("0s")
	case "pause":
		s.now = s.now.Add(s.duration(args[1]))
		return nil
	case "wait":
		return s.wait(args[1])
	}
	s.t.Fatalf("unknown command %q", line)
	return nil
}

func (s *script) ended(args []string, options map[string]string, failure string) jobEnded {
	e := jobEnded{
		Job: ids.JobID(args[1]), JobMaster: token(args[2]),
		Details: msg.JobDetails{ID: ids.JobID(args[1]), Status: msg.JobStatus(args[3]), Start: testEpoch, End: s.now},
		Results: collect.Results{},
	}
	for _, name := range strings.FieldsFunc(options["results"], func(r rune) bool { return r == ',' }) {
		b := collect.New(collect.MaxBuffered, 0)
		if _, err := b.Add(0, []byte("abc")); err != nil {
			s.t.Fatal(err)
		}
		b.End()
		e.Results[name] = b
	}
	if failure != "" {
		e.Details.Root = &msg.ExceptionEntry{
			Failure: msg.Failure{Message: failure, Stack: "main.f()"}, Task: "v (1/1)", Location: "n1",
		}
	}
	return e
}

func (s *script) step(event event) []string {
	var lines []string
	for _, effect := range s.stepper.All(s.now, event) {
		if wake, is := effect.(actortest.Wake); is {
			s.wake = wake.At
		}
		lines = append(lines, describe(effect))
	}
	return lines
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) wait(text string) []string {
	until := s.now.Add(s.duration(text))
	var lines []string
	for !s.wake.IsZero() && !s.wake.After(until) {
		if s.wake.After(s.now) { // otherwise the step counts as late
			s.now = s.wake
		}
		s.wake = time.Time{}
		s.stepper.Rang()
		for _, line := range s.step(woken{}) {
			lines = append(lines, fmt.Sprintf("%s: %s", s.now.Sub(testEpoch), line))
		}
	}
	s.now = until
	return lines
}

func describe(effect any) string {
	switch e := effect.(type) {
	case StartJobMaster:
		n, _ := strconv.ParseInt(string(e.JobMaster), 16, 64)
		return fmt.Sprintf("start %s as #%d", e.Submission.Job, n)
	case cancelJob:
		if e.Why != "" {
			return fmt.Sprintf("cancel %s as %s", e.Job, e.Why)
		}
		return fmt.Sprintf("cancel %s", e.Job)
	case jobArchived:
		return fmt.Sprintf("archived %s %s", e.Job, e.Status)
	case jobForgotten:
		return fmt.Sprintf("forgotten %s", e.Job)
	case endCluster:
		return fmt.Sprintf("end cluster %s %q", e.Outcome.Status, e.Outcome.Diagnostics)
	case actortest.Wake:
		return fmt.Sprintf("wake at %s", e.At.Sub(testEpoch))
	case reply:
		return "answer: " + describeAnswer(e.Content())
	case dropped:
		return fmt.Sprintf("dropped for %s: %s", e.Job, e.Why)
	}
	return fmt.Sprintf("%T", effect)
}

func describeAnswer(answer any) string {
	switch a := answer.(type) {
	case nil:
		return "ok"
	case error:
		return a.Error()
	case jobEntry:
		return describeEntry(a)
	case []jobEntry:
		var jobs []string
		for _, entry := range a {
			jobs = append(jobs, describeEntry(entry))
		}
		return strings.Join(jobs, ", ")
	case pageAnswer:
		if a.Err != nil {
			return a.Err.Error()
		}
		return fmt.Sprintf("%q, end %t", a.Page.Records, a.Page.End)
	case Outcome:
		return fmt.Sprintf("%s %q", a.Status, a.Diagnostics)
	}
	return fmt.Sprintf("unknown answer %T", answer)
}

func describeEntry(e jobEntry) string {
	switch {
	case e.Job == "":
		return "no such job"
	case e.Details == nil:
		return string(e.Job) + " runs"
	}
	return fmt.Sprintf("%s %s", e.Job, e.Details.Status)
}

// TestClusterEndsOnce runs random events. It would catch a cluster for one job that ends twice, never, or
// with another outcome than its job.
func TestClusterEndsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]Mode{Attached, Detached}).Draw(t, "mode")
		core := newCore(Config{Mode: mode})
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
		return s.stepper.Core.(*core).submit(Submission{Job: "late", Graph: graph()}, budget.Need{})
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
		core := newCore(Config{Mode: Session, Archive: limits})
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
			buffer := collect.New(collect.MaxBuffered, 0)
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
	if len(f.jobs) != maxForgotten || len(f.order) != maxForgotten || f.has(testEpoch, id(0)) || !f.has(testEpoch, id(3*maxForgotten-1)) {
		t.Errorf("%d ids are remembered, in a list of %d", len(f.jobs), len(f.order))
	}
	later := testEpoch.Add(repeatTime - time.Second)
	for range 3 { // a client repeats the oldest one
		f.add(later, id(2*maxForgotten))
	}
	if len(f.order) != maxForgotten || !f.has(later, id(2*maxForgotten+1)) {
		t.Errorf("%d ids are remembered, in a list of %d, when one was repeated", len(f.jobs), len(f.order))
	}
	if end := testEpoch.Add(repeatTime); f.has(end, id(2*maxForgotten+1)) || !f.has(end, id(2*maxForgotten)) || len(f.jobs) != 1 {
		t.Errorf("%d ids are remembered after %s, of which one was repeated", len(f.jobs), repeatTime)
	}
	if f.has(later.Add(repeatTime), id(2*maxForgotten)) || len(f.jobs) != 0 {
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
	core := newCore(c)
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
