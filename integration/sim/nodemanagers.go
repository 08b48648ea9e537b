package sim

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// nodeManagers is the client of a master for NodeManagers. It passes all calls on.
type nodeManagers struct {
	*nmclient.Client
	m *master
}

// Start implements yarnworkers.NodeManagerClient. It excuses an application if a worker cannot start because the NM
// token of its node was in a lost answer: YARN sends a token only once to an attempt. Without such a loss, a token
// that is not there is a bug.
func (c nodeManagers) Start(ctx context.Context, k records.Container, l records.ContainerLaunchContext) error {
	err := c.Client.Start(ctx, k, l)
	if c.m.unregistered && errors.Is(err, nmclient.ErrNoToken) {
		c.m.w.excuse(c.m.attempt.Application, "the NM token of a worker's node is lost")
	}
	return err
}
