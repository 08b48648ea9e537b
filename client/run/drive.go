package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// cluster runs the jobs of a program whose driver runs here.
type cluster interface {
	// submit hands a job over, and waits until the cluster has it. After an error nothing of the job runs.
	// errOneJob says that the cluster runs only the job that it already has.
	submit(ctx context.Context, graph *jobgraph.JobGraph) (*running, error)
	// report is YARN's report of the application. Its errors include ErrNoYARN and ErrYARNAway.
	report(ctx context.Context) (records.ApplicationReport, error)
	// reach connects to the present ApplicationMaster. The caller closes the connection.
	reach(ctx context.Context) (*client.ClusterClient, error)
	// lost returns what is known of a job whose application has ended. cause is client.ErrApplicationEnded.
	lost(ctx context.Context, job *running, cause error) (msg.JobEnded, error)
	// settle waits for the end of an application that ends with the job.
	settle(ctx context.Context) error
}

// running is a job that a cluster has.
type running struct {
	id          ids.JobID
	application string // its id; "" if it is not known
	name        string // for messages
	goOn        string // the commands for a job that this command no longer follows
	slotWait    string // how long it waits for a slot
	alone       bool   // its application ends with it
	collected   bool   // it has ended, and all its collected records have arrived
	readings    []*reading
	told        msg.JobStatus // that the user was told last
	noted       string        // how the job runs, as the user was told last
	attempt     int32         // the number of the last known ApplicationMaster; 0: it is not known
	does        string        // what the next one does with the application
	replaced    bool          // another ApplicationMaster runs than the one that got the job
}

// errOneJob says that a cluster runs no second job.
var errOneJob = errors.New("it runs one job")

// runner runs a program whose driver runs here. The jobs run on a cluster.
type runner struct {
	*Journal
	limits
	config  config.Config
	cluster cluster
	prints  bool // the driver's output goes to a terminal
}

// drive runs the driver of the program at path. The driver's jobs go to a cluster.
func (r Request) drive(ctx context.Context, path string, on cluster) (err error) {
	d, err := driver.Start(ctx, path, r.Arguments, driver.Options{
		Config: r.Config.Set(), Detached: !r.attached,
		Stdin: r.In, Stdout: terminal.Raw(r.Out), Stderr: terminal.Raw(r.Err),
		Listing: r.Listing,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	err = (&runner{Journal: r.Journal, limits: r.limits, config: r.Config, cluster: on, prints: terminal.Is(r.Out)}).drive(ctx, d)
	if errors.Is(err, driver.ErrNoJob) && asksForHelp(r.Arguments) {
		return nil
	}
	return err
}

// drive runs one job after the other until the driver has ended. A job that did not finish is an error, even if
// the driver exits with success. drive prints this error after the driver's own output about it. A job that the
// cluster refuses is no error if the driver exits with success.
func (r *runner) drive(ctx context.Context, d *driver.Driver) error {
	// Without this a driver that reads nothing would block Tell after the end of ctx.
	stop := context.AfterFunc(ctx, func() { _ = d.HangUp() })
	defer stop()
	var (
		last       *running
		unfinished *unfinishedJob // why the last job did not finish, not printed yet
		printed    error          // the first printed error
	)
	for {
		job, _, err := d.Next(ctx)
		if unfinished != nil {
			printed = cmp.Or(printed, r.failed(unfinished.cause, unfinished.stack))
		}
		switch {
		case errors.Is(err, io.EOF):
			return printed
		case errors.Is(err, driver.ErrExit) && printed != nil:
			return printed
		case errors.Is(err, ErrInterrupted) && last != nil && !r.attached:
			return r.detach(last, err)
		case err != nil:
			return r.planError(err)
		}
		if last == nil {
			r.done("planned")
		}
		last, unfinished, err = r.execute(ctx, d, &job.Graph)
		if errors.Is(err, errOneJob) {
			refused := r.refuse(ctx, d, &job.Graph)
			return cmp.Or(printed, refused)
		}
		if err != nil {
			return err
		}
	}
}

// unfinishedJob is why a job did not finish.
type unfinishedJob struct {
	cause error
	stack string // of the user's code
}

// execute runs a job to its end, or, if detached, until the cluster has set it up.
func (r *runner) execute(ctx context.Context, d *driver.Driver, graph *jobgraph.JobGraph) (*running, *unfinishedJob, error) {
	for _, warning := range graph.Warnings() {
		r.Line("%s", warning)
	}
	job, err := r.cluster.submit(ctx, graph)
	if err != nil {
		return nil, nil, err
	}
	r.Outcome.begin(job.id, graph.Name)
	if !r.attached {
		state, err := r.initialized(ctx, job)
		switch {
		case errors.Is(err, ErrInterrupted):
			return job, nil, r.detach(job, err)
		case err != nil:
			return job, nil, err
		case state.Status == msg.JobFailed:
			r.Outcome.end(state)
			_ = d.Tell(state) // an error means that the driver has ended; Next returns how it ended
			return job, unfinishedBy(graph, state), nil
		}
	}
	if err := d.Tell(msg.JobAccepted{Job: job.id, Application: job.application}); err != nil && ctx.Err() == nil {
		r.Line("the driver has ended: %v", err)
	}
	if !r.attached {
		r.Line("%s runs. %s", job.name, job.goOn)
		return job, nil, nil
	}
	unfinished, err := r.follow(ctx, d, job, graph)
	return job, unfinished, err
}

// unfinishedBy is why a job that has ended in this way did not finish.
func unfinishedBy(graph *jobgraph.JobGraph, ended msg.JobEnded) *unfinishedJob {
	if ended.Failure != nil {
		return &unfinishedJob{fmt.Errorf("job %s is %s: %w", graph.Name, ended.Status, ended.Failure), ended.Failure.Stack}
	}
	return &unfinishedJob{cause: fmt.Errorf("job %s is %s", graph.Name, ended.Status)}
}

// refuse refuses the second job of a driver, and all later ones, until the driver ends. If the driver then
// exits with success, there is no error.
func (r *runner) refuse(ctx context.Context, d *driver.Driver, graph *jobgraph.JobGraph) error {
	for {
		failure := msg.NewFailure(fmt.Sprintf("job %s is the second job of this program, but -t %s runs only one: execute one job, or use -t %s or -t %s",
			graph.Name, config.TargetPerJob, config.TargetSession, config.TargetLocal), "")
		refused := r.failed(failure, "")
		if err := d.Tell(msg.JobEnded{Status: msg.JobFailed, Failure: failure}); err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		next, _, err := d.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, driver.ErrExit):
			return refused
		case err != nil:
			return r.planError(err)
		}
		graph = &next.Graph
	}
}

