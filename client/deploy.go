package client

import (
	"cmp"
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
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// cleanupTimeout bounds each thing that is done for a failed submission: kill the
// application, remove what was staged, cancel its tokens.
const cleanupTimeout = 15 * time.Second

// Deployment is a cluster to start on YARN.
type Deployment struct {
	Mode    launch.Mode
	Name    string // of the application where yarn.application.name gives none
	Config  config.Config
	Bobbin  program.Program   // this binary, or the one for the cluster's platform
	Program program.Program   // the job's or the application's; a session has none
	Graph   jobgraph.JobGraph // the job of launch.PerJob
	// Remote is the URI of an application's program that lies on the cluster's file
	// system, in place of Program.
	Remote    string
	Arguments []string // of an application's program
	// Attached says of a job that a client follows it and fetches its result, and of an
	// application that its program waits for its jobs.
	Attached bool
	Timeline *Timeline
	// Uploading is called while a file is uploaded, with bytes.
	Uploading func(name string, done, total int64)
}

// Application is a submitted application.
type Application struct {
	ID   records.ApplicationID
	Job  ids.JobID // of launch.PerJob
	User string
	// Advice is what its owner should know, a line each; mostly none.
	Advice []string
	dir    string // staging directory
	asked  int64  // of the ApplicationMaster's container, in MB
	staged *staging.Application
	issued issued
	c      *Cluster
}

// facts is what the checks learn about the cluster.
type facts struct {
	id    records.ApplicationID
	nodes []launch.Node
	// crowded says which container has no room now; "": none.
	crowded string
	home    string
	grant   grant
	// remote is the application's program where it was there already.
	remote launch.Resource
	ship   *shipment
}

// Deploy checks against YARN's cluster what is to run there, stages its files and
// submits the application. After an error nothing is left on HDFS or YARN, and no token lives, unless the
// servers were away.
func (c *Cluster) Deploy(ctx context.Context, d Deployment) (*Application, error) {
	known, err := c.check(ctx, d)
	if err != nil {
		c.giveBack(ctx, known.grant.issued)
		return nil, err
	}
	d.Timeline.Done("checked")
	app := &Application{ID: known.id, User: c.User, asked: masterResource(d.Config).MemoryMB, issued: known.grant.issued, c: c}
	if d.Mode == launch.PerJob {
		app.Job = ids.JobID(ids.Random())
	}
	area := staging.New(c.Files, known.home, max(0, d.Config.Int(config.YarnFileReplication)))
	files := []staging.File{stagedFile(d.Bobbin)}
	if d.Mode != launch.Session && d.Remote == "" {
		files = append(files, stagedFile(d.Program))
	}
	files = append(files, known.ship.files()...)
	app.staged, err = area.Begin(ctx, known.id.String(), files...)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: have the directory %s made for user %s, or name another (%s)",
			err, known.home, c.User, config.YarnStagingDirectory)
	}
	if errors.Is(err, staging.ErrExposed) {
		err = fmt.Errorf("%w; or name a directory that is user %s's alone (%s)", err, c.User, config.YarnStagingDirectory)
	}
	if err != nil {
		c.giveBack(ctx, known.grant.issued)
		return nil, err
	}
	app.dir = app.staged.Dir
	if err := app.submit(ctx, d, known, files); err != nil {
		return nil, errors.Join(err, app.Abandon(ctx))
	}
	d.Timeline.Done("submitted")
	for _, advice := range []string{known.crowded, known.grant.advice(c, d.Config, known.home)} {
		if advice != "" {
			app.Advice = append(app.Advice, advice)
		}
	}
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
	_, err := launch.PlaceOf(cfg)
	if err = errors.Join(config.Validate(cfg), err, CheckContainers(cfg), CheckHeartbeats(cfg, c.Conf)); err != nil {
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
		known.grant, err = c.grant(ctx, cfg, &d.Graph, known.home, d.Remote)
		return err
	})
	group.Go(func() (err error) {
		if known.ship, err = readShipment(ctx, c.Files, cfg, d.Bobbin); err == nil && d.Remote != "" {
			known.remote, err = known.ship.program(ctx, c.Files, d.Remote)
		}
		return err
	})
	group.Go(func() error {
		nodes, err := c.YARN.ClusterNodes(ctx, records.NodeRunning)
		if err != nil {
			return err
		}
		known.crowded = cmp.Or(launch.DemandOf(cfg, d.Graph.Slots()).TooLarge(memoryMB(nodes)), crowded(cfg, nodes))
		for _, node := range nodes {
			known.nodes = append(known.nodes, launch.Node{
				Host: node.ID.Host, Port: node.ID.Port, Rack: node.Rack,
				MemoryMB: node.Capability.MemoryMB, VCores: node.Capability.VCores, Others: node.Capability.Others.Map(),
				Labels: node.Labels,
			})
		}
		return nil
	})
	err = group.Wait()
	return known, err
}

// submit stages the rest and submits the application. files are bobbin, the program if
// there is one, and what is shipped.
func (app *Application) submit(ctx context.Context, d Deployment, known facts, files []staging.File) error {
	cached, err := app.cacheAll(ctx, d, known.ship, files)
	if err != nil {
		return err
	}
	own := len(files) - len(known.ship.local)
	shipped := known.ship.shipped(cached[own:])
	if err := app.stage(ctx, d, known, shipped); err != nil {
		return err
	}
	d.Timeline.Done("staged")
	hadoopConf, err := app.c.Conf.Marshal()
	if err != nil {
		return err
	}
	// Options for Hadoop have gone into its configuration, which leaves secrets out.
	options := d.Config.Without(config.HadoopOptions, config.YarnOptions)
	what := launch.AppMaster{
		Mode: d.Mode, StagingDir: app.dir, User: app.User, HadoopConf: hadoopConf, Config: options.Set(),
		Bobbin: cached[0], BobbinSHA256: d.bobbinSHA256(), Attached: d.Attached, Security: known.grant.security,
	}
	if d.Mode != launch.Session {
		what.Program, what.Arguments = known.remote, d.Arguments
		if d.Remote == "" {
			what.Program = cached[1]
		}
		what.ProgramRef = d.reference(what.Program)
	}
	master, err := masterContext(d.Config, app.User, what)
	if err != nil {
		return err
	}
	if err := launch.Localize(master.LocalResources, shipped); err != nil {
		return err
	}
	if err := app.hand(ctx, known.grant, &master); err != nil {
		return err
	}
	submission := submissionContext(d.Config, known, d.Name, master)
	if _, err := app.c.YARN.Submit(ctx, submission); err != nil {
		return fmt.Errorf("submit to queue %q as user %s: %w", queueName(d.Config), app.User, known.grant.rejected(err, app.c.Conf))
	}
	return nil
}

// stage writes what the ApplicationMaster reads as it starts.
func (app *Application) stage(ctx context.Context, d Deployment, known facts, shipped []launch.Shipped) error {
	what := launch.Staged{Nodes: known.nodes, Shipped: shipped}
	if d.Mode == launch.PerJob {
		graph, err := json.Marshal(d.Graph)
		if err != nil {
			return fmt.Errorf("stage %s: %w", launch.StagedFile, err)
		}
		what.Job = &launch.Job{ID: app.Job, Graph: graph}
	}
	content, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("stage %s: %w", launch.StagedFile, err)
	}
	return app.staged.Put(ctx, launch.StagedFile, content)
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
