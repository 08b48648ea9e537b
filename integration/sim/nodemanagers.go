package sim

import (
	"context"
	"errors"
	"slices"
	"time"

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
// that is not there is a bug. If no node works, jobs fail after some starts.
func (c nodeManagers) Start(ctx context.Context, k records.Container, l records.ContainerLaunchContext) error {
	err := c.Client.Start(ctx, k, l)
	switch {
	case c.m.tokensLost && errors.Is(err, nmclient.ErrNoToken):
		c.m.w.excuse(c.m.attempt.Application, "the NM token of a worker's node is lost")
	case err != nil && !slices.ContainsFunc(c.m.w.yarn.nodes, (*node).works):
		c.m.w.excuse(c.m.attempt.Application, "no node starts workers")
	}
	return err
}

// works reports whether the node has worked for longer than a start of a container takes.
func (n *node) works() bool {
	since := slices.MaxFunc([]time.Time{n.down, n.silent, n.cut, n.apart}, time.Time.Compare)
	return n.w.engine.Now().After(since.Add(startTime))
}

// startTime is longer than a master waits for the start of a container, with the query of its state.
const startTime = 45 * time.Second
