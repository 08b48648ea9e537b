package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/historyserver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/internal/version"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

func historyServerCommand(bind binder, release string, build version.Build) *cli.Command {
	return &cli.Command{
		Name:  "history-server",
		Usage: "show jobs whose applications have ended",
		Description: `Serves a page and REST about the jobs whose archives are in the directories of
historyserver.archive.fs.dir, until Ctrl-C or SIGTERM. ApplicationMasters write
archives if jobmanager.archive.fs.dir is set. docs/history.md explains both.

  bobbin history-server -D historyserver.archive.fs.dir=hdfs:///bobbin/history`,
		Flags: append([]cli.Flag{outputFlag()}, clusterFlags()...),
		Action: bind(withYARN(func(ctx context.Context, c *call, cluster *client.Cluster, cfg config.Config) error {
			return c.serveHistory(ctx, cluster, cfg, release, build)
		})),
	}
}

// Bounds of what a history server keeps in its local folder: jobs, and bytes of all archives and of one.
const (
	mostHistoryJobs    = 10_000
	mostHistoryBytes   = 16 << 30
	mostHistoryArchive = 256 << 20
)

func (c *call) serveHistory(ctx context.Context, cluster *client.Cluster, cfg config.Config, release string, build version.Build) error {
	settings, err := historyOf(cfg, logServerOf(cluster.Conf))
	if err != nil {
		return err
	}
	for i, dir := range settings.Dirs {
		if settings.Dirs[i], err = cluster.Files.Qualify(dir); err != nil {
			return fmt.Errorf("%s: %w", config.HistoryDirs.Name(), err)
		}
	}
	settings.Files, settings.Version, settings.Revision = cluster.Files, release, build.Commit
	host := cfg.String(config.HistoryAddress)
	if host == "" {
		host = "127.0.0.1" // whoever reaches the port sees all that users' archives hold
	}
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(cfg.Int(config.HistoryPort))))
	if err != nil {
		return fmt.Errorf("listen on the address of the history server: %w", err)
	}
	scheme := "http"
	if settings.Certificate != nil {
		scheme = "https"
	}
	logger := logrus.New()
	logger.SetOutput(c.Err)
	logger.SetFormatter(&logrus.TextFormatter{DisableColors: true, FullTimestamp: true})
	if level, err := logrus.ParseLevel(cfg.String(config.LoggingLevel)); err == nil {
		logger.SetLevel(level)
	}
	at := fmt.Sprintf("%s://%s/", scheme, l.Addr())
	if err := c.say(at, map[string]any{"url": at}); err != nil {
		return errors.Join(err, l.Close())
	}
	return historyserver.New(settings, logger).Run(ctx, l)
}

// logServer is where YARN's log server is, which has the logs of all containers that have ended; "": the cluster's configuration
// does not say it.
type logServer struct{ pages, rest string }

// logServerOf reads a cluster's configuration. The log servers of Hadoop have their REST beside their pages.
func logServerOf(conf *hadoopconf.Conf) logServer {
	l := logServer{conf.Get("yarn.log.server.url"), conf.Get("yarn.log.server.web-service.url")}
	for pages, rest := range map[string]string{"/jobhistory/logs": "/ws/v1/history", "/applicationhistory/logs": "/ws/v1/applicationhistory"} {
		if base, is := strings.CutSuffix(strings.TrimSuffix(l.pages, "/"), pages); is && l.rest == "" {
			l.rest = base + rest
		}
	}
	return l
}

// historyOf reads the options of a history server.
func historyOf(cfg config.Config, logs logServer) (historyserver.Config, error) {
	h := historyserver.Config{
		Interval: cfg.Duration(config.HistoryRefresh), WebInterval: cfg.Duration(config.HistoryWebRefresh), TempDir: cfg.String(config.HistoryTempDir),
		MasterLog: cfg.String(config.HistoryMasterLog), WorkerLog: cfg.String(config.HistoryWorkerLog),
		LogPages: logs.pages, LogFiles: logs.rest,
		Limits: historyserver.Limits{
			Jobs: mostHistoryJobs, Bytes: mostHistoryBytes, Archive: mostHistoryArchive,
			Retained: max(cfg.Int(config.HistoryRetained), 0), Forget: cfg.Bool(config.HistoryCleanExpired),
		},
	}
	if h.WorkerLog == "" && logs.rest != "" {
		h.WorkerLog = historyserver.WorkerLogAt(logs.rest)
	}
	for dir := range strings.SplitSeq(cfg.String(config.HistoryDirs), ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			h.Dirs = append(h.Dirs, dir)
		}
	}
	switch {
	case len(h.Dirs) == 0:
		return h, fmt.Errorf("%w: name the directories of the archives (%s)", config.ErrInvalid, config.HistoryDirs.Name())
	case cfg.Int(config.HistoryRetained) == 0: // as Flink: it would remove all
		return h, fmt.Errorf("%w: %s is 0: give -1 to keep all archives, or the number that stay", config.ErrInvalid, config.HistoryRetained.Name())
	case !cfg.Bool(config.HistorySSL):
		return h, nil
	}
	certificate, err := historyCertificate(cfg)
	if err != nil {
		return h, fmt.Errorf("read the certificate of the history server: %w", err)
	}
	h.Certificate, h.Renew = certificate, func() (*sitecert.Certificate, error) { return historyCertificate(cfg) }
	return h, nil
}

// historyCertificate reads the certificate of the history server: its own, or that of the site.
func historyCertificate(cfg config.Config) (*sitecert.Certificate, error) {
	own, err := client.ReadCertificate(cfg, config.HistoryCertificate, config.HistoryKey)
	if own != nil || err != nil {
		return own, err
	}
	site, err := client.SiteCertificate(cfg)
	if site == nil && err == nil {
		err = fmt.Errorf("%w: %s needs a certificate and its key (%s and %s, or %s and %s)", config.ErrInvalid,
			config.HistorySSL, config.RESTCertificate, config.RESTCertificateKey, config.HistoryCertificate, config.HistoryKey)
	}
	return site, err
}
