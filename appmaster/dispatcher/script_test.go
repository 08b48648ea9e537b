package dispatcher

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/actortest"
)

// script drives a core by commands, as its transcripts have them:
//
//	mode session|application|attached|detached [jobs=N] [bytes=N] [store=asks] [archives=true]   first; what is kept at most
//	submit JOB [detached=true] [client=DURATION] [graph=NAME] [args=TEXT] [unprepared=true]
//	failed JOB JOBMASTER TEXT                 no JobMaster can be made
//	ended JOB JOBMASTER STATUS [results=NAME,…] [TEXT of the failure]
//	cancel|job|result|seen JOB, jobs, known, unfinished, await, shutdown
//	finish STATUS [TEXT]                      the application has ended
//	page JOB NAME CURSOR
//	written JOB                               its archive is written
//	unwritten JOB TEXT                        it is not
//	gone JOB TEXT                             likewise, because the stored result cannot be read
//	wait DURATION                             with the wakes that fall due
//	asleep DURATION                           the process is stopped
//	pause DURATION                            likewise, and the next event comes before the wake
//
// JobMasters are numbered #1, #2, … in the order of their jobs. With store=asks the transcript has the requests to the
// store, and answers name their questions. These commands answer the requests:
//
//	stored JOB                 the store has made the change about a job
//	refused JOB TEXT           it cannot
//	too-large JOB              likewise, because it is too large
//	locked JOB                 likewise, and never will: the tokens for it have ended
//	stop-stored, stop-refused TEXT
//	loaded JOB STATUS [results=NAME,…] [ended=AGE] [graph=NAME] [args=TEXT] [TEXT of the failure]
//	unreadable JOB TEXT
//	listed JOB STATUS [ended=AGE], unlisted JOB TEXT
//
// An earlier master has left:
//
//	stop-left                  the end of the cluster is requested
//	left JOB [cancelled=true] [detached=true] [client=DURATION] [graph=NAME] [args=TEXT] [commits=N] [TEXT: why it cannot run]
//	result-left JOB STATUS [job=true]         with the job itself
//	recover
type script struct {
	t    *testing.T
	now  time.Time
	wake time.Time

	core    *core
	stepper actortest.Stepper[event, effect]

	changing  map[ids.JobID]change // requests to the store; nil: the store takes everything at once
	questions []string             // by their numbers, from 1
	left      Recovered
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
	return ids.NewJobMasterID(0, fmt.Sprintf("%016x", n))
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
	s.questions = append(s.questions, line)
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
		c.Archives = options["archives"] == "true"
		s.core, s.left, s.wake = newCore(c), Recovered{}, time.Time{}
		s.stepper = actortest.Stepper[event, effect]{Core: instant{s.core}}
		if options["store"] == "asks" {
			s.stepper.Core, s.changing = s.core, make(map[ids.JobID]change)
		}
		return nil
	case "submit":
		e := submission(s.submission(job(), options))
		e.Question = number[error](s)
		return s.step(e)
	case "failed":
		return s.step(jobMasterFailed{Job: job(), JobMaster: token(args[2]), Err: errors.New(rest(3))})
	case "ended":
		return s.step(s.ended(args, options, rest(4)))
	case "cancel":
		return s.step(cancelAsked{Job: job(), Question: number[error](s)})
	case "seen":
		return s.step(clientSeen{Job: job(), Question: number[error](s)})
	case "written":
		return s.step(archiveTried{Job: job()})
	case "unwritten":
		return s.step(archiveTried{Job: job(), Err: errors.New(rest(2))})
	case "gone":
		return s.step(archiveTried{Job: job(), Err: errors.New(rest(2)), Unreadable: true})
	case "finish":
		return s.step(endAsked{Outcome: Outcome{Status: msg.ApplicationStatus(args[1]), Diagnostics: rest(2)}})
	case "job":
		return s.step(jobAsked{Job: job(), Question: number[jobEntry](s)})
	case "jobs":
		return s.step(jobsAsked{Question: number[[]jobEntry](s)})
	case "known":
		return s.step(jobsAsked{Which: knownJobs, Question: number[[]jobEntry](s)})
	case "unfinished":
		return s.step(jobsAsked{Which: unfinishedJobs, Question: number[[]jobEntry](s)})
	case "result":
		return s.step(resultAsked{Job: job(), Question: number[jobEntry](s)})
	case "page":
		cursor, err := strconv.Atoi(args[3])
		if err != nil {
			s.t.Fatal(err)
		}
		return s.step(pageAsked{Job: job(), Name: args[2], Cursor: int64(cursor), Question: number[pageAnswer](s)})
	case "await":
		return s.step(jobsAwaited{Question: number[Outcome](s)})
	case "shutdown":
		return s.step(shutdownAsked{number[error](s)})
	case "asleep":
		s.now = s.now.Add(s.duration(args[1]))
		return s.wait("0s")
	case "pause":
		s.now = s.now.Add(s.duration(args[1]))
		return nil
	case "wait":
		return s.wait(args[1])
	default:
		return s.store(line, args, options, rest)
	}
}

