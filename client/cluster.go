// Package client submits jobs to YARN and follows them. It checks a job against the cluster, stages what its
// containers localize, submits the application, and speaks to the ApplicationMaster's REST endpoint.
//
// Its goroutines end with the call that starts them. The only exception keeps a Cluster's Kerberos ticket fresh
// until Close. The package prints nothing; package cli does.
package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/startup"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// Cluster gives a user access to a YARN cluster and its file systems. Its methods
// may be called from any goroutine.
type Cluster struct {
	Conf  *hadoopconf.Conf
	User  string // the user name on the cluster
	YARN  *yarnclient.Client
	Files *dfs.FS

	identity hadoopenv.Identity
	proof    string        // the kind of the identity's credentials, for the log
	staging  string        // yarn.staging-directory
	storage  string        // high-availability.storageDir
	patience time.Duration // client.timeout
	poll     time.Duration // least time between two looks at an application, by Hadoop's configuration; 0: it names none
	logger   logrus.FieldLogger
	keeping  sync.WaitGroup // the goroutine that keeps the ticket fresh
	release  context.CancelFunc
}

// pollInterval is the time between the first two requests for the report of an application for which a person
// waits, and mostPoll is the longest time between later ones. endPoll replaces pollInterval when the application's
// job has ended, because YARN then records the end within some 20 ms. A longer time in Hadoop's configuration
// replaces all. A request costs the ResourceManager well under a millisecond.
const (
	pollInterval = 50 * time.Millisecond
	endPoll      = 5 * time.Millisecond
	mostPoll     = time.Second
)

// pollProperty is Hadoop's property for the time between two requests.
const pollProperty = "yarn.client.application-client-protocol.poll-interval-ms"

// UntilNextLook returns the time until the next request of a client that has waited for some time: an eighth of
// that time, but no longer than most. It is never shorter than least.
func UntilNextLook(waited, least, most time.Duration) time.Duration {
	return max(min(waited/8, most), least)
}

// Open reads the Hadoop configuration that HADOOP_CONF_DIR or YARN_CONF_DIR names, and Hadoop's properties in
// options. It prepares a Cluster for the user of hadoopenv.Identify, and connects to nothing yet. The end of
// ctx ends only the goroutine that keeps the ticket fresh.
func Open(ctx context.Context, getenv func(string) string, options config.Config, logger logrus.FieldLogger) (*Cluster, error) {
	env, err := hadoopenv.Read(getenv, options)
	if err != nil {
		return nil, err
	}
	who, err := env.Identify(getenv, options)
	if err != nil {
		return nil, err
	}
	conf := env.Conf
	yarn, err := yarnclient.FromConf(conf, who.User)
	if err != nil {
		return nil, err
	}
	who.Show(&yarn.RPC.Auth)
	yarn.RPC.Token = yarn.TokenSource(func() *creds.Credentials { return who.Credentials })
	yarn.RPC.Logger = logging.Slog(logger)
	poll := yarn.PollInterval
	if conf.SourceOf(pollProperty) == (hadoopconf.Source{}) {
		yarn.PollInterval, poll = pollInterval, 0
	}
	patience, limit := options.Duration(config.ClientTimeout), options.Told(config.ClientTimeout)
	if conf.SourceOf("yarn.resourcemanager.connect.max-wait.ms") == (hadoopconf.Source{}) {
		yarn.Policy = yarnclient.DefaultPolicy()
		yarn.Policy.MaxWait, yarn.Policy.Limit = patience, limit
	}
	yarn.RPC.ConnectTimeout = shorter(yarn.RPC.ConnectTimeout, patience)
	yarn.RPC.RPCTimeout = shorter(yarn.RPC.RPCTimeout, patience)
	c := &Cluster{
		Conf: conf, User: who.User, YARN: yarnclient.New(yarn), identity: who, proof: proofBy(who, options), logger: logger,
		staging: options.String(config.YarnStagingDirectory), storage: options.String(config.HighAvailabilityStorageDir), patience: patience, poll: poll,
		Files: dfs.New(dfs.Options{
			Conf: conf, User: who.User, RealUser: who.RealUser, Login: who.Kerberos(),
			Credentials: func() *creds.Credentials { return who.Credentials },
			Patience:    patience, Limit: limit, Logger: logger,
		}),
	}
	c.keepTicket(ctx, logger)
	return c, nil
}

// keepTicket renews the ticket of kinit before it expires, since an expired ticket cannot be renewed. A client
// may follow a job for days over connections that need no ticket.
func (c *Cluster) keepTicket(ctx context.Context, logger logrus.FieldLogger) {
	ctx, cancel := context.WithCancel(ctx)
	c.release = cancel
	if c.identity.Login == nil {
		return
	}
	c.keeping.Go(func() { // ends with Close
		c.identity.Login.Keep(ctx, func(err error) { logger.WithError(err).Warn("kerberos ticket is not renewed") })
	})
}

// shorter is the shorter of two times. A time that is not positive means no limit.
func shorter(a, b time.Duration) time.Duration {
	if a <= 0 {
		return b
	}
	return min(a, b)
}

// ResourceManagers are the addresses of the cluster's ResourceManagers for clients, in the order of the
// configuration.
func (c *Cluster) ResourceManagers() []string {
	all, err := c.Conf.ResourceManagers()
	if err != nil { // Open has already read them
		return nil
	}
	addresses := make([]string, len(all))
	for i, rm := range all {
		addresses[i] = rm.Client
	}
	return addresses
}

// Soon is how long the client waits for a silent ResourceManager before it tries to continue without its answer:
// a tenth of client.timeout, 3 s by default.
func (c *Cluster) Soon() time.Duration { return c.patience / 10 }

// home is the directory that holds the user's staging area, see StagingHome.
func (c *Cluster) home() (string, error) { return StagingHome(c.Files, c.Conf, c.staging) }

// Login gets Kerberos tickets for the cluster; nil without a login.
func (c *Cluster) Login() yarnrpc.Login { return c.identity.Kerberos() }

// Identity describes the user for the log.
func (c *Cluster) Identity() startup.Identity {
	who := startup.Identity{User: c.User, RealUser: c.identity.RealUser, Credentials: c.proof}
	if c.identity.Login != nil {
		who.Principal = c.identity.Login.Principal().String()
	}
	return who
}

// proofBy is the kind of credentials that hadoopenv.Identify has found by these options.
func proofBy(who hadoopenv.Identity, options config.Config) string {
	switch {
	case who.Login == nil:
		return startup.TokensIf(len(who.Credentials.Tokens) > 0)
	case options.IsSet(config.KerberosKeytab):
		return startup.Keytab
	default:
		return startup.TicketCache
	}
}

// Close ends all connections.
func (c *Cluster) Close() error {
	c.release()
	c.keeping.Wait()
	return errors.Join(c.YARN.Close(), c.Files.Close())
}
