package top

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Site is the application that the view is about, as package run has it. Its methods may be called from any goroutine.
type Site interface {
	// Application is its id; "" if it is not known.
	Application() string
	// Report is YARN's report of it. Its errors include run.ErrYARNAway.
	Report(ctx context.Context) (records.ApplicationReport, error)
	// Reach connects to its present ApplicationMaster.
	Reach(ctx context.Context) (*client.ClusterClient, error)
	// Explain adds to the error of a request whether YARN replaces the ApplicationMaster, or the application has ended.
	Explain(ctx context.Context, asked *client.ClusterClient, err error) error
}

// Times of looks.
const (
	// A look begins at least lookInterval after the one before, and leaves the ApplicationMaster most of the time: a look at
	// very many jobs takes long.
	lookInterval = 2 * time.Second
	restOfLook   = 5                // times as long as the look took
	lookTimeout  = 10 * time.Second // a frozen node accepts connections and never answers
	loadInterval = 5 * time.Second  // between two questions for loads, which workers report as rarely
)

// asker looks at an ApplicationMaster. One goroutine at a time uses it.
type asker struct {
	site   Site
	master *client.ClusterClient // nil: none is reached
	loaded time.Time             // when loads were asked for last
}

// ask looks once, and tells what it has found. wait is the time until the next look. An ApplicationMaster that does not answer
// is told at once: YARN, which is then asked why, may not answer either.
func (a *asker) ask(ctx context.Context, asked Asked, tell func(Event)) (wait time.Duration) {
	began := time.Now()
	look, err := a.lookInTime(ctx, asked)
	took := time.Since(began)
	if err == nil {
		tell(Looked{look})
		return max(lookInterval, restOfLook*took)
	}
	tell(missed(err))
	if a.master != nil {
		tell(missed(a.site.Explain(ctx, a.master, err)))
	}
	a.close() // the next look reaches the ApplicationMaster that runs then
	return max(lookInterval, took)
}

func (a *asker) close() {
	if a.master != nil {
		a.master.Close()
		a.master = nil
	}
}

func (a *asker) lookInTime(ctx context.Context, asked Asked) (Look, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if a.master == nil {
		master, err := a.site.Reach(ctx)
		if err != nil {
			return Look{}, err
		}
		a.master = master
	}
	return a.look(ctx, asked)
}

// look asks for everything that the user looks at.
func (a *asker) look(ctx context.Context, asked Asked) (Look, error) {
	overview, err := a.master.Overview(ctx)
	if err != nil {
		return Look{}, err
	}
	l := Look{At: time.Now(), Application: a.application(overview)}
	if l.Jobs, err = a.master.Jobs(ctx); err != nil {
		return l, err
	}
	if err := a.workers(ctx, &l, asked.Workers); err != nil {
		return l, err
	}
	id := cmp.Or(asked.Job, Update(Model{}, Looked{l}).Asks().Job)
	if id == "" {
		return l, nil
	}
	details, err := a.master.Details(ctx, id)
	if client.NotFound(err) { // it was forgotten since
		return l, nil
	}
	if err != nil {
		return l, err
	}
	return l, errors.Join(a.job(ctx, &l, details), a.subtasks(ctx, &l, id, asked.Vertex))
}

func (a *asker) application(o client.Overview) Application {
	return Application{
		ID: a.site.Application(), Attempt: a.master.Attempt, Version: o.Version, Workers: o.Workers, Slots: o.Slots, Free: o.FreeSlots,
		Running: o.Running, Finished: o.Finished, Other: o.Canceled + o.Failed,
	}
}

// workers lists the workers, with the loads of some.
func (a *asker) workers(ctx context.Context, l *Look, loads []string) error {
	all, err := a.master.Workers(ctx)
	if err != nil {
		return err
	}
	due := time.Since(a.loaded) >= loadInterval
	for _, w := range all {
		worker := Worker{Worker: w}
		if due && slices.Contains(loads, w.ID) {
			if worker.Load, err = a.master.Load(ctx, w.ID); err != nil && client.Unreachable(err) {
				return err // any other answer is about this worker alone
			}
		}
		l.Workers = append(l.Workers, worker)
	}
	if due && len(loads) > 0 {
		a.loaded = time.Now()
	}
	return nil
}

// job adds what there is to know about the chosen job.
func (a *asker) job(ctx context.Context, l *Look, details restapi.JobDetailsInfo) error {
	activity, err := a.master.Activity(ctx, details.ID)
	if err != nil {
		return err
	}
	job := live.JobOf(details, activity)
	l.Job = &job
	if !job.Status.GloballyTerminal() {
		if l.Waits, _, err = a.master.Waiting(ctx, job.ID); err != nil {
			return err
		}
	}
	if !job.Troubled {
		return nil
	}
	cause, err := a.master.RootCause(ctx, job.ID)
	switch {
	case client.NotFound(err) || err == nil && cause == "":
		return nil
	case job.Status == msg.JobFailed || job.Status == msg.JobFailing:
		l.Cause = "failed: " + cause
	default:
		l.Cause = "restarted: " + cause
	}
	return err
}

// subtasks adds the subtasks of a vertex that the user has opened.
func (a *asker) subtasks(ctx context.Context, l *Look, job ids.JobID, vertex string) error {
	if vertex == "" {
		return nil
	}
	details, err := a.master.Vertex(ctx, job, vertex)
	if client.NotFound(err) { // it is another job's, or they are not kept
		return nil
	}
	if err != nil {
		return err
	}
	pressure, err := a.master.BackPressure(ctx, job, vertex)
	if err != nil {
		return err
	}
	measured := make(map[int]restapi.SubtaskBackPressure, len(pressure.Subtasks))
	for _, s := range pressure.Subtasks {
		measured[s.Subtask] = s
	}
	l.Vertex = vertex
	for _, s := range details.Subtasks {
		m, known := measured[s.Subtask]
		l.Subtasks = append(l.Subtasks, Subtask{
			Index: s.Subtask, Attempt: s.Attempt, State: s.Status, Node: s.Host,
			Read:    live.Amount{Records: s.Metrics.ReadRecords, Bytes: s.Metrics.ReadBytes},
			Written: live.Amount{Records: s.Metrics.WriteRecords, Bytes: s.Metrics.WriteBytes},
			Lasts:   time.Duration(s.Duration) * time.Millisecond, Measured: known, Busy: m.BusyRatio, Pressed: m.Ratio,
		})
	}
	return nil
}
