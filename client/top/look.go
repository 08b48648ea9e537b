package top

import (
	"cmp"
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// master is the part of a *client.ClusterClient that a look needs.
type master interface {
	Overview(ctx context.Context) (client.Overview, error)
	Jobs(ctx context.Context) ([]client.JobOverview, error)
	Details(ctx context.Context, job ids.JobID) (restapi.JobDetailsInfo, error)
	Activity(ctx context.Context, job ids.JobID) (restapi.JobVertices, error)
	Waiting(ctx context.Context, job ids.JobID) (words string, since time.Time, err error)
	RootCause(ctx context.Context, job ids.JobID) (string, error)
	Vertex(ctx context.Context, job ids.JobID, vertex string) (restapi.JobVertexDetails, error)
	Workers(ctx context.Context) ([]client.Worker, error)
	Load(ctx context.Context, worker string) (client.Load, error)
}

// look asks for everything that the user looks at, and tells each part of it: first the list of jobs, last the whole. After an
// error the user has the parts before it.
func look(ctx context.Context, of master, loads *loads, asked Asked, tell func(Look)) error {
	overview, err := within(ctx, of.Overview)
	if err != nil {
		return err
	}
	l := Look{At: time.Now(), Application: applicationOf(overview), Partial: true}
	if l.Jobs, err = within(ctx, of.Jobs); err != nil {
		return err
	}
	tell(l)
	if id := cmp.Or(asked.Job, Update(Model{}, Looked{l}).Asks().Job); id != "" {
		if err := chosen(ctx, of, &l, id, asked.Vertex); err != nil {
			return err
		}
		tell(l)
	}
	all, err := within(ctx, of.Workers)
	if err != nil {
		return err
	}
	load, err := loads.ask(ctx, of, asked.Workers)
	if err != nil {
		return err
	}
	l.Partial, l.Workers = false, make([]Worker, len(all))
	for i, w := range all {
		l.Workers[i] = Worker{Worker: w, Load: load[w.ID]}
	}
	tell(l)
	return nil
}

// applicationOf is what the ApplicationMaster itself tells of its application.
func applicationOf(o client.Overview) Application {
	return Application{
		Version: o.Version, Workers: o.Workers, Slots: o.Slots, Free: o.FreeSlots, Running: o.Running, Finished: o.Finished, Other: o.Canceled + o.Failed,
	}
}

// chosen adds the chosen job, and the subtasks of a vertex that the user has opened.
func chosen(ctx context.Context, of master, l *Look, id ids.JobID, vertex string) error {
	details, err := within(ctx, func(ctx context.Context) (restapi.JobDetailsInfo, error) { return of.Details(ctx, id) })
	if client.NotFound(err) { // it was forgotten since
		return nil
	}
	if err != nil {
		return err
	}
	if err := addJob(ctx, of, l, details); err != nil {
		return err
	}
	return addSubtasks(ctx, of, l, id, vertex)
}

// addJob adds what there is to know about the chosen job.
func addJob(ctx context.Context, of master, l *Look, details restapi.JobDetailsInfo) error {
	activity, err := within(ctx, func(ctx context.Context) (restapi.JobVertices, error) { return of.Activity(ctx, details.ID) })
	if err != nil {
		return err
	}
	job := live.JobOf(details, activity)
	l.Job = &job
	if !job.Status.GloballyTerminal() {
		l.Waits, err = within(ctx, func(ctx context.Context) (string, error) {
			words, _, err := of.Waiting(ctx, job.ID)
			return words, err
		})
		if err != nil {
			return err
		}
	}
	if !job.Troubled {
		return nil
	}
	cause, err := within(ctx, func(ctx context.Context) (string, error) { return of.RootCause(ctx, job.ID) })
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

// addSubtasks adds the subtasks of a vertex that the user has opened.
func addSubtasks(ctx context.Context, of master, l *Look, job ids.JobID, vertex string) error {
	if vertex == "" {
		return nil
	}
	details, err := within(ctx, func(ctx context.Context) (restapi.JobVertexDetails, error) { return of.Vertex(ctx, job, vertex) })
	if client.NotFound(err) { // it is another job's, or they are not kept
		return nil
	}
	if err != nil {
		return err
	}
	measured := make(map[int]restapi.SubtaskBackPressure)
	if details.BackPressure != nil {
		for _, s := range details.BackPressure.Subtasks {
			measured[s.Subtask] = s
		}
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
