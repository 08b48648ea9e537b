package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// application is the target that starts a cluster which runs the program, its driver included.
type application struct{ Request }

// run returns once the cluster runs.
func (r application) run(ctx context.Context) (err error) {
	if r.Config.Bool(config.ShutdownOnAttachedExit) {
		r.Line("%s has no effect once this command has returned: the application ends by itself", config.ShutdownOnAttachedExit)
	}
	d := client.Deployment{
		Mode: launch.Application, Config: r.Config, Arguments: r.Arguments, Attached: r.Config.Bool(config.ExecutionAttached),
	}
	if d.Bobbin, err = client.Binary(r.Executable, r.Config); err != nil {
		return err
	}
	d.Program, err = client.ProgramOf(r.Program)
	if errors.Is(err, fs.ErrNotExist) && path.IsAbs(r.Program) {
		return fmt.Errorf("%w; one that is on the cluster is hdfs://%s", err, r.Program)
	}
	if err != nil {
		return err
	}
	d.Name = d.Program.Name
	on, err := r.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	app, err := (&witness{Journal: r.Journal}).deploy(ctx, on, d)
	if err != nil {
		return err
	}
	r.Line("%s runs %s. Its jobs: bobbin list -id %s. Its logs: bobbin logs %s. To end it: bobbin kill %s", app.ID, d.Name, app.ID, app.ID, app.ID)
	return nil
}
