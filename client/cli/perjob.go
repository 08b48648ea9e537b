package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// perJob is one run of a program on a YARN cluster of its own.
type perJob struct {
	p        Process
	cfg      config.Config
	cluster  *client.Cluster
	attached bool
	say      *progress.Printer
	timeline *client.Timeline
	outcome  *outcome
	since    time.Time // when the application's state was seen first
	waiting  bool      // it has been told why the application waits
	// shortOfSlots says that it has been told why no task runs.
	shortOfSlots bool
}

func runPerJob(ctx context.Context, r *perJob, words []string) (err error) {
	if r.cluster, err = open(ctx, r.p, r.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	return r.run(ctx, words)
}

func (r *perJob) run(ctx context.Context, words []string) (err error) {
	inspected := make(chan error, 1)
	var own program.Program
	go func() { // ends by itself: reads one file
		var err error
		own, err = program.InspectBobbin(r.p.Executable, program.Native())
		inspected <- err
	}()
	job, err := program.Inspect(words[0], program.Native())
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
	if errors.Is(err, driver.ErrNoJob) && asksForHelp(words[1:]) {
		return nil
	}
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
	if r.attached {
		return r.follow(ctx, d, app, graph)
	}
	r.say.Line("%s runs. %s", app.ID, howToGoOn(app))
	err = r.finish(ctx, d)
	if errors.Is(err, ErrInterrupted) {
		return r.detach(app, err)
	}
	return err
}

// asksForHelp tells whether a program that executes nothing was meant to: Go's
// flags have three forms of the question.
func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" })
}

func (r *perJob) planError(err error) error {
	var plan *driver.PlanError
	if errors.As(err, &plan) && plan.Stack != "" {
		return r.failed(plan, plan.Stack)
	}
	if errors.Is(err, io.EOF) {
		err = driver.ErrNoJob
	}
	return err
}

// failed prints an error of the user's code with its stack, the error first.
func (r *perJob) failed(err error, stack string) error {
	r.say.Line("%s", strings.TrimSpace(fmt.Sprintf("bobbin: %v\n%s", err, stack)))
	return printed{err}
}

// start deploys the job and waits until its ApplicationMaster runs. After an
// error, Ctrl-C included, nothing is left behind.
func (r *perJob) start(ctx context.Context, graph jobgraph.JobGraph, job, own program.Program) (*client.Application, error) {
	app, err := r.cluster.Deploy(ctx, client.Deployment{
		Config: r.cfg, Graph: graph, Program: job, Bobbin: own, Attached: r.attached, Timeline: r.timeline,
		Uploading: func(name string, done, total int64) {
			r.say.Moving(name, "uploading "+name+": "+progress.Bytes(done, total))
		},
	})
	if err != nil {
		r.say.Finish()
		return nil, err
	}
	r.outcome.Application, r.outcome.Job = app.ID.String(), string(app.Job)
	r.say.Line("submitted %s", app.ID)
	if app.Advice != "" {
		r.say.Line("%s", app.Advice)
	}
	report, err := app.AwaitRunning(ctx, r.state)
	if err != nil {
		if failed := app.Abandon(ctx); failed != nil {
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

// state prints a state of the application, once each, and what it waits for when
// YARN keeps it waiting.
func (r *perJob) state(report records.ApplicationReport) {
	if r.outcome.State == string(report.State) {
		r.outcome.FinalStatus = string(report.FinalStatus)
		if report.State == records.ApplicationAccepted && !r.waiting && time.Since(r.since) > longWait {
			r.waiting = true
			r.say.Line("%s waits for its container: %s", report.ID, waitsFor(report.Diagnostics))
		}
		return
	}
	r.outcome.State, r.outcome.FinalStatus = string(report.State), string(report.FinalStatus)
	r.since = time.Now()
	line := fmt.Sprintf("%s is %s", report.ID, report.State)
	if report.State.Terminal() {
		line += fmt.Sprintf(" (%s)", report.FinalStatus)
	}
	if report.TrackingURL != noURL && report.TrackingURL != "" {
		line += ", " + report.TrackingURL
	}
	r.say.Line("%s", line)
	r.timeline.Done(string(report.State))
}

// noURL is YARN's tracking URL of an application that has no attempt yet.
const noURL = "N/A"

// longWait is how long YARN may take to start the ApplicationMaster before
// people wonder.
const longWait = 5 * time.Second

// waitsFor is the first of what YARN says of an application that waits: "[Sat Nov
// 21 …] Application is added to the scheduler … limit exceeded.  Details : …".
func waitsFor(diagnostics string) string {
	text := strings.TrimSpace(diagnostics)
	if _, rest, dated := strings.Cut(text, "] "); dated && strings.HasPrefix(text, "[") {
		text = rest
	}
	for _, end := range []string{"\n", "  ", " Details :"} {
		text, _, _ = strings.Cut(text, end)
	}
	return cmp.Or(text, "YARN gives no reason")
}

// finish lets the driver go on to its end. A second job is refused; a driver that
// ends well all the same is content with that.
func (r *perJob) finish(ctx context.Context, d *driver.Driver) error {
	var refused error
	for {
		graph, err := d.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case refused != nil && errors.Is(err, driver.ErrExit):
			return refused
		case err != nil:
			return r.planError(err)
		}
		failure := msg.NewFailure(fmt.Sprintf("job %s is the second of this program, and -t %s runs one: execute one job, or use -t %s",
			graph.Name, targetYARNPerJob, targetLocal), "")
		refused = r.failed(failure, "")
		if err := d.Tell(msg.JobEnded{Status: msg.JobFailed, Failure: failure}); err != nil {
			return err
		}
	}
}

// detach leaves the application to itself, after Ctrl-C.
func (r *perJob) detach(app *client.Application, cause error) error {
	r.say.Line("detached: %s goes on. %s", app.ID, howToGoOn(app))
	return printed{cause}
}

func howToGoOn(app *client.Application) string {
	return fmt.Sprintf("Its state: bobbin applications. Its logs: bobbin logs %s. To end it: bobbin kill %s", app.ID, app.ID)
}
