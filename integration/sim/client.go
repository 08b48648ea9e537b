package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// client is the process of a user who submits a job in per-job mode, and waits for its end.
type client struct {
	w       *World
	job     *job
	process *engine.Process
	report  records.ApplicationReport // the last one
	fault   error
}

// startClient starts the client of a job.
func (w *World) startClient(j *job) {
	c := &client{w: w, job: j}
	w.clients = append(w.clients, c)
	name := "client of " + string(j.id)
	c.process = w.engine.Start(name, func(ctx context.Context) {
		c.fault = c.run(yarnrpc.WithClock(ctx, clock{c.process}))
	}, func() { w.ended(c.process) })
}

func (c *client) run(ctx context.Context) error {
	w := c.w
	if err := sched.Sleep(ctx, c.job.at); err != nil {
		return err
	}
	calls := rpc{y: w.yarn, process: c.process, jitter: w.stream("calls of " + c.process.Name), user: "alice"}
	rm := yarnclient.New(yarnclient.Options{Addresses: []string{"resourcemanager:8032"}, RPC: yarnrpc.Options{Connect: calls.connect}})
	app, err := again(ctx, func() (yarnclient.Application, error) { return rm.NewApplication(ctx) })
	if err != nil {
		return fmt.Errorf("new application: %w", err)
	}
	c.job.staging = "hdfs://" + dfsmodel.Authority + "/user/alice/.bobbin/" + app.ID.String()
	if _, err := again(ctx, func() (struct{}, error) { return struct{}{}, c.stage(ctx) }); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	description, err := launch.Encode(launch.AppMaster{
		Mode: launch.PerJob, StagingDir: c.job.staging, User: "alice",
		Bobbin:     launch.Resource{URI: c.job.staging + "/bobbin"},
		Program:    launch.Resource{URI: c.job.staging + "/program"},
		ProgramRef: msg.Program{Name: "sim", SHA256: programHash},
	})
	if err != nil {
		return err
	}
	submission := records.SubmissionContext{
		ID: app.ID, Name: string(c.job.id), Resource: records.Resource{MemoryMB: 1024, VCores: 1}, MaxAttempts: mostAttempts,
		Container: records.ContainerLaunchContext{
			Commands: []string{masterCommand}, Environment: map[string]string{launch.Variable: description},
		},
	}
	if _, err = again(ctx, func() (records.ApplicationReport, error) { return rm.Submit(ctx, submission) }); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	for !c.report.State.Terminal() {
		if err := sched.Sleep(ctx, 5*time.Second); err != nil {
			return err
		}
		if report, err := rm.ApplicationReport(ctx, app.ID); err == nil {
			c.report = report
		}
	}
	return nil
}

// again repeats a step of a user until it works, as a patient user would.
func again[T any](ctx context.Context, step func() (T, error)) (T, error) {
	for {
		result, err := step()
		if err == nil || ctx.Err() != nil {
			return result, err
		}
		if err := sched.Sleep(ctx, time.Second); err != nil {
			return result, err
		}
	}
}

// stage writes what the ApplicationMaster reads. It may be repeated.
func (c *client) stage(ctx context.Context) error {
	files := c.w.hdfs.open(c.process)
	encoded, err := json.Marshal(c.job.graph)
	if err != nil {
		return err
	}
	staged := launch.Staged{Job: &launch.Job{ID: c.job.id, Graph: encoded}}
	for _, n := range c.w.yarn.nodes {
		staged.Nodes = append(staged.Nodes, launch.Node{Host: n.nm.ID().Host, Port: n.nm.ID().Port, MemoryMB: 16384, VCores: 16})
	}
	content, err := json.Marshal(staged)
	if err != nil {
		return err
	}
	if err := files.RemoveAll(ctx, c.job.staging); err != nil {
		return err
	}
	if err := files.MkdirAll(ctx, c.job.staging); err != nil {
		return err
	}
	return files.WriteFile(ctx, c.job.staging+"/"+launch.StagedFile, content, 0o600)
}
