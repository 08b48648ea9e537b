package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// site is a cluster that runs, and the way to it.
type site interface {
	// String names it for people.
	String() string
	// means are the flags by which other commands mean it.
	means() string
	// application is its id; "": it is not known.
	application() string
	// report is YARN's, of its application; errNoYARN.
	report(ctx context.Context) (records.ApplicationReport, error)
	// reach connects to the ApplicationMaster of the time, whose number it gives. The
	// caller closes the connection.
	reach(ctx context.Context) (*client.ClusterClient, int32, error)
}

// onYARN is an application whose YARN tells how it is reached.
type onYARN struct {
	cluster *client.Cluster
	id      records.ApplicationID
	cfg     config.Config
	written string // path of the file that names it, see writtenIn
}

func (s *onYARN) String() string      { return s.id.String() }
func (s *onYARN) means() string       { return "-id " + s.id.String() }
func (s *onYARN) application() string { return s.id.String() }

func (s *onYARN) report(ctx context.Context) (records.ApplicationReport, error) {
	report, err := s.cluster.YARN.ApplicationReport(ctx, s.id)
	return report, s.explain(err)
}

// explain makes an error of YARN's one for people.
func (s *onYARN) explain(err error) error {
	if errors.Is(err, yarnrpc.ErrApplicationNotFound) {
		err = unknownError{s.id}
	}
	return outdated(err, s.written)
}

func (s *onYARN) reach(ctx context.Context) (*client.ClusterClient, int32, error) {
	reached, err := s.cluster.Reach(ctx, s.id)
	if err != nil {
		return nil, 0, s.explain(err)
	}
	return reached, reached.Attempt, nil
}

var (
	// errNoYARN says that nothing is known of a cluster but what its REST endpoint says.
	errNoYARN = errors.New("there is no YARN to ask")
	// errYARNAway says that nothing more is known for now.
	errYARNAway = errors.New("YARN does not answer")
)

// reportSoon is YARN's report of an application, for whoever has other things to do than to
// wait for it: errYARNAway where it does not come in a tenth of client.timeout. Other errors are report's.
func reportSoon(ctx context.Context, cfg config.Config, report func(context.Context) (records.ApplicationReport, error)) (records.ApplicationReport, error) {
	soon, cancel := context.WithTimeout(ctx, cfg.Duration(config.ClientTimeout)/10)
	defer cancel()
	told, err := report(soon)
	if err != nil && ctx.Err() == nil && (soon.Err() != nil || client.Unheard(err)) {
		err = fmt.Errorf("%w: %w", errYARNAway, err)
	}
	return told, err
}

// elsewhere is a cluster of which only the REST endpoint is known, and how its owner gets
// in there: its YARN is not this machine's.
type elsewhere struct {
	access launch.Access
	path   string // of the file that tells
}

// findElsewhere reads the file that names the cluster. -m counts more than the address in
// it: there may be a tunnel. Who answers proves himself by his certificate, wherever he is.
func findElsewhere(c *cli.Context, cfg config.Config) (*elsewhere, error) {
	path := cfg.String(config.RESTAccessFile)
	if path == "" {
		return nil, fmt.Errorf("%w: -t %s needs %s, the file that bobbin session access writes where there is YARN", ErrUsage, targetRemote, config.RESTAccessFile)
	}
	access, err := client.ReadAccess(path)
	access.Address = cmp.Or(masterAddress(c), access.Address)
	return &elsewhere{access, path}, err
}

// isElsewhere tells whether a command means such a cluster. An address without the file is
// one that YARN knows, also with -t remote.
func isElsewhere(c *cli.Context, cfg config.Config) bool {
	if cfg.IsSet(config.ExecutionTarget) {
		return cfg.String(config.ExecutionTarget) == targetRemote && (cfg.IsSet(config.RESTAccessFile) || masterAddress(c) == "")
	}
	return cfg.IsSet(config.RESTAccessFile) && !cfg.IsSet(config.YarnApplicationID)
}

func (s *elsewhere) String() string { return cmp.Or(s.access.Application, s.access.Address) }

func (s *elsewhere) means() string {
	return fmt.Sprintf("-m %s -D %s=%s", s.access.Address, config.RESTAccessFile, s.path)
}

func (s *elsewhere) application() string { return s.access.Application }

func (s *elsewhere) report(context.Context) (records.ApplicationReport, error) {
	return records.ApplicationReport{}, errNoYARN
}

func (s *elsewhere) reach(context.Context) (*client.ClusterClient, int32, error) {
	reached, err := client.NewClusterClient(s.access)
	return reached, s.access.Attempt, err
}
