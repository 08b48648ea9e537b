package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// Flags by which a command names the application that it means.
const (
	flagApplication = "applicationId"
	flagMaster      = "jobmanager"
)

// masterOnYARN is what Flink's old scripts give to -m in place of an address: the job runs on
// YARN, in the session that is named beside it, or else in a cluster of its own.
const masterOnYARN = "yarn-cluster"

// masterAddress is the address that -m gives; "": it gives none.
func masterAddress(c *cli.Context) string {
	if master := c.String(flagMaster); master != masterOnYARN {
		return master
	}
	return ""
}

// applicationFlag names an application by its id.
func applicationFlag() optionFlag {
	return optionFlag{name: flagApplication, aliases: []string{"id"}, usage: "`APPLICATION` that is meant", key: config.YarnApplicationID}
}

// whichFlags are the flags of every command that means an application which runs.
func whichFlags() []cli.Flag {
	return append(flags(applicationFlag()),
		&cli.StringFlag{Name: flagMaster, Aliases: []string{"m"}, Usage: "`HOST:PORT` of its REST endpoint, in place of its id"})
}

// meantFlags are whichFlags for commands that start nothing: what the application is,
// their target says.
func meantFlags() []cli.Flag { return append(flags(targetFlag()), whichFlags()...) }

// withSession gives the options of a command which may mean an application: those of its
// layers and, where they do not tell which, those of the file that `session start` has
// written. found tells which file that is; "": none was read.
func withSession(c *cli.Context, p Process, layers []config.Layer) (cfg config.Config, found string, err error) {
	if err := checkOneMeant(c); err != nil {
		return cfg, "", err
	}
	layers = append(layers, flagLayers(c, applicationFlag())...)
	file, others, err := optionsFile(p)
	if err != nil {
		return cfg, "", err
	}
	if cfg, err = config.New(append([]config.Layer{file}, layers...)...); err != nil {
		return cfg, "", err
	}
	tellOthers(p, cfg, file, others)
	if cfg.IsSet(config.YarnApplicationID) || c.IsSet(flagMaster) || !mayBeSession(cfg) || deploys(c) || isElsewhere(c, cfg) {
		return cfg, "", nil
	}
	path := sessionPath(p, cfg)
	s, err := sessionfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return cfg, "", nil
	}
	if err != nil {
		return cfg, "", err
	}
	written := config.Layer{Source: path, Values: s.Options}
	named := config.Layer{Source: path, Values: map[string]string{config.YarnApplicationID.Name(): s.Application.String()}}
	cfg, err = config.New(slices.Concat([]config.Layer{file, written}, layers, []config.Layer{named})...)
	return cfg, path, err
}

// mayBeSession tells whether the target, where one is given, leaves a session possible.
func mayBeSession(cfg config.Config) bool {
	return !cfg.IsSet(config.ExecutionTarget) || cfg.String(config.ExecutionTarget) == targetYARNSession
}

// deploys tells whether a flag is set that says something of a cluster to start: such a
// command does not mean the session that was started last, as with Flink.
func deploys(c *cli.Context) bool {
	return slices.ContainsFunc(deploymentFlags(), func(f optionFlag) bool { return c.IsSet(f.name) })
}

// sessionPath is where the file of the session is, of the user that runs this process.
func sessionPath(p Process, cfg config.Config) string {
	name := strconv.Itoa(os.Getuid())
	if who, err := user.Current(); err == nil { // a container may know no names
		name = who.Username
	}
	return sessionfile.Path(cmp.Or(cfg.String(config.YarnPropertiesFileLocation), p.Getenv("TMPDIR"), "/tmp"), name)
}

// writtenIn is the file of the session that names the application of these options; "": they
// do not have it of that.
func writtenIn(p Process, cfg config.Config) string {
	if path := sessionPath(p, cfg); cfg.Source(config.YarnApplicationID) == path {
		return path
	}
	return ""
}

