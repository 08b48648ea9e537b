package client

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Kill ends an application, whatever it does, and removes its staging directory,
// which a killed ApplicationMaster cannot do itself.
func (c *Cluster) Kill(ctx context.Context, id records.ApplicationID) error {
	if err := c.YARN.Kill(ctx, id, "killed by user "+c.User); err != nil {
		return err
	}
	return c.Sweep(ctx, id)
}

// Sweep removes the staging directory of an application that has ended, which is
// there when its ApplicationMaster could not.
func (c *Cluster) Sweep(ctx context.Context, id records.ApplicationID) error {
	home, err := c.home()
	if errors.Is(err, ErrFileSystem) { // nothing can have been staged
		return nil
	}
	if err != nil {
		return err
	}
	return c.Files.RemoveAll(ctx, staging.Dir(home, id.String()))
}
