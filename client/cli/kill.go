package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func killCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:      "kill",
		Usage:     "end an application and remove its staged files",
		ArgsUsage: "APPLICATION",
		Description: `Kills the application with all its containers, and removes its staged files. If the
application has already ended, the command only removes the staged files.

  bobbin kill application_1700000000000_0001`,
		Flags:  append([]cli.Flag{outputFlag()}, clusterFlags()...),
		Action: bind(kill),
	}
}

func kill(ctx context.Context, c *call) (err error) {
	id, err := applicationArgument(c.line)
	if err != nil {
		return err
	}
	cluster, _, done, err := c.cluster(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	report, err := cluster.Report(ctx, id)
	if err != nil {
		return err
	}
	if report.State.Terminal() {
		if err := cluster.Sweep(ctx, id); err != nil {
			return err
		}
		return c.say(fmt.Sprintf("%s has ended already: %s (%s)", id, report.State, report.FinalStatus), killed(id, report.State))
	}
	if err := cluster.Kill(ctx, id); err != nil {
		return err
	}
	return c.say(fmt.Sprintf("%s is killed", id), killed(id, records.ApplicationKilled))
}

func killed(id records.ApplicationID, state records.ApplicationState) map[string]any {
	return map[string]any{"application": id.String(), "state": state}
}

// applicationArgument reads the only argument of a command, an application id.
func applicationArgument(c *cli.Context) (records.ApplicationID, error) {
	const example = "such as application_1700000000000_0001; bobbin applications lists them"
	if c.Args().Len() != 1 {
		return records.ApplicationID{}, fmt.Errorf("%w: %s needs one application id, %s", ErrUsage, c.Command.HelpName, example)
	}
	id, err := records.ParseApplicationID(c.Args().First())
	if err != nil {
		return id, fmt.Errorf("%w: %q is no application id, %s", ErrUsage, c.Args().First(), example)
	}
	return id, nil
}