// outdatedError is that of an application which has ended, though a file names it.
type outdatedError struct {
	error
	path string
}

func (e *outdatedError) Unwrap() error { return e.error }
func (e *outdatedError) Error() string { return fmt.Sprintf("%v; %s", e.error, e.hint()) }

func (e *outdatedError) hint() string {
	return e.path + " still names it: bobbin session stop removes that file"
}

// unknownError is yarnrpc.ErrApplicationNotFound in few words.
type unknownError struct{ id records.ApplicationID }

func (e unknownError) Unwrap() error { return yarnrpc.ErrApplicationNotFound }
func (e unknownError) Error() string {
	return e.id.String() + " is not known to YARN: bobbin applications --all lists those that are"
}

// outdated adds to the error of an application that has ended which file still names it.
func outdated(err error, path string) error {
	idle, is := errors.AsType[*client.NotRunningError](err)
	if gone := is && idle.Report.State.Terminal() || errors.Is(err, yarnrpc.ErrApplicationNotFound); path == "" || !gone {
		return err
	}
	return &outdatedError{err, path}
}

// which finds the application that a command means, of the options that withSession gives.
func which(ctx context.Context, c *cli.Context, cluster *client.Cluster, cfg config.Config) (records.ApplicationID, error) {
	if address := masterAddress(c); address != "" {
		return applicationAt(ctx, cluster, address)
	}
	text := cfg.String(config.YarnApplicationID)
	if text == "" {
		return records.ApplicationID{}, fmt.Errorf("%w: %s needs a running application: name it with -id (%s), or start a session with bobbin session start",
			ErrUsage, c.Command.HelpName, candidatesFor(ctx, cluster, cfg))
	}
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return id, fmt.Errorf("%w: %q is no application id (%s), such as application_1700000000000_0001; bobbin applications lists them", ErrUsage, text, cfg.Source(config.YarnApplicationID))
	}
	return id, nil
}

// candidatesFor names those that a user may mean who has named none: his own that run.
func candidatesFor(ctx context.Context, cluster *client.Cluster, cfg config.Config) string {
	ctx, cancel := context.WithTimeout(ctx, adviceTime)
	defer cancel()
	found, err := cluster.YARN.Applications(ctx, yarnclient.Filter{
		States: []records.ApplicationState{records.ApplicationRunning}, Types: []string{cfg.String(config.YarnApplicationType)}, Scope: yarnclient.ScopeOwn,
	})
	switch {
	case err != nil: // that of who has named none says enough
		return "bobbin applications lists them"
	case len(found) == 0:
		return "user " + cluster.User + " has none that runs; bobbin applications lists those of others"
	}
	slices.SortFunc(found, func(a, b records.ApplicationReport) int { return b.Started.Compare(a.Started) })
	const most = 5
	names := make([]string, 0, most)
	for _, a := range found[:min(most, len(found))] {
		names = append(names, fmt.Sprintf("%s is %s", a.ID, terminal.Visible(a.Name)))
	}
	if more := len(found) - most; more > 0 {
		names = append(names, fmt.Sprintf("bobbin applications lists %d more", more))
	}
	return strings.Join(names, ", ")
}

// applicationAt finds the user's own application whose ApplicationMaster's REST endpoint is there. Where that is, each
// application says for itself: one of another user that says so gets no program, and no data, of a user who has not named
// it.
func applicationAt(ctx context.Context, cluster *client.Cluster, address string) (records.ApplicationID, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return records.ApplicationID{}, fmt.Errorf("%w: -m %s: want host:port", ErrUsage, address)
	}
	found, err := cluster.YARN.Applications(ctx, yarnclient.Filter{States: []records.ApplicationState{records.ApplicationRunning}})
	if err != nil {
		return records.ApplicationID{}, err
	}
	found = slices.DeleteFunc(found, func(r records.ApplicationReport) bool { return r.Host != host || strconv.Itoa(r.RPCPort) != port })
	if i := slices.IndexFunc(found, func(r records.ApplicationReport) bool { return r.User == cluster.User }); i >= 0 {
		return found[i].ID, nil
	}
	if len(found) == 0 {
		return records.ApplicationID{}, fmt.Errorf("no running application has its REST endpoint at %s: bobbin applications lists them, -id names one", address)
	}
	return records.ApplicationID{}, fmt.Errorf("no running application of user %s has its REST endpoint at %s: if you mean %s of user %s, which says that it has, name it with -id",
		cluster.User, address, found[0].ID, found[0].User)
}

