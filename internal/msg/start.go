package msg

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Span is a part of a start, for users who ask where the seconds went.
type Span struct {
	Name   string
	Begin  time.Time
	End    time.Time // zero: it is not over
	Detail string    // what happened, or with whom; may be ""
}

// The steps of a job's start-up: JobDetails.Steps.
const (
	StepRecovered = "job recovered" // from an earlier ApplicationMaster
	StepWorker    = "first worker registered"
	StepHost      = "first task host ready"
	StepDeployed  = "first tasks deployed"
	StepRunning   = "first task running"
)

// StartOf tells how a job has started, until its first task runs. If the job ends before, so does the span in which it was.
// granted is when the first container came for the job; zero: none had to come, or that is not known. The start of a job that
// was recovered begins with its recovery.
func StartOf(d *JobDetails, granted time.Time) (spans []Span) {
	reached := make(map[string]time.Time, len(d.Steps))
	for _, step := range d.Steps {
		reached[step.Name] = step.At
	}
	type part struct {
		name, detail string
		end          time.Time
	}
	asked := []part{{"slots asked for", "a worker with a free slot gets the request", reached[StepWorker]}}
	accepted := d.Timestamps[JobCreated] // RUNNING has the time of the last restart
	if worker := reached[StepWorker]; granted.After(accepted) && (worker.IsZero() || granted.Before(worker)) {
		asked = []part{
			{"containers asked for", "YARN gives the first container", granted},
			{"first worker", "the container starts, and its worker registers", worker},
		}
	}
	begin, first := d.Timestamps[JobInitializing], part{"job accepted", "the ApplicationMaster stores the job, and makes its outputs", accepted}
	if d.recovered() {
		first = part{"job recovered", "the time before belongs to an earlier ApplicationMaster; this one opens the job's outputs, and starts the job again", accepted}
	}
	for _, part := range slices.Concat([]part{first}, asked, []part{
		{"first task host", "a worker fetches the job's program and its cached files, and starts it", reached[StepHost]},
		{"slots for the first tasks", "other workers come, until a part of the job has all its slots", reached[StepDeployed]},
		{"deployment", "workers get the tasks and start them", reached[StepRunning]},
	}) {
		if begin.IsZero() {
			return spans
		}
		span := Span{Name: part.name, Begin: begin, End: part.end, Detail: part.detail}
		if span.End.IsZero() {
			span.End = d.End
		}
		if span.End.Before(span.Begin) && !span.End.IsZero() {
			span.End = span.Begin
		}
		spans = append(spans, span)
		begin = part.end
	}
	return spans
}

// startPause separates a start from what happens later: a session may get its first job hours after its start.
const startPause = time.Minute

// Begin puts spans in the order of their begins, and leaves out what begins long after the others have ended: that belongs to
// no start. over tells that all spans have ended, and that nothing can follow.
func Begin(spans []Span, now time.Time) (start []Span, over bool) {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.Begin.IsZero() })
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Compare(a.Begin.UnixNano(), b.Begin.UnixNano()) })
	var last time.Time
	open := false
	for i, s := range spans {
		if !open && i > 0 && s.Begin.Sub(last) > startPause {
			return spans[:i], true
		}
		open = open || s.End.IsZero()
		last = latest(last, s.End)
	}
	return spans, !open && now.Sub(last) > startPause
}

// DescribeContainer names a container of a size on a host.
func DescribeContainer(container, host string, size ContainerSize) string {
	return fmt.Sprintf("%s on %s, %s", container, host, size)
}
