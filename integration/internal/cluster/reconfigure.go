package cluster

import (
	"context"
	"fmt"
	"maps"
)

// Reconfigure restarts a daemon with further properties of hdfs-site.xml, an empty value for those it is to be without, and
// reads them back. The clients' configuration stays as it is.
func (c *Cluster) Reconfigure(ctx context.Context, name string, hdfs map[string]string) error {
	d, err := c.spec.daemon(name)
	if err != nil {
		return err
	}
	maps.Copy(d.HDFS, hdfs) // the spec's own
	if _, err := c.spec.writeDaemon(d); err != nil {
		return fmt.Errorf("reconfigure %s: %w", name, err)
	}
	if err := c.Restart(ctx, name); err != nil {
		return err
	}
	return c.verifySettings(ctx, d)
}
