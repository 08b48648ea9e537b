package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
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

// clusterLayers are the options that clusterFlags give, and flags over them.
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

// cluster opens the cluster that a command's flags and environment name. done closes it
// and adds its error to the command's.
func (c *call) cluster(ctx context.Context) (cluster *client.Cluster, cfg config.Config, done func(*error), err error) {
	if cfg, err = c.optionsWith(); err != nil {
		return nil, cfg, nil, err
	}
	if cluster, err = c.open(ctx, cfg); err != nil {
		return nil, cfg, nil, err
	}
	return cluster, cfg, func(err *error) { *err = errors.Join(*err, cluster.Close()) }, nil
}

// withYARN asks the cluster that a command's flags and environment name, for a command that
// takes no arguments.
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

// open connects a command to the cluster that HADOOP_CONF_DIR names.
func (c *call) open(ctx context.Context, cfg config.Config) (*client.Cluster, error) {
	return client.Open(ctx, c.getenv, cfg, progress.Servers(c.Err))
}

// reached is an application's ApplicationMaster, and what it runs on.
type reached struct {
	*client.ClusterClient
	run.Site
	cfg config.Config
}

// reach reaches the application that a command means. done ends what it opened, and
// adds its errors to the command's.
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

// find finds the application that a command means, and does not reach it yet. done
// ends what it opened, and adds its errors to the command's.
func (c *call) find(ctx context.Context) (site run.Site, cfg config.Config, done func(*error), err error) {
	layers, err := clusterLayers(c.line, targetFlag())
	if err != nil {
		return nil, cfg, nil, err
	}
	if cfg, _, err = c.withSession(layers); err != nil {
		return nil, cfg, nil, err
	}
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

// openMeant connects a command to the YARN that knows the application which it means.
func (c *call) openMeant(ctx context.Context, cfg config.Config) (*client.Cluster, error) {
	cluster, err := c.open(ctx, cfg)
	if errors.Is(err, fs.ErrNotExist) && masterAddress(c.line) != "" {
		err = fmt.Errorf("%w; or name an access file (%s); bobbin session access writes one on a machine with YARN", err, config.RESTAccessFile)
	}
	return cluster, err
}

// findSite finds the cluster that a command means. on is nil for a cluster without YARN here; -m
// replaces the address in its file.
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

// isElsewhere tells whether a command means a cluster without YARN here. YARN knows an address
// without rest.access-file, also with -t remote.
func isElsewhere(line *cli.Context, cfg config.Config) bool {
	if cfg.IsSet(config.ExecutionTarget) {
		return cfg.String(config.ExecutionTarget) == config.TargetRemote && (cfg.IsSet(config.RESTAccessFile) || masterAddress(line) == "")
	}
	return cfg.IsSet(config.RESTAccessFile) && !cfg.IsSet(config.YarnApplicationID)
}
