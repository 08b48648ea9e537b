package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// cleanupTimeout bounds each thing that is done for a failed submission: kill the
// application, remove what was staged, cancel its tokens.
const cleanupTimeout = 15 * time.Second

// Deployment is a job to run in a cluster of its own.
type Deployment struct {
	Config   config.Config
	Graph    jobgraph.JobGraph
	Program  program.Program // the job's
	Bobbin   program.Program // this binary, or the one for the cluster's platform
	Attached bool            // a client follows the job and fetches its result
	Timeline *Timeline
	// Uploading is called while a file is uploaded, with bytes.
	Uploading func(name string, done, total int64)
}

// Application is a submitted application.
type Application struct {
	ID   records.ApplicationID
	Job  ids.JobID
	User string
	// Advice is what its owner should know, a line; mostly "".
	Advice string
	dir    string // staging directory
	staged *staging.Application
	issued issued
	c      *Cluster
}

// facts is what the checks learn about the cluster.
type facts struct {
	id    records.ApplicationID
	nodes []launch.Node
	home  string
	grant grant
}

// Deploy checks the job against the cluster, stages its files and submits its
// application. After an error nothing is left on HDFS or YARN, and no token lives, unless the
// servers were away.
func (c *Cluster) Deploy(ctx context.Context, d Deployment) (*Application, error) {
	known, err := c.check(ctx, d)
	if err != nil {
		c.giveBack(ctx, known.grant.issued)
		return nil, err
	}
	d.Timeline.Done("checked")
	app := &Application{ID: known.id, Job: ids.JobID(ids.Random()), User: c.User, issued: known.grant.issued, c: c}
	area := staging.New(c.Files, known.home, max(0, d.Config.Int(config.YarnFileReplication)))
	bobbin, job := stagedFile(d.Bobbin), stagedFile(d.Program)
	app.staged, err = area.Begin(ctx, known.id.String(), bobbin, job)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: have the directory %s made for user %s, or name another (%s)",
			err, known.home, c.User, config.YarnStagingDirectory)
	}
	if err != nil {
		c.giveBack(ctx, known.grant.issued)
		return nil, err
	}
	app.dir = app.staged.Dir
	if err := app.submit(ctx, d, known, bobbin, job); err != nil {
		return nil, errors.Join(err, app.Abandon(ctx))
	}
	d.Timeline.Done("submitted")
	app.Advice = known.grant.advice(c, d.Config, known.home)
	return app, nil
}

func stagedFile(p program.Program) staging.File {
	return staging.File{Path: p.Path, Name: p.Name, SHA256: p.SHA256, Size: p.Size}
}

// check asks the cluster all that can be wrong before anything is uploaded, at
// once, and for what the application needs.
func (c *Cluster) check(ctx context.Context, d Deployment) (facts, error) {
	var known facts
	cfg := d.Config
	err := CheckContainers(cfg)
	if err != nil {
		return known, err
	}
	if known.home, err = StagingHome(c.Files, c.Conf, cfg.String(config.YarnStagingDirectory)); err != nil {
		return known, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		created, err := c.YARN.NewApplication(ctx)
		if err != nil {
			return err
		}
		known.id = created.ID
		return CheckResources(cfg, created.Maximum)
	})
	if name := cfg.String(config.YarnApplicationQueue); name != "" { // else YARN chooses
		group.Go(func() error {
			_, err := CheckQueue(ctx, c.YARN, c.User, name)
			return err
		})
	}
	group.Go(func() (err error) {
		known.grant, err = c.grant(ctx, cfg, &d.Graph, known.home)
		return err
	})
	group.Go(func() error {
		nodes, err := c.YARN.ClusterNodes(ctx, records.NodeRunning)
		for _, node := range nodes {
			known.nodes = append(known.nodes, launch.Node{
				Host: node.ID.Host, Port: node.ID.Port, Rack: node.Rack,
				MemoryMB: node.Capability.MemoryMB, VCores: node.Capability.VCores,
			})
		}
		return err
	})
	err = group.Wait()
	return known, err
}

