package cli

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/driver"
	"github.com/bobbin-yarn/bobbin/client/program"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// cleanupTimeout bounds what Ctrl-C does before the job runs.
const cleanupTimeout = 15 * time.Second

// perJob is one run of a program on a YARN cluster of its own.
type perJob struct {
	p        Process
	cfg      config.Config
	cluster  *client.Cluster
	attached bool
	say      *progress.Printer
	timeline *client.Timeline
	outcome  outcome
}

// outcome is what -o json prints.
type outcome struct {
	Application string           `json:"application,omitempty"`
	Job         string           `json:"job,omitempty"`
	TrackingURL string           `json:"trackingUrl,omitempty"`
	State       string           `json:"state,omitempty"`       // YARN's
	FinalStatus string           `json:"finalStatus,omitempty"` // YARN's
	JobStatus   string           `json:"jobStatus,omitempty"`
	Duration    int64            `json:"durationMs,omitempty"` // of the job
	Counters    map[string]int64 `json:"counters,omitempty"`
	Error       string           `json:"error,omitempty"`
	Steps       []client.Step    `json:"steps"`
}

func runPerJob(c *cli.Context, p Process, cfg config.Config) (err error) {
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	r := &perJob{
		p: p, cfg: cfg, attached: cfg.Bool(config.ExecutionAttached),
		say: progress.New(p.Stderr), timeline: client.NewTimeline(p.Start),
	}
	if asJSON {
		defer func() {
			if err != nil {
				r.outcome.Error = err.Error()
			}
			r.outcome.Steps = r.timeline.Steps()
			err = errors.Join(err, json.NewEncoder(p.Stdout).Encode(r.outcome))
		}()
	}
	if r.cluster, err = open(p, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	return r.run(c.Context, c.Args().Slice())
}

// machine is the platform that programs must be built for: the one of this
// binary, which runs on the cluster too.
func machine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

func (r *perJob) run(ctx context.Context, words []string) (err error) {
	inspected := make(chan error, 1)
	var own program.Program
	go func() { // ends by itself: reads one file
		var err error
		own, err = program.InspectBobbin(r.p.Executable, machine())
		inspected <- err
	}()
	job, err := program.Inspect(words[0], machine())
	err = errors.Join(err, <-inspected)
	if err != nil {
		return err
	}
	d, err := driver.Start(ctx, job.Path, words[1:], driver.Options{
		Config: r.cfg.Set(), Detached: !r.attached,
		Stdin: r.p.Stdin, Stdout: r.p.Stdout, Stderr: r.p.Stderr,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	graph, err := d.Next(ctx)
	if err != nil {
		return r.planError(err)
	}
	r.timeline.Done("planned")
	app, err := r.start(ctx, graph, job, own)
	if err != nil {
		return err
	}
	if err := d.Tell(msg.JobAccepted{Job: app.Job, Application: app.ID.String()}); err != nil {
		r.say.Line("the driver has ended: %v", err)
	}
	if !r.attached {
		r.say.Line("%s runs. %s", app.ID, howToGoOn(app))
		return r.finish(ctx, d)
	}
	return r.follow(ctx, d, app, graph)
}

func (r *perJob) planError(err error) error {
	var plan *driver.PlanError
	if errors.As(err, &plan) && plan.Stack != "" {
		fmt.Fprintf(r.p.Stderr, "bobbin: %v\n%s\n", plan, plan.Stack)
		return printed{err}
	}
	if errors.Is(err, io.EOF) {
		err = driver.ErrNoJob
	}
	return err
}

// start deploys the job and waits until its ApplicationMaster runs. After an
// error, Ctrl-C included, nothing is left behind.
func (r *perJob) start(ctx context.Context, graph jobgraph.JobGraph, job, own program.Program) (*client.Application, error) {
	app, err := r.cluster.Deploy(ctx, client.Deployment{
		Config: r.cfg, Graph: graph, Program: job, Bobbin: own, Attached: r.attached, Timeline: r.timeline,
		Uploading: func(name string, done, total int64) {
			const mb = 1 << 20
			r.say.Moving("uploading "+name, (done+mb-1)/mb, (total+mb-1)/mb, " MB")
		},
	})
	if err != nil {
		return nil, err
	}
	r.outcome.Application, r.outcome.Job = app.ID.String(), string(app.Job)
	r.say.Line("submitted %s", app.ID)
	report, err := app.AwaitRunning(ctx, r.state)
	if err != nil {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if failed := app.Abandon(cleaning); failed != nil {
			return nil, errors.Join(err, failed)
		}
		if errors.Is(err, ErrInterrupted) {
			r.say.Line("killed %s and removed what was staged for it", app.ID)
		}
		return nil, err
	}
	r.outcome.TrackingURL = report.TrackingURL
	return app, nil
}

// state prints a state of the application, once each.
func (r *perJob) state(report records.ApplicationReport) {
	r.outcome.State, r.outcome.FinalStatus = string(report.State), string(report.FinalStatus)
	switch {
	case report.State == records.ApplicationRunning:
		r.say.Line("%s is %s, %s", report.ID, report.State, report.TrackingURL)
	case report.State.Terminal():
		r.say.Line("%s is %s (%s)", report.ID, report.State, report.FinalStatus)
	default:
		r.say.Line("%s is %s", report.ID, report.State)
	}
	r.timeline.Done(string(report.State))
}

// finish lets the driver go on to its end.
func (r *perJob) finish(ctx context.Context, d *driver.Driver) error {
	for {
		graph, err := d.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.planError(err)
		}
		refused := msg.NewFailure(fmt.Sprintf("job %s is the second of this program, and -t %s runs one: use -t yarn-session or -t yarn-application",
			graph.Name, targetYARNPerJob), "")
		if err := d.Tell(msg.JobEnded{Status: msg.JobFailed, Failure: refused}); err != nil {
			return err
		}
	}
}

func howToGoOn(app *client.Application) string {
	return fmt.Sprintf("Its state: bobbin applications. Its logs: bobbin logs %s. To end it: bobbin kill %s", app.ID, app.ID)
}
