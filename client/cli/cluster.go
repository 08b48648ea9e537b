package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// clusterFlags are the flags of every command that reaches a cluster.
func clusterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "proxy-user", Usage: "act for `USER`; hadoop.proxyuser.* of the cluster must allow it (security.proxy-user)"},
		&cli.StringSliceFlag{Name: "D", Usage: "set option `KEY=VALUE`; repeat the flag for more options"},
	}
}

// clusterLayers are the options of clusterFlags, and those of list, which take precedence.
func clusterLayers(c *cli.Context, list ...optionFlag) ([]config.Layer, error) {
	defined := config.Layer{Source: "-D", Values: make(map[string]string)}
	for _, text := range c.StringSlice("D") {
		name, value, err := config.ParseDefinition(text)
		if err != nil {
			return nil, err
		}
		defined.Values[name] = value
	}
	layers := []config.Layer{defined}
	if c.IsSet("proxy-user") {
		layers = append(layers, config.Layer{
			Source: dashed("proxy-user"),
			Values: map[string]string{config.ProxyUser.Name(): c.String("proxy-user")},
		})
	}
	return append(layers, flagLayers(c, list...)...), nil
}

// cluster opens the cluster that a command's flags and environment name. done closes the cluster and adds its
// error to the command's.
func (c *call) cluster(ctx context.Context) (cluster *client.Cluster, cfg config.Config, done func(*error), err error) {
	if cfg, err = c.optionsWith(); err != nil {
		return nil, cfg, nil, err
	}
	c.describe(cfg, "")
	if cluster, err = c.open(ctx, cfg); err != nil {
		return nil, cfg, nil, err
	}
	return cluster, cfg, func(err *error) { *err = errors.Join(*err, cluster.Close()) }, nil
}

// withYARN makes a command without arguments. ask gets the cluster that the command's flags and environment
// name.
func withYARN(ask func(ctx context.Context, c *call, cluster *client.Cluster, cfg config.Config) error) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) (err error) {
		if err := noArguments(c.line); err != nil {
			return err
		}
		cluster, cfg, done, err := c.cluster(ctx)
		if err != nil {
			return err
		}
		defer done(&err)
		return ask(ctx, c, cluster, cfg)
	}
}

// reached is a connection to an application's ApplicationMaster, with the application's site and options.
type reached struct {
	*client.ClusterClient
	run.Site
	cfg config.Config
}

// explain adds to the error of a request whether YARN replaces the ApplicationMaster.
func (r *reached) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return r.Site.Explain(ctx, r.ClusterClient, err)
}

// reach connects to the application that a command means. done closes what reach opened, and adds the errors to
// the command's.
func (c *call) reach(ctx context.Context) (to *reached, done func(*error), err error) {
	site, cfg, closed, err := c.find(ctx)
	if err != nil {
		return nil, nil, err
	}
	master, err := site.Reach(ctx)
	if err != nil {
		closed(&err)
		return nil, nil, err
	}
	return &reached{master, site, cfg}, func(err *error) {
		master.Close()
		closed(err)
	}, nil
}

// find finds the application that a command means, without connecting to its ApplicationMaster. done closes
// what find opened, and adds the errors to the command's.
func (c *call) find(ctx context.Context) (site run.Site, cfg config.Config, done func(*error), err error) {
	layers, err := clusterLayers(c.line, targetFlag())
	if err != nil {
		return nil, cfg, nil, err
	}
	if cfg, _, err = c.withSession(layers); err != nil {
		return nil, cfg, nil, err
	}
	c.describe(cfg, "")
	var on *client.Cluster
	done = func(*error) {}
	if !isElsewhere(c.line, cfg) {
		if on, err = c.openMeant(ctx, cfg); err != nil {
			return nil, cfg, nil, err
		}
		done = func(err *error) { *err = errors.Join(*err, on.Close()) }
	}
	if site, err = c.findSite(ctx, on, cfg); err != nil {
		done(&err)
	}
	return site, cfg, done, err
}

// openMeant connects a command to the YARN of the application that the command means.
func (c *call) openMeant(ctx context.Context, cfg config.Config) (*client.Cluster, error) {
	cluster, err := c.open(ctx, cfg)
	if errors.Is(err, fs.ErrNotExist) && masterAddress(c.line) != "" {
		err = fmt.Errorf("%w; or name an access file (%s); bobbin session access writes one on a machine with YARN", err, config.RESTAccessFile)
	}
	return cluster, err
}

// findSite finds the cluster that a command means. If on is nil, the cluster's YARN is not available here: the
// access file then names the cluster, and -m replaces the address in that file.
func (c *call) findSite(ctx context.Context, on *client.Cluster, cfg config.Config) (run.Site, error) {
	if on != nil {
		id, err := which(ctx, c.line, on, cfg)
		if err != nil {
			return nil, err
		}
		return run.OnYARN(on, id, c.writtenIn(cfg))
	}
	path := cfg.String(config.RESTAccessFile)
	if path == "" {
		return nil, fmt.Errorf("%w: -t %s needs an access file (%s); bobbin session access writes one on a machine with YARN", ErrUsage, config.TargetRemote, config.RESTAccessFile)
	}
	return run.Elsewhere(path, masterAddress(c.line))
}

// isElsewhere tells whether a command means a cluster whose YARN is not available here. Without
// rest.access-file, YARN finds the application by its address, also with -t remote.
func isElsewhere(line *cli.Context, cfg config.Config) bool {
	if cfg.IsSet(config.ExecutionTarget) {
		return cfg.String(config.ExecutionTarget) == config.TargetRemote && (cfg.IsSet(config.RESTAccessFile) || masterAddress(line) == "")
	}
	return cfg.IsSet(config.RESTAccessFile) && !cfg.IsSet(config.YarnApplicationID)
}