// submit stages the rest and submits the application.
func (app *Application) submit(ctx context.Context, d Deployment, known facts, bobbin, job staging.File) error {
	binary, err := app.cache(ctx, d, bobbin)
	if err != nil {
		return err
	}
	code, err := app.cache(ctx, d, job)
	if err != nil {
		return err
	}
	graph, err := json.Marshal(d.Graph)
	if err != nil {
		return fmt.Errorf("stage job: %w", err)
	}
	content, err := json.Marshal(launch.Staged{Nodes: known.nodes, Job: &launch.Job{ID: app.Job, Graph: graph}})
	if err != nil {
		return fmt.Errorf("stage job: %w", err)
	}
	if err := app.staged.Put(ctx, launch.StagedFile, content); err != nil {
		return err
	}
	d.Timeline.Done("staged")
	hadoopConf, err := app.c.Conf.Marshal()
	if err != nil {
		return err
	}
	// Options for Hadoop have gone into its configuration, which leaves secrets out.
	options := d.Config.Without(config.HadoopOptions, config.YarnOptions)
	master, err := masterContext(d.Config, app.User, launch.AppMaster{
		Mode: launch.PerJob, StagingDir: app.dir, User: app.User, HadoopConf: hadoopConf, Config: options.Set(),
		Bobbin: binary, Program: code,
		ProgramRef: msg.Program{Name: job.Name, SHA256: job.SHA256, URI: code.URI},
		Attached:   d.Attached, Security: known.grant.security,
	})
	if err != nil {
		return err
	}
	if err := app.hand(ctx, known.grant, &master); err != nil {
		return err
	}
	submission := submissionContext(d.Config, known, d.Graph.Name, master)
	if _, err := app.c.YARN.Submit(ctx, submission); err != nil {
		return fmt.Errorf("submit to queue %q as user %s: %w", queueName(d.Config), app.User, known.grant.rejected(err, app.c.Conf))
	}
	return nil
}

// hand puts what proves who the ApplicationMaster is into its launch context.
func (app *Application) hand(ctx context.Context, g grant, master *records.ContainerLaunchContext) error {
	master.Tokens = g.credentials.Marshal()
	if g.keytab == nil {
		return nil
	}
	staged, err := app.staged.PutResource(ctx, launch.KeytabFile, g.keytab)
	if err != nil {
		return err
	}
	resource, err := staged.LocalizeAlone()
	if err != nil {
		return err
	}
	master.LocalResources[g.security.Keytab] = resource
	return nil
}

func (app *Application) cache(ctx context.Context, d Deployment, f staging.File) (launch.Resource, error) {
	resource, cached, err := app.staged.Cache(ctx, f, func(done int64) { d.Uploading(f.Name, done, f.Size) })
	if err == nil && !cached {
		d.Timeline.Done("uploaded " + f.Name)
	}
	return resource, err
}

// ErrLeftBehind says that an application may go on, or its staged files lie
// about: the clean-up failed. The text says which.
var ErrLeftBehind = errors.New("something may be left behind")

// Abandon kills the application, and removes what was staged for it and the tokens that
// it was given, also when ctx has ended. It is for applications that do not run yet.
func (app *Application) Abandon(ctx context.Context) error {
	killing, cancel := cleaning(ctx)
	defer cancel()
	err := app.c.YARN.Kill(killing, app.ID, "abandoned by its client before it ran")
	if errors.Is(err, yarnrpc.ErrApplicationNotFound) { // never submitted
		err = nil
	}
	removing, cancel := cleaning(ctx) // HDFS has its own time: YARN may have used up the other
	defer cancel()
	err = errors.Join(err, app.staged.Discard(removing))
	app.c.giveBack(ctx, app.issued)
	if err != nil {
		return fmt.Errorf("%w of %s, in %s: %w", ErrLeftBehind, app.ID, app.dir, err)
	}
	return nil
}

// giveBack cancels what was issued for an application that will not run.
func (c *Cluster) giveBack(ctx context.Context, tokens issued) {
	ctx, cancel := cleaning(ctx)
	defer cancel()
	tokens.giveBack(ctx, c.Files, c.logger)
}

// cleaning is a context for what has to be done after a failure, also when ctx has ended.
func cleaning(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}
