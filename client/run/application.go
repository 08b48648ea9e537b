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

// application is the target that starts a cluster for a whole program. The driver of the program runs there,
// too.
type application struct{ Request }

// run returns once the cluster runs.
func (r application) run(ctx context.Context) error {
	if r.endsWithClient {
		r.Line("%s has no effect: this command returns before the first job starts", config.ShutdownOnAttachedExit)
	}
	bobbin, err := client.Binary(r.Executable, r.Config)
	if err != nil {
		return err
	}
	found, err := client.ProgramOf(r.Program)
	if errors.Is(err, fs.ErrNotExist) && path.IsAbs(r.Program) {
		return fmt.Errorf("%w; for a file on HDFS write hdfs://%s", err, r.Program)
	}
	if err != nil {
		return err
	}
	cached, err := client.FindCachedFiles(ctx, r.Config)
	if err != nil {
		return err
	}
	return r.withYARN(ctx, func(on *client.Cluster) error {
		app, err := (&witness{Journal: r.Journal}).deploy(ctx, on, client.Deployment{
			Mode: launch.Application, Name: found.Name, Config: r.Config, Bobbin: bobbin, Program: found, Arguments: r.Arguments,
			Files: cached, Attached: r.attached,
		})
		if err != nil {
			return err
		}
		r.Line("%s runs %s. Its jobs: bobbin list -id %s. Its logs: bobbin logs %s. To end it: bobbin kill %s", app.ID, found.Name, app.ID, app.ID, app.ID)
		return nil
	})
}
