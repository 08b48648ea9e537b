package run

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Journal records a command that starts something: lines for people, an Outcome for scripts,
// and the times of steps.
type Journal struct {
	*progress.Printer
	timeline
	Outcome   Outcome
	scripts   bool  // the outcome will be printed
	successor int32 // the last ApplicationMaster that is told to have replaced another one; 0: none is
}

// NewJournal starts a Journal. It prints lines for people on out. scripts says whether the outcome will be
// printed.
func NewJournal(out io.Writer, start time.Time, scripts bool) *Journal {
	return &Journal{Printer: progress.New(out), timeline: timeline{start: start}, scripts: scripts}
}

// Outcome is what -o json prints of a command that starts something.
type Outcome struct {
	Application string           `json:"application,omitempty"`
	Job         string           `json:"job,omitempty"` // the last one, if there are several
	TrackingURL string           `json:"trackingUrl,omitempty"`
	State       string           `json:"state,omitempty"`       // YARN's
	FinalStatus string           `json:"finalStatus,omitempty"` // YARN's
	JobStatus   string           `json:"jobStatus,omitempty"`
	Duration    int64            `json:"durationMs,omitempty"` // of the job
	Counters    map[string]int64 `json:"counters,omitempty"`
	Jobs        []jobOutcome     `json:"jobs,omitempty"` // in the order of their execution
	Error       string           `json:"error,omitempty"`
	Steps       []step           `json:"steps"`
}

// jobOutcome is one job of several.
type jobOutcome struct {
	Job       ids.JobID        `json:"job"`
	Name      string           `json:"name"`
	JobStatus string           `json:"jobStatus,omitempty"` // of a followed job
	Duration  int64            `json:"durationMs,omitempty"`
	Counters  map[string]int64 `json:"counters,omitempty"`
}

// Told is the Outcome of a command that has ended.
func (j *Journal) Told(err error) Outcome {
	if err != nil {
		j.Outcome.Error = err.Error()
	}
	j.Outcome.Steps = j.ordered()
	return j.Outcome
}

// see notes what YARN says of the application.
func (o *Outcome) see(report records.ApplicationReport) {
	o.State, o.FinalStatus = string(report.State), string(report.FinalStatus)
}

// begin notes a job that has been submitted.
func (o *Outcome) begin(job ids.JobID, name string) {
	o.Job, o.JobStatus, o.Duration, o.Counters = string(job), "", 0, nil
	o.Jobs = append(o.Jobs, jobOutcome{Job: job, Name: name})
}

// end notes how the last job ended.
func (o *Outcome) end(ended msg.JobEnded) {
	o.JobStatus, o.Duration, o.Counters = string(ended.Status), ended.Duration.Milliseconds(), ended.Counters
	last := &o.Jobs[len(o.Jobs)-1]
	last.JobStatus, last.Duration, last.Counters = o.JobStatus, o.Duration, o.Counters
}

// mostCounters is how many counters of a job are printed for people.
const mostCounters = 20

// ended prints how a job ended. For a FINISHED job it also prints the counters, sorted by name, unless they are
// printed as JSON.
func (j *Journal) ended(name string, ended msg.JobEnded) {
	j.Line("job %s is %s after %s", name, ended.Status, ended.Duration.Round(time.Millisecond))
	if ended.Status != msg.JobFinished || j.scripts {
		return
	}
	counters := slices.Sorted(maps.Keys(ended.Counters))
	for _, counter := range counters[:min(len(counters), mostCounters)] {
		j.Line("  %s: %d", counter, ended.Counters[counter])
	}
	if more := len(counters) - mostCounters; more > 0 {
		j.Line("  and %d more: -o json has all", more)
	}
}

// uploading shows how far an upload is.
func (j *Journal) uploading(name string, done, total int64) {
	j.Moving(name, "uploading "+name+": "+progress.Bytes(done, total))
}
