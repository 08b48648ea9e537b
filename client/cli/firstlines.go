package cli

import (
	"context"
	"io"
	"os"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/machine"
	"github.com/bobbin-yarn/bobbin/internal/startup"
)

// describe prints at level debug what runs, as the first lines of the cluster's logs do. mode is the kind of the
// cluster that the command starts; "": it starts none. A command describes itself once, when all its options are
// known.
func (c *call) describe(cfg config.Config, mode launch.Mode) {
	logger, debugs := debugLog(c.Err, cfg)
	if !debugs {
		return
	}
	work, err := os.Getwd()
	if err != nil {
		work = ""
	}
	p := startup.Process{Role: "client", WorkDir: work, Machine: machine.Read(), Options: cfg.Set()}
	if mode != "" {
		if containers, err := client.ContainersOf(cfg, mode); err == nil { // otherwise the command refuses them
			p.Memory = startup.Containers(containers.MasterMemory, containers.WorkerMemory)
		}
	}
	startup.Log(logger, logrus.DebugLevel, p)
}

// open connects a command to the cluster that HADOOP_CONF_DIR names. At level debug it prints the user there, which
// is known only now.
func (c *call) open(ctx context.Context, cfg config.Config) (*client.Cluster, error) {
	cluster, err := client.Open(ctx, c.getenv, cfg, progress.Servers(c.Err))
	if err != nil {
		return nil, err
	}
	if logger, debugs := debugLog(c.Err, cfg); debugs {
		logger.WithFields(cluster.Identity().Fields()).Debug("identity on the cluster")
	}
	return cluster, nil
}

// debugLog is the log of a command; debugs is false if its level is not debug.
func debugLog(out io.Writer, cfg config.Config) (logger *logrus.Logger, debugs bool) {
	if cfg.String(config.LoggingLevel) != "debug" {
		return nil, false
	}
	logger = logrus.New()
	logger.SetOutput(out)
	logger.SetLevel(logrus.DebugLevel)
	logger.SetFormatter(&logrus.TextFormatter{DisableColors: true, DisableTimestamp: true})
	return logger, true
}
