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
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
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
	return optionFlag{name: flagApplication, aliases: []string{"id"}, usage: "`APPLICATION` to use; default: the session started last", key: config.YarnApplicationID}
}

// whichFlags are the flags of every command that means an application which runs.
func whichFlags() []cli.Flag {
	return append(flags(applicationFlag()),
		&cli.StringFlag{Name: flagMaster, Aliases: []string{"m"}, Usage: "`HOST:PORT` of the application's REST endpoint, instead of -id"})
}

// meantFlags are whichFlags for commands that start nothing: what the application is,
// their target says.
func meantFlags() []cli.Flag { return append(flags(targetFlag()), whichFlags()...) }

// withSession gives the options of a command which may mean an application: those of its
// layers and, where they do not tell which, those of the file that `session start` has
// written. found tells which file that is; "": none was read.
func (c *call) withSession(layers []config.Layer) (cfg config.Config, found string, err error) {
	if err := checkOneMeant(c.line); err != nil {
		return cfg, "", err
	}
	layers = append(layers, flagLayers(c.line, applicationFlag())...)
	file, others, err := c.optionsFile()
	if err != nil {
		return cfg, "", err
	}
	if cfg, err = config.New(append([]config.Layer{file}, layers...)...); err != nil {
		return cfg, "", err
	}
	tellOthers(c.Err, cfg, file, others)
	if cfg.IsSet(config.YarnApplicationID) || c.line.IsSet(flagMaster) || !mayBeSession(cfg) || deploys(c.line) || isElsewhere(c.line, cfg) {
		return cfg, "", nil
	}
	path := c.sessionFile(cfg)
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
	return !cfg.IsSet(config.ExecutionTarget) || cfg.String(config.ExecutionTarget) == config.TargetSession
}

// deploys tells whether a flag is set that says something of a cluster to start: such a
// command does not mean the session that was started last, as with Flink.
func deploys(c *cli.Context) bool {
	return slices.ContainsFunc(deploymentFlags(), func(f optionFlag) bool { return c.IsSet(f.name) })
}

// sessionFile is where the file of the session is, of the user that runs this process.
func (c *call) sessionFile(cfg config.Config) string {
	name := strconv.Itoa(os.Getuid())
	if who, err := user.Current(); err == nil { // a container may know no names
		name = who.Username
	}
	return sessionfile.Path(cmp.Or(cfg.String(config.YarnPropertiesFileLocation), c.getenv("TMPDIR"), "/tmp"), name)
}

// writtenIn is the file of the session that names the application of these options; "": they
// do not have it of that.
func (c *call) writtenIn(cfg config.Config) string {
	if path := c.sessionFile(cfg); cfg.Source(config.YarnApplicationID) == path {
		return path
	}
	return ""
}

// which finds the application that a command means, of the options that withSession gives.
func which(ctx context.Context, line *cli.Context, cluster *client.Cluster, cfg config.Config) (records.ApplicationID, error) {
	if address := masterAddress(line); address != "" {
		return applicationAt(ctx, cluster, address)
	}
	text := cfg.String(config.YarnApplicationID)
	if text == "" {
		return records.ApplicationID{}, fmt.Errorf("%w: %s needs a running application: name it with -id (%s), or start a session with bobbin session start",
			ErrUsage, line.Command.HelpName, candidatesFor(ctx, cluster, cfg))
	}
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return id, fmt.Errorf("%w: %q is no application id (%s), such as application_1700000000000_0001; bobbin applications lists them", ErrUsage, text, cfg.Source(config.YarnApplicationID))
	}
	return id, nil
}

// adviceTime is how long a hint may take.
const adviceTime = time.Second

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
		return "user " + cluster.User + " has no running application; bobbin applications lists those of other users"
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
		return records.ApplicationID{}, fmt.Errorf("no running application has its REST endpoint at %s: bobbin applications lists the ids; name one with -id", address)
	}
	return records.ApplicationID{}, fmt.Errorf("no running application of user %s has its REST endpoint at %s: %s of user %s claims to have it; to use that application, name it with -id",
		cluster.User, address, found[0].ID, found[0].User)
}
