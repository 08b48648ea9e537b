package client

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// parallelUploads bounds the files that are looked for, and uploaded, at once.
const parallelUploads = 4

// cacheAll stages files by content, at once, and gives them in the same order. The first
// is our binary, which may be provided: nil if it is not.
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
				p.timeline.Done("uploaded " + f.Name)
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
