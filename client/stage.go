package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// staged lists an application's files on HDFS, as containers localize them.
type staged struct {
	dir     string
	stored  string // as Application.stored
	bobbin  launch.Resource
	program launch.Resource // zero for a session
	shipped []launch.Shipped
	cached  []jobgraph.CachedFile
	keytab  launch.Resource // zero if the grant has none
	site    launch.Resource // zero if the plan has none
}

// files lists the local files to stage: bobbin, the program if there is one, the shipment, then the cached
// files.
func (p *plan) files(ship *shipment) []staging.File {
	files := []staging.File{stagedFile(p.bobbin.Program)}
	if p.mode != launch.Session && p.program.URI == "" {
		files = append(files, stagedFile(p.program.Program))
	}
	return slices.Concat(files, ship.files(), p.cached.Local)
}

// begin creates an application's staging directory, and what its first attempt needs to lead.
func (c *Cluster) begin(ctx context.Context, p *plan, known facts) (*Application, error) {
	app := &Application{ID: known.id, User: c.User, asked: p.asked(known.uber).Master.MemoryMB, issued: known.grant.issued, c: c}
	if p.mode == launch.PerJob {
		app.Job = ids.JobID(ids.Random())
	}
	var err error
	app.staged, err = staging.New(c.Files, p.home, p.replication).Begin(ctx, known.id.String(), p.files(known.ship)...)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: create the directory %s for user %s, or name another (%s)",
			err, p.home, c.User, config.YarnStagingDirectory)
	}
	if errors.Is(err, staging.ErrExposed) {
		err = fmt.Errorf("%w; or name a directory that only user %s can write to (%s)", err, c.User, config.YarnStagingDirectory)
	}
	if err != nil {
		return nil, err
	}
	app.dir = app.staged.Dir
	if err := app.keep(ctx, p); err != nil {
		ctx, cancel := cleaning(ctx)
		defer cancel()
		return nil, errors.Join(err, app.discard(ctx))
	}
	return app, nil
}

// stage puts the files of containers on HDFS, and the ApplicationMaster's launch.StagedFile.
func (app *Application) stage(ctx context.Context, p *plan, known facts) (staged, error) {
	files := p.files(known.ship)
	cached, err := app.cacheAll(ctx, p, known.ship.bobbin, files)
	if err != nil {
		return staged{}, err
	}
	own := len(files) - len(known.ship.local) - len(known.cached.Local)
	jobs := len(files) - len(known.cached.Local)
	on := staged{
		dir: app.dir, stored: app.stored, bobbin: cached[0], program: known.remote,
		shipped: known.ship.shipped(cached[own:jobs]), cached: known.cached.at(cached[jobs:]),
	}
	if own > 1 {
		on.program = cached[1]
	}
	content, err := app.content(p, known.nodes, on)
	if err != nil {
		return on, fmt.Errorf("stage %s: %w", launch.StagedFile, err)
	}
	if err := app.staged.Put(ctx, launch.StagedFile, content); err != nil {
		return on, err
	}
	if known.grant.keytab != nil {
		if on.keytab, err = app.staged.PutResource(ctx, launch.KeytabFile, known.grant.keytab); err != nil {
			return on, err
		}
	}
	if p.site != nil {
		on.site, err = app.staged.PutResource(ctx, launch.SiteFile, p.site.PEM())
	}
	return on, err
}

// content encodes launch.StagedFile.
func (app *Application) content(p *plan, nodes []launch.Node, on staged) ([]byte, error) {
	what := launch.Staged{Nodes: nodes, Shipped: on.shipped}
	switch p.mode {
	case launch.Session: // its jobs bring their files
	case launch.Application:
		what.Files = on.cached
	case launch.PerJob:
		job := *p.graph
		job.Files = on.cached
		graph, err := json.Marshal(job)
		if err != nil {
			return nil, err
		}
		what.Job = &launch.Job{ID: app.Job, Graph: graph}
	}
	return json.Marshal(what)
}

// parallelUploads bounds how many files are looked up and uploaded in parallel.
const parallelUploads = 4

// cacheAll stages files by content, in parallel, and returns them in the same order. The first is our binary;
// provided is that file if it is already on HDFS, or nil.
func (app *Application) cacheAll(ctx context.Context, p *plan, provided *launch.Resource, files []staging.File) ([]launch.Resource, error) {
	staged := make([]launch.Resource, len(files))
	shown := uploads{show: p.uploading, moving: make(map[int]moved)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelUploads)
	for i, f := range files {
		if i == 0 && provided != nil {
			staged[0] = *provided
			continue
		}
		group.Go(func() error {
			resource, cached, err := app.staged.Cache(ctx, f, func(done int64) { shown.move(i, f, done) })
			if err == nil && !cached {
				p.done("uploaded " + f.Name)
			}
			staged[i] = resource
			return err
		})
	}
	return staged, group.Wait()
}

// uploads shows several uploads as one.
type uploads struct {
	show   func(name string, done, total int64)
	mu     sync.Mutex // guards moving, and calls of show
	moving map[int]moved
}

type moved struct{ done, total int64 }

func (u *uploads) move(i int, f staging.File, done int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.moving[i] = moved{done, f.Size}
	name, sum := f.Name, moved{}
	if len(u.moving) > 1 {
		name = fmt.Sprintf("%d files", len(u.moving))
	}
	for _, m := range u.moving {
		sum.done += m.done
		sum.total += m.total
	}
	u.show(name, sum.done, sum.total)
}
