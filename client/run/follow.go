package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// lookInterval is the longest time between two requests for the state of a running job, and firstLooks the
// shortest. The first requests follow each other quickly, so that the end of a short job is seen soon.
const (
	lookInterval = 100 * time.Millisecond
	firstLooks   = 10 * time.Millisecond
)

// follow follows a running job to its end, and tells the driver how the job ended. It then calls settle, which
// waits for the end of an application that ends with the job. It returns why the job did not finish.
func (r *runner) follow(ctx context.Context, d *driver.Driver, job *running, graph *jobgraph.JobGraph) (*unfinishedJob, error) {
	ended, err := r.followJob(ctx, d, job, graph)
	for r.next(job, err) {
		ended, err = r.followJob(ctx, d, job, graph)
	}
	if errors.Is(err, client.ErrApplicationEnded) {
		ended, err = r.cluster.lost(ctx, job, err)
	}
	if errors.Is(err, ErrInterrupted) {
		return nil, r.interrupted(ctx, job, err)
	}
	if err != nil {
		return nil, err
	}
	r.done("job ended")
	r.Outcome.end(ended)
	r.ended(graph.Name, ended)
	_ = d.Tell(ended) // an error means that the driver has ended; Next returns how it ended
	settled := r.cluster.settle(ctx)
	switch {
	case ended.Failure != nil, ended.Status != msg.JobFinished:
		return unfinishedBy(graph, ended), nil //nolint:nilerr // the job's failure says more
	case errors.Is(settled, client.ErrApplicationEnded):
		return &unfinishedJob{cause: settled}, nil
	}
	return nil, settled
}

// attempt is one ApplicationMaster of an application.
type attempt struct {
	master
	number int32 // YARN's, from 1; 0: it is not known
	job    *running
	before msg.JobStatus                                            // that the user knows from earlier attempts; "" in the first one
	report func(context.Context) (records.ApplicationReport, error) // YARN's, of the application
}

// master is the part of a *client.ClusterClient that asks about a running job.
type master interface {
	Job(context.Context, ids.JobID) (client.JobState, error)
	RootCause(context.Context, ids.JobID) (string, error)
	Result(context.Context, ids.JobID) (msg.JobEnded, error)
	SlotSupply(context.Context) (msg.SlotSupply, error)
	CollectPage(ctx context.Context, job ids.JobID, name string, cursor int64) (msg.CollectPage, error)
	Heartbeat(ctx context.Context, job ids.JobID, until time.Time) error
}

// followJob follows the job over REST until the job has ended, or another ApplicationMaster runs. After the
// job's end, the ApplicationMaster of a per-job cluster keeps the result only for a few seconds.
func (r *runner) followJob(ctx context.Context, d *driver.Driver, job *running, graph *jobgraph.JobGraph) (msg.JobEnded, error) {
	reached, err := r.reachJob(ctx, job)
	if err != nil {
		return msg.JobEnded{}, r.lost(ctx, job, err)
	}
	defer reached.Close()
	a := attempt{master: reached, number: reached.Attempt, job: job, before: job.told, report: r.cluster.report}
	group, following := errgroup.WithContext(ctx)
	for _, v := range graph.Vertices {
		if v.Collect != "" {
			group.Go(func() error { return r.collect(following, d, a, job.reads(v.Collect)) })
		}
	}
	watching, seen := context.WithCancel(following)
	defer seen()
	group.Go(func() error {
		defer seen()
		return r.watch(following, a, graph)
	})
	if r.views(graph) {
		group.Go(func() error {
			r.view(watching, reached, job.id)
			return nil
		})
	}
	err = group.Wait()
	job.collected = err == nil || job.collected && !slices.ContainsFunc(job.readings, func(of *reading) bool { return !of.whole })
	if err != nil {
		return msg.JobEnded{}, r.lost(ctx, job, err)
	}
	ended, err := r.result(ctx, a)
	if err != nil {
		return msg.JobEnded{}, r.lost(ctx, job, err)
	}
	for _, step := range ended.Steps {
		r.doneAt(step.Name, step.At)
	}
	return ended, nil
}

// lookTimeout bounds one request for a job's state. A frozen node accepts connections and never answers.
const lookTimeout = 10 * time.Second

// look asks for the job's progress.
func (a attempt) look(ctx context.Context) (client.JobState, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return a.Job(ctx, a.job.id)
}

// watch shows the job's progress until the job has ended. endure handles a master that does not answer.
func (r *runner) watch(ctx context.Context, a attempt, graph *jobgraph.JobGraph) error {
	began := time.Now()
	next := time.NewTimer(0)
	defer next.Stop()
	var beat time.Time // zero: the first heartbeat is due at once, because the job may have run for a while
	quiet := silence{Wait: progress.Wait{Since: began}}
	var short shortage
	last := client.JobState{Status: a.before, Progress: progress.Job{Input: progress.Input(graph)}}
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		state, err := a.look(ctx)
		switch {
		case err == nil:
			quiet = silence{Wait: progress.Wait{Since: time.Now()}, heard: true}
			state.Progress.Input = last.Progress.Input
			known := r.show(ctx, a, last, state)
			if !r.explainWait(ctx, a, &short, state) && state.Progress.Tasks > 0 {
				r.Moving("job", state.Progress.String())
			}
			last = state
			last.Status = known
			if state.Status.GloballyTerminal() {
				for _, status := range []msg.JobStatus{msg.JobCreated, msg.JobRunning, state.Status} {
					r.doneAt("job "+string(status), state.Entered[status])
				}
				return nil
			}
			beat = r.sign(ctx, a, beat)
		case context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case !client.Unreachable(err):
			return err
		default:
			if err := r.endure(ctx, a, &quiet, err); err != nil {
				return err
			}
		}
		next.Reset(client.UntilNextLook(time.Since(began), firstLooks, lookInterval))
	}
}

