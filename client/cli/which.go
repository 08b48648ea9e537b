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

// Flags that name the application of a command.
const (
	flagApplication = "applicationId"
	flagMaster      = "jobmanager"
)

// masterOnYARN is the value that Flink's old scripts give to -m instead of an address. The job then runs on
// YARN: in the session that another flag names, or else in a cluster of its own.
const masterOnYARN = "yarn-cluster"

// masterAddress is the address that -m gives; "" if it gives none.
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

// whichFlags are the flags of every command that uses a running application.
func whichFlags() []cli.Flag {
	return append(flags(applicationFlag()),
		&cli.StringFlag{Name: flagMaster, Aliases: []string{"m"}, Usage: "`HOST:PORT` of the application's REST endpoint, instead of -id"})
}

// meantFlags are whichFlags for commands that start nothing. With them, -t says what kind of application the
// command uses.
func meantFlags() []cli.Flag { return append(flags(targetFlag()), whichFlags()...) }

// withSession reads the options of a command that may use an application. If the layers name no application,
// withSession adds the options of the file that `session start` has written. found is the path of that file; ""
// if none was read.
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

// mayBeSession tells whether the target, if one is set, allows a session.
func mayBeSession(cfg config.Config) bool {
	return !cfg.IsSet(config.ExecutionTarget) || cfg.String(config.ExecutionTarget) == config.TargetSession
}

// deploys tells whether a flag describes a new cluster. As in Flink, such a command does not use the session
// that was started last.
func deploys(c *cli.Context) bool {
	return slices.ContainsFunc(deploymentFlags(), func(f optionFlag) bool { return c.IsSet(f.name) })
}

// sessionFile is the path of the session file of the user who runs this process.
func (c *call) sessionFile(cfg config.Config) string {
	name := strconv.Itoa(os.Getuid())
	if who, err := user.Current(); err == nil { // a container may have no user names
		name = who.Username
	}
	return sessionfile.Path(cmp.Or(cfg.String(config.YarnPropertiesFileLocation), c.getenv("TMPDIR"), "/tmp"), name)
}

// writtenIn is the path of the session file if it names the application of these options; "" otherwise.
func (c *call) writtenIn(cfg config.Config) string {
	if path := c.sessionFile(cfg); cfg.Source(config.YarnApplicationID) == path {
		return path
	}
	return ""
}

// which finds the application that a command means. cfg are the options of withSession.
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

// adviceTime limits the time to find a hint.
const adviceTime = time.Second

// candidatesFor names the user's own running applications, for a command that names no application.
func candidatesFor(ctx context.Context, cluster *client.Cluster, cfg config.Config) string {
	ctx, cancel := context.WithTimeout(ctx, adviceTime)
	defer cancel()
	found, err := cluster.YARN.Applications(ctx, yarnclient.Filter{
		States: []records.ApplicationState{records.ApplicationRunning}, Types: []string{cfg.String(config.YarnApplicationType)}, Scope: yarnclient.ScopeOwn,
	})
	switch {
	case err != nil: // the caller's error says enough
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

// applicationAt finds the user's own application whose ApplicationMaster has its REST endpoint at address. Each
// application reports its own address, and may lie. So an application of another user, which would get the
// user's programs and data, is used only if the user names it.
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
