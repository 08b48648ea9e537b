package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

func sessionCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:        "session",
		Usage:       "start, use and stop a cluster that runs many jobs",
		Description: "A session is a YARN application that runs the jobs of bobbin run until you stop it. It\nruns many jobs at a time.\n\n  bobbin session start -d\n  bobbin session stop",
		Subcommands: []*cli.Command{sessionStartCommand(bind), sessionAttachCommand(bind), sessionStopCommand(bind), sessionOpenCommand(bind), sessionQueryCommand(bind), sessionAccessCommand(bind)},
	}
}

func sessionStartCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:  "start",
		Usage: "start a session",
		Description: `Starts a session, and writes its id to a file (yarn.properties-file.location). Later
commands use this session if you name no other.

Without -d this command keeps running until the session ends, and reads the words help,
stop and quit. Ctrl-C stops the session.

  bobbin session start -d
  bobbin session start -d -nm nightly -jm 1g -tm 4g -s 4`,
		Flags: slices.Concat(flags(deploymentFlags()...), []cli.Flag{
			&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "return as soon as the session runs"},
			&cli.StringFlag{Name: flagApplication, Aliases: []string{"id"}, Usage: "start no session: attach to the session with the id `APPLICATION`"},
			&cli.BoolFlag{Name: "query", Aliases: []string{"q"}, Usage: "start no session: print the nodes and queues of YARN"},
			outputFlag(),
		}, clusterFlags()),
		Action: bind(func(ctx context.Context, c *call) error {
			query, attach := c.line.Bool("query"), c.line.IsSet(flagApplication)
			if !query && !attach { // yarn-session.sh has one command for all of these
				return sessionStart(ctx, c)
			}
			if err := checkStarts(c.line); err != nil {
				return err
			}
			if query {
				return withYARN(sessionQuery)(ctx, c)
			}
			return sessionAttach(ctx, c)
		}),
	}
}

// sessionStart starts a session.
func sessionStart(ctx context.Context, c *call) error {
	return c.telling(func(j *run.Journal) error {
		cfg, given, err := c.sessionOptions()
		if err != nil {
			return err
		}
		return once(run.StartSession(ctx, c.request(cfg, j), c.sessionFile(cfg), given, c.line.Bool(flagDetached)))
	})
}

// sessionOptions are the options of a new session. given are those of the command line, which go into the
// session file.
func (c *call) sessionOptions() (cfg config.Config, given map[string]string, err error) {
	layers, err := clusterLayers(c.line, deploymentFlags()...)
	if err = cmp.Or(err, noArguments(c.line)); err != nil {
		return cfg, nil, err
	}
	if cfg, err = c.options(layers...); err != nil {
		return cfg, nil, err
	}
	c.describe(cfg, launch.Session)
	given = make(map[string]string)
	for _, layer := range layers {
		maps.Copy(given, layer.Values)
	}
	if err := sessionfile.Check(given); err != nil { // before anything has started
		return cfg, nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return cfg, given, nil
}
