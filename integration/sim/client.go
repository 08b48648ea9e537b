package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

// client is the process of a user: it deploys an application, and waits for its end.
type client struct {
	w       *World
	name    string
	process *engine.Process
	jobs    []*job
	rm      *yarnclient.Client
	app     records.ApplicationID
	staging string                    // of the application
	report  records.ApplicationReport // the last one
	fault   error
	uploads int // of the program, so far
}

// area is the staging area of the user.
const area = "hdfs://" + dfsmodel.Authority + "/user/alice/.bobbin"

// startClient starts a client.
func (w *World) startClient(name string, jobs []*job, run func(ctx context.Context, c *client) error) {
	c := &client{w: w, name: name, jobs: jobs}
	w.clients = append(w.clients, c)
	c.process = w.engine.Start("client of "+name, func(ctx context.Context) {
		c.fault = run(yarnrpc.WithClock(ctx, clock{c.process}), c)
	}, func() { w.ended(c.process) })
}

// perJob deploys a job in per-job mode, and waits for its end.
func (j *job) perJob(ctx context.Context, c *client) error {
	if err := sched.Sleep(ctx, j.at); err != nil {
		return err
	}
	encoded, err := json.Marshal(j.graph)
	if err != nil {
		return fmt.Errorf("encode %s: %w", j.id, err)
	}
	if err := c.deploy(ctx, launch.PerJob, &launch.Job{ID: j.id, Graph: encoded}); err != nil {
		return err
	}
	return c.follow(ctx, func() bool { return c.report.State.Terminal() })
}

// deploy stages and submits an application.
func (c *client) deploy(ctx context.Context, mode launch.Mode, job *launch.Job) error {
	calls := rpc{y: c.w.yarn, process: c.process, jitter: c.w.stream("calls of " + c.process.Name), user: "alice"}
	c.rm = yarnclient.New(yarnclient.Options{Addresses: []string{"resourcemanager:8032"}, RPC: yarnrpc.Options{Connect: calls.connect}})
	created, err := again(ctx, func() (yarnclient.Application, error) { return c.rm.NewApplication(ctx) })
	if err != nil {
		return fmt.Errorf("new application: %w", err)
	}
	c.app, c.staging = created.ID, area+"/"+created.ID.String()
	if _, err := again(ctx, func() (struct{}, error) { return struct{}{}, c.stage(ctx, job) }); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	description, err := launch.Encode(launch.AppMaster{
		Mode: mode, StagingDir: c.staging, User: "alice",
		Bobbin:     launch.Resource{URI: area + "/cache/b0/bobbin"},
		Program:    launch.Resource{URI: area + "/cache/" + programHash + "/program"},
		ProgramRef: msg.Program{Name: "program", SHA256: programHash},
	})
	if err != nil {
		return err
	}
	submission := records.SubmissionContext{
		ID: c.app, Name: c.name, Resource: records.Resource{MemoryMB: 1024, VCores: 1}, MaxAttempts: cmp.Or(c.w.attempts, mostAttempts),
		Container: records.ContainerLaunchContext{
			Commands: []string{masterCommand}, Environment: map[string]string{launch.Variable: description},
		},
	}
	if _, err = again(ctx, func() (records.ApplicationReport, error) { return c.rm.Submit(ctx, submission) }); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	return nil
}

// follow asks for reports of the application until it is as it should be.
func (c *client) follow(ctx context.Context, until func() bool) error {
	for !until() {
		if err := sched.Sleep(ctx, 5*time.Second); err != nil {
			return err
		}
		if report, err := c.rm.ApplicationReport(ctx, c.app); err == nil {
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

// stage writes what the ApplicationMaster reads: the staged file, and the program in the cache. It may be
// repeated.
func (c *client) stage(ctx context.Context, job *launch.Job) error {
	files := c.w.hdfs.open(c.process)
	staged := launch.Staged{Job: job}
	for _, n := range c.w.yarn.nodes {
		id := n.nm.ID()
		staged.Nodes = append(staged.Nodes, launch.Node{Host: id.Host, Port: id.Port, MemoryMB: nodeSize.MemoryMB, VCores: nodeSize.VCores})
	}
	content, err := json.Marshal(staged)
	if err != nil {
		return fmt.Errorf("encode staged file: %w", err)
	}
	for _, dir := range []string{area, c.staging} {
		if err := files.MkdirMode(ctx, dir, 0o700); err != nil {
			return err
		}
	}
	if err := replace(ctx, files, c.staging+"/"+launch.StagedFile, content, 0o600); err != nil {
		return err
	}
	return c.stageProgram(ctx)
}

// stageProgram puts the program into the cache, unless it is there, as package staging does: under another
// name at first.
func (c *client) stageProgram(ctx context.Context) error {
	files := c.w.hdfs.open(c.process)
	dir := area + "/cache/" + programHash
	for _, dir := range []string{area + "/cache", dir} {
		if err := files.MkdirMode(ctx, dir, 0o700); err != nil {
			return err
		}
	}
	if _, err := files.Stat(ctx, dir+"/program"); err == nil {
		return nil
	}
	c.uploads++
	temporary := fmt.Sprintf("%s/.%s-%d", dir, c.process.Name, c.uploads)
	err := replace(ctx, files, temporary, []byte("ELF"), 0o500)
	if err == nil {
		err = files.Rename(ctx, temporary, dir+"/program")
	}
	if errors.Is(err, fs.ErrExist) { // another upload was faster
		return files.RemoveAll(ctx, temporary)
	}
	return err
}

// replace writes a file, which may be there in part.
func replace(ctx context.Context, files *dfsmodel.FileSystem, uri string, content []byte, mode fs.FileMode) error {
	if err := files.RemoveAll(ctx, uri); err != nil {
		return err
	}
	return files.WriteFile(ctx, uri, content, mode)
}
