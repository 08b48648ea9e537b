package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// clusterFlags are the flags of every command that reaches a cluster.
func clusterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "proxy-user", Usage: "act for `USER`, as hadoop.proxyuser.* of the cluster allows (security.proxy-user)"},
		&cli.StringSliceFlag{Name: "D", Usage: "option `KEY=VALUE`; may be repeated"},
	}
}

// clusterLayers are the options that clusterFlags give.
func clusterLayers(c *cli.Context) ([]config.Layer, error) {
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
	return layers, nil
}

// clusterOf opens the cluster that a command's flags and environment name. done closes it
// and adds its error to the command's.
func (c *call) cluster(ctx context.Context) (cluster *client.Cluster, cfg config.Config, done func(*error), err error) {
	layers, err := clusterLayers(c.line)
	if err != nil {
		return nil, cfg, nil, err
	}
	if cfg, err = c.options(layers...); err != nil {
		return nil, cfg, nil, err
	}
	if cluster, err = c.open(ctx, cfg); err != nil {
		return nil, cfg, nil, err
	}
	return cluster, cfg, func(err *error) { *err = errors.Join(*err, cluster.Close()) }, nil
}

// withYARN asks the cluster that a command's flags and environment name, for a command that
// takes no arguments.
func withYARN(ask func(ctx context.Context, c *call, cluster *client.Cluster, cfg config.Config, asJSON bool) error) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) (err error) {
		asJSON, err := wantsJSON(c.line)
		if err = cmp.Or(err, noArguments(c.line)); err != nil {
			return err
		}
		cluster, cfg, done, err := c.cluster(ctx)
		if err != nil {
			return err
		}
		defer done(&err)
		return ask(ctx, c, cluster, cfg, asJSON)
	}
}

// open connects a command to the cluster that HADOOP_CONF_DIR names.
func (c *call) open(ctx context.Context, cfg config.Config) (*client.Cluster, error) {
	return client.Open(ctx, c.getenv, cfg, progress.Servers(c.Err))
}
