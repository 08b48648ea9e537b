package cli

import (
	"encoding/json"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// outcome is what -o json prints of a command that starts something.
type outcome struct {
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
	Steps       []client.Step    `json:"steps"`

	asJSON bool // it is what will be printed
}

// jobOutcome is one job of several.
type jobOutcome struct {
	Job       ids.JobID        `json:"job"`
	Name      string           `json:"name"`
	JobStatus string           `json:"jobStatus,omitempty"` // of one that was followed
	Duration  int64            `json:"durationMs,omitempty"`
	Counters  map[string]int64 `json:"counters,omitempty"`
}

// see notes what YARN says of the application.
func (o *outcome) see(report records.ApplicationReport) {
	o.State, o.FinalStatus = string(report.State), string(report.FinalStatus)
}

// begin notes a job that has been submitted.
func (o *outcome) begin(job ids.JobID, name string) {
	o.Job, o.JobStatus, o.Duration, o.Counters = string(job), "", 0, nil
	o.Jobs = append(o.Jobs, jobOutcome{Job: job, Name: name})
}

// end notes how the last one ended.
func (o *outcome) end(ended msg.JobEnded) {
	o.JobStatus, o.Duration, o.Counters = string(ended.Status), ended.Duration.Milliseconds(), ended.Counters
	last := &o.Jobs[len(o.Jobs)-1]
	last.JobStatus, last.Duration, last.Counters = o.JobStatus, o.Duration, o.Counters
}

// telling runs a command that starts something and notes what becomes of it, which is printed
// where JSON is asked for. Standard output is nobody else's then.
func telling(c *cli.Context, p Process, command func(p Process, told *outcome, timeline *client.Timeline) error) error {
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	out := p.Stdout
	if asJSON {
		p.Stdout = p.Stderr
	}
	told := outcome{asJSON: asJSON}
	timeline := client.NewTimeline(p.Start)
	err = command(p, &told, timeline)
	if !asJSON {
		return err
	}
	if err != nil {
		told.Error = err.Error()
	}
	told.Steps = timeline.Steps()
	return errors.Join(err, json.NewEncoder(out).Encode(told))
}
