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

// cluster takes the jobs of a program whose driver runs here, and lets them be followed.
type cluster interface {
	// submit hands a job over, and waits until the cluster has it. After an error nothing
	// of the job goes on. errOneJob: it runs no more than the one that it has.
	submit(ctx context.Context, graph *jobgraph.JobGraph) (*running, error)
	// report is YARN's, of the application: ErrNoYARN, ErrYARNAway.
	report(ctx context.Context) (records.ApplicationReport, error)
	// reach connects to the ApplicationMaster of the time. The caller closes the connection.
	reach(ctx context.Context) (*client.ClusterClient, error)
	// lost is what is known of a job whose ApplicationMaster cannot be asked any more.
	// cause is errNextAttempt or client.ErrApplicationEnded; to give the former means that
	// the job has begun anew.
	lost(ctx context.Context, job *running, cause error) (msg.JobEnded, error)
	// settle waits for what ends with the job.
	settle(ctx context.Context) error
}

// running is a job that a cluster has.
type running struct {
	id          ids.JobID
	application string // its id; "": it is not known
	name        string // for people, who have left the job to itself
	goOn        string // how they go on with it
	slotWait    string // how long it waits for a slot
	collected   bool   // all that it collects has come, of the attempt that is followed
}

// errOneJob says that a cluster has had its job.
var errOneJob = errors.New("it runs one job")

// runner runs a program whose driver runs here: its jobs go to a cluster.
type runner struct {
	*Journal
	limits
	cluster cluster
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
	err = (&runner{Journal: r.Journal, limits: r.limits, cluster: on}).drive(ctx, d)
	if errors.Is(err, driver.ErrNoJob) && asksForHelp(r.Arguments) {
		return nil
	}
	return err
}

// drive runs one job after the other until the driver has ended. A job that did not finish
// is an error whatever the driver makes of it; it is printed behind what the driver says of
// it. One that the cluster refuses is none if the driver ends well all the same.
func (r *runner) drive(ctx context.Context, d *driver.Driver) error {
	// A driver that reads nothing blocks Tell until then.
	stop := context.AfterFunc(ctx, func() { _ = d.HangUp() })
	defer stop()
	var (
		last       *running
		unfinished *unfinishedJob // the last one, not told yet
		printed    error          // the first of those that are told
	)
	for {
		graph, err := d.Next(ctx)
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
		last, unfinished, err = r.execute(ctx, d, &graph)
		if errors.Is(err, errOneJob) {
			refused := r.refuse(ctx, d, &graph)
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

// execute runs a job: to its end, or until it runs where nobody follows it.
func (r *runner) execute(ctx context.Context, d *driver.Driver, graph *jobgraph.JobGraph) (*running, *unfinishedJob, error) {
	for _, warning := range graph.Warnings() {
		r.Line("%s", warning)
	}
	job, err := r.cluster.submit(ctx, graph)
	if err != nil {
		return nil, nil, err
	}
	r.Outcome.begin(job.id, graph.Name)
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

// refuse answers a driver that wants to execute more than its cluster can, and lets it go on
// to its end. One that ends well all the same is content with that.
func (r *runner) refuse(ctx context.Context, d *driver.Driver, graph *jobgraph.JobGraph) error {
	for {
		failure := msg.NewFailure(fmt.Sprintf("job %s is the second job of this program, but -t %s runs only one: execute one job, or use -t %s or -t %s",
			graph.Name, config.TargetPerJob, config.TargetSession, config.TargetLocal), "")
		refused := r.failed(failure, "")
		if err := d.Tell(msg.JobEnded{Status: msg.JobFailed, Failure: failure}); err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		next, err := d.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, driver.ErrExit):
			return refused
		case err != nil:
			return r.planError(err)
		}
		graph = &next
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

// interrupted is what becomes of a job that is followed, after Ctrl-C: it goes on by itself,
// unless it ends with its client.
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

// cancel cancels a job and waits for its end.
func (r *runner) cancel(ctx context.Context, job *running) error {
	reached, err := r.cluster.reach(ctx)
	if err != nil {
		return err
	}
	defer reached.Close()
	err = reached.Cancel(ctx, job.id)
	if status, is := errors.AsType[*client.StatusError](err); err != nil && (!is || status.Status != http.StatusConflict) { // it has ended otherwise
		return err
	}
	for {
		ended, err := reached.Result(ctx, job.id)
		if err != nil || ended.Status.GloballyTerminal() {
			return err
		}
	}
}

// detach leaves a job to itself, after Ctrl-C.
func (r *runner) detach(job *running, cause error) error {
	r.Line("detached: %s goes on. %s", job.name, job.goOn)
	return Printed{cause}
}
