package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// client is the process of a user: it deploys an application, and waits for its end.
type client struct {
	w       *World
	name    string
	process *engine.Process
	ctx     context.Context //nolint:containedctx // what its fibers run under
	jobs    []*job
	rm      *yarnclient.Client
	app     records.ApplicationID
	staged  *staging.Application      // app
	report  records.ApplicationReport // the last one
	unknown bool                      // YARN knows no such application
	killed  bool
	fault   error
	jitter  *rand.Rand // of requests to masters
	areas   int        // so far
}

// home is the home directory of the user.
const home = "hdfs://" + dfsmodel.Authority + "/user/alice"

// The files of the user's machine that applications use.
var bobbinFile, programFile = content("bobbin", "b0"), content("program", programHash) //nolint:gochecknoglobals // constants

// content makes a file of some bytes.
func content(name, hash string) staging.File {
	text := "ELF of " + name
	return staging.File{Name: name, SHA256: hash, Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

// startClient starts a client.
func (w *World) startClient(name string, jobs []*job, run func(ctx context.Context, c *client) error) {
	c := &client{w: w, name: name, jobs: jobs, jitter: w.stream("requests of " + name)}
	w.clients = append(w.clients, c)
	c.process = w.engine.Start("client of "+name, func(ctx context.Context) {
		ctx = yarnrpc.WithClock(ctx, clock{c.process})
		c.ctx = ctx
		c.fault = run(ctx, c)
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
	return c.follow(ctx, c.over)
}

// deploy stages and submits an application. If a step of staging fails, it discards what is staged, and
// begins again with another application, as a patient user would.
func (c *client) deploy(ctx context.Context, mode launch.Mode, job *launch.Job) error {
	calls := rpc{y: c.w.yarn, process: c.process, jitter: c.w.stream("calls of " + c.process.Name), user: "alice"}
	c.rm = yarnclient.New(yarnclient.Options{Addresses: []string{"resourcemanager:8032"}, RPC: yarnrpc.Options{Connect: calls.connect}})
	description, err := again(ctx, func() (string, error) { return c.prepare(ctx, mode, job) })
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	tokens, err := c.submissionTokens(ctx)
	if err != nil {
		return err
	}
	submission := records.SubmissionContext{
		KeepContainers: !c.w.schedule.Unprotected,
		ID:             c.app, Name: c.name, Resource: c.size(mode), MaxAttempts: c.w.schedule.mostAttempts(),
		Container: records.ContainerLaunchContext{
			Commands: []string{masterCommand}, Environment: map[string]string{launch.Variable: description}, Tokens: tokens,
		},
	}
	if _, err = again(ctx, func() (records.ApplicationReport, error) { return c.rm.Submit(ctx, submission) }); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	return nil
}

// uber reports whether workers may run in the container of their master.
func (c *client) uber(mode launch.Mode) bool { return c.w.schedule.Uber && mode == launch.PerJob }

// size is the size of the container of a master.
func (c *client) size(mode launch.Mode) records.Resource {
	if c.uber(mode) {
		return records.Resource{MemoryMB: 2048, VCores: 2}
	}
	return records.Resource{MemoryMB: 1024, VCores: 1}
}

// prepare gets the id of a new application, stages its files, and returns the description of its
// ApplicationMaster. After an error nothing is staged.
func (c *client) prepare(ctx context.Context, mode launch.Mode, job *launch.Job) (string, error) {
	created, err := c.rm.NewApplication(ctx)
	if err != nil {
		return "", fmt.Errorf("new application: %w", err)
	}
	c.app = created.ID
	files := []staging.File{bobbinFile}
	if mode != launch.Session {
		files = append(files, programFile)
	}
	if c.staged, err = c.area().Begin(ctx, c.app.String(), files...); err != nil {
		return "", err
	}
	master := launch.AppMaster{
		Mode: mode, Attached: mode == launch.Application, StagingDir: c.staged.Dir, User: "alice", Security: c.w.hdfs.tokens.security(),
		Uber: c.uber(mode), ProgramRef: msg.Program{Name: programFile.Name, SHA256: programHash},
	}
	if !c.w.schedule.Unprotected {
		master.HighAvailability = c.staged.Dir
	}
	if err = c.stage(ctx, &master, job); err != nil {
		_, discarded := again(ctx, func() (struct{}, error) { return struct{}{}, c.staged.Discard(ctx) })
		return "", errors.Join(err, discarded)
	}
	return launch.Encode(master)
}

// area is the staging area of the user.
func (c *client) area() *staging.Area {
	c.areas++
	area := staging.New(c.w.hdfs.open(c.process), home, 0)
	area.Names = ids.Source{Reader: reader{c.w.stream(fmt.Sprintf("names of %s %d", c.process.Name, c.areas))}}
	return area
}

// stage puts the files of the application on HDFS.
func (c *client) stage(ctx context.Context, master *launch.AppMaster, job *launch.Job) error {
	var err error
	if master.HighAvailability != "" {
		if err = ha.Stage(ctx, c.w.hdfs.open(c.process), master.HighAvailability); err != nil {
			return err
		}
	}
	if master.Bobbin, _, err = c.staged.Cache(ctx, bobbinFile, func(int64) {}); err != nil {
		return err
	}
	if master.Program, err = c.stageProgram(ctx); err != nil {
		return err
	}
	staged := launch.Staged{Job: job}
	for _, n := range c.w.yarn.nodes {
		id := n.nm.ID()
		staged.Nodes = append(staged.Nodes, launch.Node{Host: id.Host, Port: id.Port, MemoryMB: nodeSize.MemoryMB, VCores: nodeSize.VCores})
	}
	content, err := json.Marshal(staged)
	if err != nil {
		return fmt.Errorf("encode staged file: %w", err)
	}
	return c.staged.Put(ctx, launch.StagedFile, content)
}

// stageProgram puts the program into the cache, unless it is there.
func (c *client) stageProgram(ctx context.Context) (launch.Resource, error) {
	program, _, err := c.staged.Cache(ctx, programFile, func(int64) {})
	return program, err
}

// follow asks for reports of the application until it is as it should be.
func (c *client) follow(ctx context.Context, until func() bool) error {
	for !until() {
		if err := sched.Sleep(ctx, 5*time.Second); err != nil {
			return err
		}
		c.look(ctx)
	}
	return nil
}

// look asks YARN for a report of the application, and reports whether the application has ended.
func (c *client) look(ctx context.Context) bool {
	report, err := c.rm.ApplicationReport(ctx, c.app)
	if err == nil {
		c.report = report
	}
	if !c.unknown && errors.Is(err, yarnrpc.ErrApplicationNotFound) {
		c.unknown = true
		c.w.facts[Unknown]++
	}
	return c.over()
}

// over reports whether the application has ended, as far as the client knows.
func (c *client) over() bool { return c.unknown || c.report.State.Terminal() }

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

// conclude notes how the application has ended. YARN knows it better than a client that has died.
func (c *client) conclude() {
	if app, known := c.w.yarn.application(c.app); known {
		c.report.State, c.report.FinalStatus, c.report.Diagnostics = app.State, app.Final, app.Diagnostics
	}
	switch {
	case c.killed && c.report.State == "":
		c.w.excuse(c.app, "its client has died before it submitted it")
	case c.killed && c.report.FinalStatus == records.FinalSucceeded:
		c.w.facts[Orphaned]++
	case c.report.FinalStatus == records.FinalFailed:
		c.w.facts[Failed]++
	}
}
