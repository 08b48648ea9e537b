package cluster

import (
	"context"
	"fmt"
	"maps"
)

// Reconfigure restarts a daemon with further properties of hdfs-site.xml, or of yarn-site.xml if it is a daemon of
// YARN, and reads them back. An empty value removes a property. The clients' configuration does not change.
func (c *Cluster) Reconfigure(ctx context.Context, name string, properties map[string]string) error {
	d, err := c.spec.daemon(name)
	if err != nil {
		return err
	}
	own := d.HDFS // the spec's map
	if d.Kind == resourceManager || d.Kind == nodeManager {
		own = d.YARN
	}
	maps.Copy(own, properties)
	if _, err := c.spec.writeDaemon(d); err != nil {
		return fmt.Errorf("reconfigure %s: %w", name, err)
	}
	if err := c.Restart(ctx, name); err != nil {
		return err
	}
	return c.verifySettings(ctx, d)
}