// reachCluster reaches the application that a command means. done ends what it opened, and
// adds its errors to the command's.
func reachCluster(c *cli.Context, p Process) (to *reached, done func(*error), err error) {
	if to, done, err = findCluster(c, p); err != nil {
		return nil, nil, err
	}
	if to.ClusterClient, _, err = to.reach(c.Context); err != nil {
		done(&err)
		return nil, nil, err
	}
	return to, done, nil
}

// findCluster finds the application that a command means, and does not reach it yet. done
// ends what is opened until then, and adds its errors to the command's.
func findCluster(c *cli.Context, p Process) (to *reached, done func(*error), err error) {
	layers, err := clusterLayers(c)
	if err != nil {
		return nil, nil, err
	}
	cfg, _, err := withSession(c, p, append(layers, flagLayers(c, targetFlag())...))
	if err != nil {
		return nil, nil, err
	}
	to = &reached{cfg: cfg}
	closed := func() error { return nil }
	if !isElsewhere(c, cfg) {
		if to.cluster, err = openMeant(c, p, cfg); err != nil {
			return nil, nil, err
		}
		closed = to.cluster.Close
	}
	if to.site, err = siteOf(c, p, to.cluster, cfg); err != nil {
		return nil, nil, errors.Join(err, closed())
	}
	return to, func(err *error) {
		if to.ClusterClient != nil {
			to.Close()
		}
		*err = errors.Join(*err, closed())
	}, nil
}

// openMeant connects a command to the YARN that knows the application which it means.
func openMeant(c *cli.Context, p Process, cfg config.Config) (*client.Cluster, error) {
	cluster, err := open(c.Context, p, cfg)
	if errors.Is(err, fs.ErrNotExist) && masterAddress(c) != "" {
		err = fmt.Errorf("%w; or name the file that bobbin session access writes where there is YARN (%s)", err, config.RESTAccessFile)
	}
	return cluster, err
}

// siteOf finds the cluster that a command means; on is nil where that has no YARN.
func siteOf(c *cli.Context, p Process, on *client.Cluster, cfg config.Config) (site, error) {
	if on == nil {
		return findElsewhere(c, cfg)
	}
	written := writtenIn(p, cfg)
	if written != "" {
		if err := isOwn(written, on); err != nil {
			return nil, err
		}
	}
	id, err := which(c.Context, c, on, cfg)
	return &onYARN{on, id, cfg, written}, err
}

// isOwn checks that the session of a file is one of this cluster and user.
func isOwn(path string, on *client.Cluster) error {
	s, err := sessionfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) { // it has gone meanwhile, and its session maybe not
		return nil
	}
	if err == nil {
		err = s.Of(owner(on))
	}
	if errors.Is(err, sessionfile.ErrElsewhere) {
		err = fmt.Errorf("%w (%s): name an application with -id, a target with -t, or start a session here", err, path)
	}
	return err
}

// owner is what a file says of a session beside its id.
func owner(on *client.Cluster) sessionfile.Owner {
	return sessionfile.Owner{ResourceManagers: strings.Join(on.ResourceManagers(), ","), User: on.User}
}

// reached is an application's ApplicationMaster, and what it runs on.
type reached struct {
	*client.ClusterClient // nil: it is not reached yet
	site
	cluster *client.Cluster // nil: it has no YARN
	cfg     config.Config
}