func (s *script) ended(args []string, options map[string]string, failure string) jobEnded {
	e := jobEnded{
		Job: ids.JobID(args[1]), JobMaster: token(args[2]),
		Details: msg.JobDetails{ID: ids.JobID(args[1]), Name: "wordcount", Status: msg.JobStatus(args[3]), Start: testEpoch, End: s.now},
		Results: resultsOf(s.t, options["results"]),
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
		lines = append(lines, s.describe(effect))
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

func (s *script) describe(effect any) string {
	switch e := effect.(type) {
	case StartJobMaster:
		n, _ := strconv.ParseInt(strings.TrimPrefix(string(e.JobMaster), "0-"), 16, 64)
		text := fmt.Sprintf("start %s as #%d", e.Submission.Job, n)
		if e.Recovered != nil {
			text += fmt.Sprintf(" again, with %d commits", len(e.Recovered))
		}
		if e.Cancelled {
			text += ", and cancel it"
		}
		return text
	case cancelJob:
		if e.Why != "" {
			return fmt.Sprintf("cancel %s as %s", e.Job, e.Why)
		}
		return fmt.Sprintf("cancel %s", e.Job)
	case jobArchived:
		return fmt.Sprintf("archived %s %s", e.Job, e.Status)
	case archiveJob:
		if e.Details == nil {
			return fmt.Sprintf("archive %s %s, which an earlier master has left", e.Job, e.Status)
		}
		return fmt.Sprintf("archive %s %s", e.Job, e.Details.Status)
	case archiveDone:
		if e.Why != nil {
			return fmt.Sprintf("no history of %s: %v", e.Job, e.Why)
		}
		return fmt.Sprintf("history of %s", e.Job)
	case archiveDelayed:
		return fmt.Sprintf("try the archive of %s again after %s: %v", e.Job, e.Pause, e.Why)
	case jobForgotten:
		return fmt.Sprintf("forgotten %s", e.Job)
	case endCluster:
		return fmt.Sprintf("end cluster %s %q", e.Outcome.Status, e.Outcome.Diagnostics)
	case actortest.Wake:
		return fmt.Sprintf("wake at %s", e.At.Sub(testEpoch))
	case reply:
		if s.changing != nil {
			return fmt.Sprintf("answer to %q: %s", s.questions[e.To()-1], describeAnswer(e.Content()))
		}
		return "answer: " + describeAnswer(e.Content())
	case dropped:
		return fmt.Sprintf("dropped for %s: %s", e.Job, e.Why)
	}
	return s.describeStore(effect)
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
	case e.Err != nil:
		return e.Err.Error()
	case e.Job == "":
		return "no such job"
	case e.Details == nil:
		return string(e.Job) + " runs"
	case len(e.Details.Exceptions) > 0:
		return fmt.Sprintf("%s %s: %s", e.Job, e.Details.Status, e.Details.Exceptions[0].Failure.Message)
	}
	return fmt.Sprintf("%s %s", e.Job, e.Details.Status)
}
