package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// perJob is the target that starts a cluster for the one job of a program. The driver runs here and plans the
// job.
type perJob struct {
	Request
	witness witness // of its application
	on      *client.Cluster
	bobbin  client.Executable
	program program.Program
	files   client.CachedFiles

	app   *client.Application // nil: the job is not submitted yet
	graph *jobgraph.JobGraph
}

func (t *perJob) run(ctx context.Context) error {
	t.adviseDetached()
	return t.withYARN(ctx, func(on *client.Cluster) error {
		defer t.Finish() // an error begins on a new line
		t.on = on
		if err := t.inspect(ctx); err != nil {
			return err
		}
		return t.drive(ctx, t.program.Path, t)
	})
}

// inspect reads both binaries and the cached files in parallel.
func (t *perJob) inspect(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() (err error) {
		t.bobbin, err = client.Binary(t.Executable, t.Config)
		return err
	})
	group.Go(func() (err error) {
		t.program, err = program.Inspect(t.Program, program.Native())
		return err
	})
	group.Go(func() (err error) {
		t.files, err = client.FindCachedFiles(ctx, t.Config)
		return err
	})
	return group.Wait()
}

func (t *perJob) submit(ctx context.Context, graph *jobgraph.JobGraph) (*running, error) {
	if t.app != nil {
		return nil, errOneJob
	}
	app, err := t.witness.deploy(ctx, t.on, client.Deployment{
		Mode: launch.PerJob, Name: graph.Name, Config: t.Config, Graph: *graph,
		Program: client.Executable{Program: t.program}, Bobbin: t.bobbin, Files: t.files, Attached: t.attached,
	})
	if err != nil {
		return nil, err
	}
	t.app, t.graph = app, graph
	does := "starts the job again"
	if config.HighAvailability(t.Config) {
		does = "goes on with the job"
	}
	return &running{
		id: app.Job, application: app.ID.String(), name: app.ID.String(), attempt: 1, does: does,
		goOn:     fmt.Sprintf("Its state: bobbin applications. Its logs: bobbin logs %s. To end it: bobbin kill %s", app.ID, app.ID),
		slotWait: t.waits(), alone: true,
	}, nil
}

// waits says how long the job waits for a slot.
func (t *perJob) waits() string {
	return fmt.Sprintf("for %s (%s)", t.slotWait, config.SlotRequestTimeout)
}

func (t *perJob) report(ctx context.Context) (records.ApplicationReport, error) {
	return (&onYARN{cluster: t.on, id: t.app.ID}).Report(ctx)
}

func (t *perJob) reach(ctx context.Context) (*client.ClusterClient, error) {
	access, err := t.app.Access(ctx)
	if err != nil {
		return nil, err
	}
	t.doneAt("appmaster started", time.UnixMilli(access.AMStart))
	return client.NewClusterClient(access)
}

// lost handles the end of the application. If YARN reports that it has succeeded, the job is FINISHED, and its output
// files are complete. This client did not fetch the result in the seconds for which the ApplicationMaster waits: the
// client was suspended, or the network was down. The counters are lost. If collected records have not arrived yet, they
// are lost too, and lost returns an error.
func (t *perJob) lost(ctx context.Context, job *running, cause error) (msg.JobEnded, error) {
	report, err := t.on.Report(ctx, t.app.ID)
	if err == nil {
		t.witness.state(report)
	}
	if err != nil || report.FinalStatus != records.FinalSucceeded {
		return msg.JobEnded{}, errors.Join(cause, t.on.Sweep(ctx, t.app.ID))
	}
	if !job.collected && slices.ContainsFunc(t.graph.Vertices, func(v jobgraph.Vertex) bool { return v.Collect != "" }) {
		err := fmt.Errorf("%s is %s (%s), but it ended before this client fetched the collected results: run the job again, or write to files",
			t.app.ID, report.State, report.FinalStatus)
		return msg.JobEnded{}, errors.Join(err, t.on.Sweep(ctx, t.app.ID))
	}
	t.Line("the counters are unknown: %s ended before this client fetched them", t.app.ID)
	return msg.JobEnded{Status: msg.JobFinished, Duration: report.Finished.Sub(report.Started)}, nil
}

// settle waits for the application's end, unless YARN does not answer: the job has ended in any case.
func (t *perJob) settle(ctx context.Context) error {
	report, err := t.app.AwaitEnd(ctx, t.witness.state)
	switch {
	case client.Unheard(err):
		t.Line("YARN does not answer whether %s has ended; bobbin gc removes its staged files if they stay", t.app.ID)
		return nil
	case err != nil:
		return err
	}
	t.done("application ended")
	// After YARN has recorded the end, the ApplicationMaster removes its staging directory. It may have died
	// before it could do so.
	if err := t.on.Sweep(ctx, t.app.ID); err != nil {
		t.Line("cannot remove the staged files of %s; bobbin gc removes them: %v", t.app.ID, err)
	}
	if report.FinalStatus != records.FinalSucceeded {
		return client.Ended(report)
	}
	return nil
}
