package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// sessionName is what YARN shows as the name of a session that is given none.
const sessionName = "Bobbin session cluster"

func sessionCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:        "session",
		Usage:       "start a cluster that takes jobs, and end it",
		Description: "A session runs the jobs of bobbin run -t yarn-session, many at a time, until it is\nstopped.\n\n  bobbin session start -d",
		Subcommands: []*cli.Command{sessionStartCommand(p), sessionAttachCommand(p), sessionStopCommand(p), sessionQueryCommand(p), sessionAccessCommand(p)},
	}
}

func sessionStartCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:  "start",
		Usage: "start a session",
		Description: `Starts a session and writes down which, so that later commands need not be told
(yarn.properties-file.location). Without -d this command stays attached: it takes
the words help, stop and quit, and ends with the session; Ctrl-C stops that.

  bobbin session start -d -nm nightly -jm 1g -tm 4g -s 4`,
		Flags: slices.Concat(flags(deploymentFlags()...), []cli.Flag{
			&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "return once the session runs"},
			&cli.StringFlag{Name: flagApplication, Aliases: []string{"id"}, Usage: "start none: attach to the session that is this `APPLICATION`"},
			&cli.BoolFlag{Name: "query", Aliases: []string{"q"}, Usage: "start none: print what YARN has for one"},
			outputFlag(),
		}, clusterFlags()),
		Action: func(c *cli.Context) error {
			query, attach := c.Bool("query"), c.IsSet(flagApplication)
			if !query && !attach { // yarn-session.sh has one command for all of these
				return sessionStart(c, p)
			}
			if err := checkStarts(c); err != nil {
				return err
			}
			if query {
				return withYARN(c, p, sessionQuery)
			}
			return sessionAttach(c, p)
		},
	}
}

// sessionStart starts a session.
func sessionStart(c *cli.Context, p Process) error {
	return telling(c, p, func(p Process, told *outcome, timeline *client.Timeline) error {
		cfg, given, err := sessionOptions(c, p)
		if err != nil {
			return err
		}
		return startSession(c, p, launcher{cfg: cfg, say: progress.New(p.Stderr), timeline: timeline, outcome: told}, given)
	})
}

// sessionOptions are those of a session to start. given are those of the command line, which
// are written down.
func sessionOptions(c *cli.Context, p Process) (cfg config.Config, given map[string]string, err error) {
	layers, err := clusterLayers(c)
	if err = cmp.Or(err, noArguments(c)); err != nil {
		return cfg, nil, err
	}
	layers = append(layers, flagLayers(c, deploymentFlags()...)...)
	if cfg, err = options(p, layers...); err != nil {
		return cfg, nil, err
	}
	given = make(map[string]string)
	for _, layer := range layers {
		maps.Copy(given, layer.Values)
	}
	if err := sessionfile.Check(given); err != nil { // before there is anything to take back
		return cfg, nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return cfg, given, nil
}

// replaced warns that later commands use the new session and not the one before, unless that
// has ended: the user may not know that there is one file.
func (l *launcher) replaced(ctx context.Context, path string, id records.ApplicationID, before sessionfile.Session) {
	if before.Application == (records.ApplicationID{}) {
		return
	}
	here := owner(l.cluster)
	if before.Of(here) != nil { // this cluster, or this user, cannot be asked whether it still runs
		place := "ResourceManager " + cmp.Or(before.Owner.ResourceManagers, here.ResourceManagers)
		if before.Owner.User != "" {
			place += " (user " + before.Owner.User + ")"
		}
		l.say.Line("session %s replaces session %s on %s in %s; commands without -id now use %s. If session %s still runs, end it from there: bobbin session stop -id %s",
			id, before.Application, place, path, id, before.Application, before.Application)
		return
	}
	report, err := l.cluster.YARN.ApplicationReport(ctx, before.Application)
	if errors.Is(err, yarnrpc.ErrApplicationNotFound) || err == nil && report.State.Terminal() {
		return
	}
	l.say.Line("session %s replaces session %s in %s; commands without -id now use %s. To end session %s: bobbin session stop -id %s",
		id, before.Application, path, id, before.Application, before.Application)
}

func startSession(c *cli.Context, p Process, l launcher, given map[string]string) (err error) {
	bobbin, err := client.Binary(p.Executable, l.cfg)
	if err != nil {
		return err
	}
	if l.cluster, err = open(c.Context, p, l.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.cluster.Close()) }()
	path := sessionPath(p, l.cfg)
	app, err := l.startAt(c.Context, path, bobbin, given)
	if err != nil {
		return err
	}
	l.say.Line("session %s is ready: %s", app.ID, l.outcome.TrackingURL)
	if c.Bool(flagDetached) {
		l.say.Line("Its jobs: bobbin run PROGRAM. To end it: bobbin session stop -id %s", app.ID)
		return nil
	}
	a := attendance{p: p, say: l.say, cluster: l.cluster, cfg: l.cfg, id: app.ID, path: path, owner: true, outcome: l.outcome, report: app.Report}
	return a.attend(c.Context)
}

// startAt starts a session and writes it down in a file, in place of the one that is named there.
func (l *launcher) startAt(ctx context.Context, path string, bobbin client.Executable, given map[string]string) (*client.Application, error) {
	before, err := sessionfile.Read(path)
	if errors.Is(err, sessionfile.ErrForeign) { // in whose place none can be put
		return nil, err
	}
	app, err := l.start(ctx, client.Deployment{Mode: launch.Session, Name: sessionName, Bobbin: bobbin})
	if err != nil {
		return nil, err
	}
	if err := sessionfile.Write(path, sessionfile.Session{Application: app.ID, Options: given, Owner: owner(l.cluster)}); err != nil {
		return nil, errors.Join(err, app.Abandon(ctx)) // later commands could not find it
	}
	l.replaced(ctx, path, app.ID, before)
	return app, nil
}