// result asks how the job ended. As in watch, endure handles a master that does not answer. The master waits
// only some seconds for this request, and may have ended or been killed since the last request.
func (r *runner) result(ctx context.Context, a attempt) (msg.JobEnded, error) {
	again := time.NewTicker(lookInterval)
	defer again.Stop()
	quiet := silence{Wait: progress.Wait{Since: time.Now()}, heard: true}
	for {
		ended, err := a.Result(ctx, a.job.id)
		if err == nil || context.Cause(ctx) != nil || !client.Unreachable(err) {
			return ended, err
		}
		if err := r.endure(ctx, a, &quiet, err); err != nil {
			return ended, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// sign sends a heartbeat when one is due, for a job that ends with its client. last is the time of the last
// heartbeat, and sign returns the new one. If the ApplicationMaster does not answer, the next call tries again.
func (r *runner) sign(ctx context.Context, a attempt, last time.Time) time.Time {
	now := time.Now()
	if !r.endsWithClient || now.Sub(last) < r.beat {
		return last
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := a.Heartbeat(ctx, a.job.id, now.Add(r.beatLasts))
	switch {
	case err == nil:
	case client.Unreachable(err):
		return last
	default:
		r.Line("this client's heartbeat to the job failed: %v", err)
	}
	return now
}

// show prints the changes of the job since the last request: restarts with their causes, how it runs, and states. It returns the
// state that the user knows.
func (r *runner) show(ctx context.Context, a attempt, last, state client.JobState) msg.JobStatus {
	if state.Entered[msg.JobRestarting].After(last.Entered[msg.JobRestarting]) {
		cause, err := a.RootCause(ctx, a.job.id)
		if err != nil || cause == "" {
			cause = "its cause is in the logs"
		}
		r.Line("job restarts: %s", cause)
	}
	if state.Note != "" && state.Note != a.job.noted {
		r.Line("about the job: %s", state.Note)
		a.job.noted = state.Note
	}
	begins := state.Status == msg.JobInitializing || state.Status == msg.JobCreated
	if begins && a.before != "" { // this ApplicationMaster sets up a job that the user has seen with the one before
		return last.Status
	}
	if state.Status != last.Status && state.Status != msg.JobRestarting && !state.Status.GloballyTerminal() {
		r.Line("job is %s", state.Status)
		a.job.told = state.Status
	}
	return state.Status
}

// reading is how far a collected result was read. Cursors name the master in which the job collected: the next
// master goes on there, if the job had ended, and otherwise begins anew.
type reading struct {
	name   string
	cursor int64
	epoch  int  // of the last page; -1: none has come
	whole  bool // the last page has come
}

// reads is how far a collected result of the job was read.
func (job *running) reads(name string) *reading {
	i := slices.IndexFunc(job.readings, func(of *reading) bool { return of.name == name })
	if i >= 0 {
		return job.readings[i]
	}
	of := &reading{name: name, epoch: -1}
	job.readings = append(job.readings, of)
	return of
}

// collect passes a collected result on to the driver, page by page. endure handles a master that does not
// answer; watch tells the user.
func (r *runner) collect(ctx context.Context, d *driver.Driver, a attempt, of *reading) error {
	again := time.NewTicker(lookInterval)
	defer again.Stop()
	quiet := silence{Wait: progress.Wait{Since: time.Now()}, muted: true}
	for {
		page, err := a.CollectPage(ctx, a.job.id, of.name, of.cursor)
		if err != nil && context.Cause(ctx) == nil && client.Unreachable(err) {
			if err := r.endure(ctx, a, &quiet, err); err != nil {
				return err
			}
			select {
			case <-again.C:
			case <-ctx.Done():
			}
			continue
		}
		if err != nil {
			return err
		}
		quiet = silence{Wait: progress.Wait{Since: time.Now()}, heard: true, muted: true}
		if len(page.Records) > 0 || page.Epoch != of.epoch {
			// If the driver has ended, the job continues; see follow.
			_ = d.Tell(msg.CollectedRecords{Name: of.name, Epoch: page.Epoch, Records: page.Records})
		}
		of.whole = page.End || of.whole && page.Epoch == of.epoch
		of.epoch, of.cursor = page.Epoch, page.Next
		if page.End {
			return nil
		}
	}
}

// lost explains why a job cannot be followed. Usually its application has ended, or has another
// ApplicationMaster.
func (r *runner) lost(ctx context.Context, job *running, cause error) error {
	if interrupted := context.Cause(ctx); interrupted != nil {
		return interrupted
	}
	if errors.Is(cause, errNextAttempt) {
		return cause
	}
	report, err := r.cluster.report(ctx)
	if err != nil && !errors.Is(err, ErrNoYARN) && !errors.Is(err, ErrYARNAway) {
		return errors.Join(cause, err)
	}
	if err == nil && report.State.Terminal() {
		return client.Ended(report)
	}
	if refused, is := errors.AsType[*client.StatusError](cause); is {
		switch refused.Status {
		case http.StatusNotFound:
			if job.replaced {
				return fmt.Errorf("%s is not known to the new ApplicationMaster, and was lost with the previous one: run it again: %w", job.name, cause)
			}
			return fmt.Errorf("%s has ended, and the ApplicationMaster has dropped its result, because of its age or for lack of memory: %w. To keep results longer, raise %s or %s",
				job.name, cause, config.JobStoreExpirationTime, memory.MasterSizedBy(r.config))
		case http.StatusGone:
			return fmt.Errorf("%s no longer waits for this client, which read no results for too long: %w. %s", job.name, cause, job.goOn)
		}
	}
	return fmt.Errorf("%s runs but cannot be followed: %w. %s", job.name, cause, job.goOn)
}
