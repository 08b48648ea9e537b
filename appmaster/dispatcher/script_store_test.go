package dispatcher

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// number makes the question of the command that runs.
func number[R any](s *script) actor.Question[R] { return actor.Question[R](len(s.questions)) }

// submission describes a job whose graph has the default name and arguments, or others.
func (s *script) submission(job ids.JobID, options map[string]string) Submission {
	submitted := Submission{Job: job, Graph: graph(), Detached: options["detached"] == "true"}
	if name := options["graph"]; name != "" {
		submitted.Graph.Name, submitted.Graph.Job = name, name
		submitted.Graph.Digest = submitted.Graph.ComputeDigest()
	}
	submitted.Graph.Args, submitted.Unprepared = []byte(options["args"]), options["unprepared"] == "true"
	if text := options["client"]; text != "" {
		submitted.ClientTimeout = s.duration(text)
	}
	return submitted
}

// resultsOf makes results of the names in a list.
func resultsOf(t *testing.T, names string) collect.Results {
	t.Helper()
	results := collect.Results{}
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
		b := collect.New(collect.MaxBuffered, 0, false)
		if _, err := b.Add(0, []byte("abc")); err != nil {
			t.Fatal(err)
		}
		b.End()
		results[name] = b
	}
	return results
}

// store executes the commands about the store.
func (s *script) store(line string, args []string, options map[string]string, rest func(int) string) []string {
	s.t.Helper()
	switch args[0] {
	case "recover":
		return s.step(recovered{s.left})
	case "stop-left":
		s.left.Stopped = true
		return nil
	case "stop-stored":
		return s.step(stopStored{})
	case "stop-refused":
		return s.step(stopStored{Err: errors.New(rest(1))})
	}
	if len(args) < 2 {
		s.t.Fatalf("unknown command %q", line)
	}
	job := ids.JobID(args[1])
	switch args[0] {
	case "stored", "refused", "locked", "too-large":
		e := changed{Job: job, Change: s.changing[job]}
		if args[0] == "refused" {
			e.Err = errors.New(rest(2))
		}
		switch args[0] {
		case "locked":
			e.Err = ha.ErrNoCredentials
		case "too-large":
			e.Err = filesystem.ErrTooLarge
		}
		if e.Change == 0 {
			s.t.Fatalf("%s: no change was requested", line)
		}
		delete(s.changing, job)
		return s.step(e)
	case "loaded":
		e := s.ended([]string{"", args[1], "#0", args[2]}, options, rest(3))
		if text := options["ended"]; text != "" {
			e.Details.End = s.now.Add(-s.duration(text))
			e.Details.Start = e.Details.End
		}
		return s.step(resultLoaded{Job: job, Result: result{Identity: identityOf(s.submission(job, options).Graph), Details: &e.Details, Results: e.Results}})
	case "listed":
		o := msg.JobOverview{ID: job, Name: "wordcount", Status: msg.JobStatus(args[2]), Start: testEpoch, End: s.now}
		if text := options["ended"]; text != "" {
			o.End = s.now.Add(-s.duration(text))
			o.Start = o.End
		}
		return s.step(overviewLoaded{Job: job, Identity: identityOf(s.submission(job, options).Graph), Overview: o})
	case "unlisted":
		return s.step(overviewLoaded{Job: job, Err: errors.New(rest(2))})
	case "unreadable":
		return s.step(resultLoaded{Job: job, Err: errors.New(rest(2))})
	case "left":
		r := RecoveredJob{Submission: s.submission(job, options), Submitted: s.now, Cancelled: options["cancelled"] == "true"}
		r.Need = budget.NeedOf(r.Submission.Graph, !r.Submission.Detached)
		if n, err := strconv.Atoi(options["commits"]); err == nil {
			r.Commits = make(map[int]ha.Commit)
			for region := range n {
				r.Commits[region] = ha.Commit{Record: []byte("winners")}
			}
		}
		if why := rest(2); why != "" {
			r.Err, r.Submission.Graph = errors.New(why), nil
		}
		s.left.Jobs = append(s.left.Jobs, r)
	case "result-left":
		s.left.Results = append(s.left.Results, ha.ResultEntry{ID: job, Status: msg.JobStatus(args[2])})
		if options["job"] == "true" {
			s.left.Leftovers = append(s.left.Leftovers, RecoveredJob{Submission: Submission{Job: job}})
		}
	default:
		s.t.Fatalf("unknown command %q", line)
	}
	return nil
}

// describeStore describes the requests to the store.
func (s *script) describeStore(effect any) string {
	if e, is := effect.(interface{ isEffect() }); is {
		if job, change := changeOf(e); change != 0 {
			s.changing[job] = change
		}
	}
	switch e := effect.(type) {
	case storeJob:
		return fmt.Sprintf("store %s", e.Submission.Job)
	case storeCancel:
		return fmt.Sprintf("store the cancellation of %s", e.Job)
	case resultRefused:
		return fmt.Sprintf("%s: %s", e.Job, e.Why.Failure.Message)
	case storeResult:
		with := ""
		if len(e.Result.Results) > 0 {
			with = ", with records"
		}
		return fmt.Sprintf("store the result of %s: %s%s", e.Job, e.Result.Details.Status, with)
	case removeJob:
		return fmt.Sprintf("remove %s", e.Job)
	case removeResult:
		return fmt.Sprintf("remove the result of %s", e.Job)
	case storeStop:
		return "store the stop"
	case loadOverview:
		return fmt.Sprintf("read the overview of %s, which is %s", e.Job, e.Status)
	case loadResult:
		return fmt.Sprintf("read the result of %s, which is %s", e.Job, e.Status)
	}
	return fmt.Sprintf("%T", effect)
}