func (r *runner) planError(err error) error {
	var plan *driver.PlanError
	if errors.As(err, &plan) && plan.Stack != "" {
		return r.failed(plan, plan.Stack)
	}
	return err
}

// failed prints an error of the user's code with its stack, the error first.
func (r *runner) failed(err error, stack string) error {
	r.Line("%s", strings.TrimSpace(fmt.Sprintf("bobbin: %v\n%s", err, stack)))
	return Printed{err}
}

// interrupted handles Ctrl-C while the client follows a job: the job continues, unless it ends with its client.
func (r *runner) interrupted(ctx context.Context, job *running, cause error) error {
	if !r.endsWithClient {
		return r.detach(job, cause)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	if err := r.cancel(ctx, job); err != nil {
		return errors.Join(cause, fmt.Errorf("%w: %s is not cancelled: %w", client.ErrLeftBehind, job.name, err))
	}
	r.Line("cancelled %s", job.name)
	return Printed{cause}
}

// cancelTime bounds the end of a job that ends with its client.
const cancelTime = 15 * time.Second

// cancel cancels a job and waits for its end. If YARN replaces the ApplicationMaster meanwhile, cancel asks the next
// one.
func (r *runner) cancel(ctx context.Context, job *running) error {
	for {
		err := r.cancelAt(ctx, job)
		if err == nil || ctx.Err() != nil || !client.Unreachable(err) {
			return err
		}
		if err := pause(ctx, lookInterval); err != nil {
			return err
		}
	}
}

// cancelAt is cancel at the present ApplicationMaster.
func (r *runner) cancelAt(ctx context.Context, job *running) error {
	reached, err := r.reachJob(ctx, job)
	if err != nil {
		return err
	}
	defer reached.Close()
	err = reached.Cancel(ctx, job.id)
	if status, is := errors.AsType[*client.StatusError](err); err != nil && (!is || status.Status != http.StatusConflict) { // 409: the job has already ended
		return err
	}
	for {
		ended, err := reached.Result(ctx, job.id)
		if err != nil || ended.Status.GloballyTerminal() {
			return err
		}
	}
}

// detach ends the command after Ctrl-C. The job continues.
func (r *runner) detach(job *running, cause error) error {
	r.Line("detached: %s goes on. %s", job.name, job.goOn)
	return Printed{cause}
}
