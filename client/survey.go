package client

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// facts are the results of a survey.
type facts struct {
	id    records.ApplicationID
	nodes []launch.Node
	uber  uber
	// crowded says which container fits on no node now; "" if all fit.
	crowded string
	grant   grant
	// remote is the application's program if it was already on HDFS.
	remote launch.Resource
	ship   *shipment
	began  launch.Began
	cached CachedFiles // complete, except for the places of those of this machine
}

// survey checks at the cluster, in parallel, everything that could prevent the submission. It gets the
// application's id and its tokens, and uploads nothing.
func (c *Cluster) survey(ctx context.Context, p *plan) (facts, error) {
	var known facts
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		created, err := c.YARN.NewApplication(ctx)
		if err != nil {
			return err
		}
		known.id, known.uber = created.ID, p.uber.within(p.containers, created.Maximum)
		return errors.Join(p.containers.Within(created.Maximum, p.place), p.limits(created.Maximum).Check(p.workers))
	})
	if p.queue != "" { // else YARN chooses
		group.Go(func() error {
			_, err := CheckQueue(ctx, c.YARN, c.User, p.queue)
			return err
		})
	}
	group.Go(func() (err error) {
		known.grant, err = c.grant(ctx, p.proof)
		return err
	})
	group.Go(func() (err error) {
		if known.ship, err = readShipment(ctx, c.Files, p.ships, p.bobbin.Program); err == nil && p.program.URI != "" {
			known.remote, err = known.ship.program(ctx, c.Files, p.program.URI)
		}
		return err
	})
	group.Go(func() (err error) {
		known.cached.Local = p.cached.Local
		known.cached.Named, err = cachedfiles.Find(ctx, c.Files, p.cached.Named)
		return err
	})
	var nodes []records.NodeReport
	group.Go(func() (err error) {
		if nodes, err = c.YARN.ClusterNodes(ctx, records.NodeRunning); err != nil {
			return err
		}
		for _, node := range nodes {
			known.nodes = append(known.nodes, launch.Node{
				Host: node.ID.Host, Port: node.ID.Port, Rack: node.Rack,
				MemoryMB: node.Capability.MemoryMB, VCores: node.Capability.VCores, Others: node.Capability.Others.Map(),
				Labels: node.Labels,
			})
		}
		return nil
	})
	err := group.Wait()
	known.crowded = p.crowded(known.uber, nodes)
	return known, err
}
