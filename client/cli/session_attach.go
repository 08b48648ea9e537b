package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func sessionAttachCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:  "attach",
		Usage: "stay with a session that runs",
		Description: `Takes the words help, stop and quit, and ends with the session. Ctrl-C ends this
command alone. With -o json it prints how the session ended, with -d how it is.

  bobbin session attach -id application_1700000000000_0001
  echo stop | bobbin session attach -id application_1700000000000_0001`,
		Flags: slices.Concat(meantFlags(), []cli.Flag{
			&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "return once the session is found"},
			outputFlag(),
		}, clusterFlags()),
		Action: bind(sessionAttach),
	}
}

func sessionAttach(ctx context.Context, c *call) error {
	return c.telling(func(j *run.Journal) (err error) {
		if err := noArguments(c.line); err != nil {
			return err
		}
		master, done, err := c.reach(ctx)
		if err != nil {
			return err
		}
		defer done(&err)
		return run.Attach(ctx, master.Site, c.sessionFile(master.cfg), c.In, c.line.Bool(flagDetached), j)
	})
}

func sessionStopCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:  "stop",
		Usage: "end a session and its jobs",
		Description: `Returns once YARN says that the session has ended. Where YARN cannot be asked, it
returns once the session has been told to end, which -o json calls ENDING. Of a session
that has ended by itself it removes what is left: staged files, and the file that names it.

  bobbin session stop -id application_1700000000000_0001`,
		Flags:  slices.Concat(meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: bind(sessionStop),
	}
}

func sessionStop(ctx context.Context, c *call) (err error) {
	if err := noArguments(c.line); err != nil {
		return err
	}
	session, cfg, done, err := c.find(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	j := c.journal()
	err = run.Stop(ctx, session, c.sessionFile(cfg), j)
	if err == nil && c.json {
		err = c.encode(map[string]any{"application": session.Application(), "state": j.Outcome.State})
	}
	return err
}

func sessionAccessCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:      "access",
		Usage:     "write what lets commands in from where there is no YARN",
		ArgsUsage: "FILE",
		Description: `FILE gives a command your rights in the session, also in the hands of others: keep it
readable by you alone. It names one ApplicationMaster, and is worth nothing once that
has ended.

  bobbin session access -id application_1700000000000_0001 nightly.access
  bobbin run -m host:port -D rest.access-file=nightly.access ./wordcount     elsewhere`,
		Flags:  slices.Concat(meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: bind(sessionAccess),
	}
}

func sessionAccess(ctx context.Context, c *call) (err error) {
	if c.line.Args().Len() != 1 {
		return fmt.Errorf("%w: %s needs the name of a file to be written", ErrUsage, c.line.Command.HelpName)
	}
	master, done, err := c.reach(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	access, err := run.Access(ctx, master.Site)
	if err != nil {
		return err
	}
	path := c.line.Args().First()
	if err := client.WriteAccess(path, access); err != nil {
		return err
	}
	if c.json {
		return c.encode(map[string]any{"application": master.Application(), "address": access.Address, "file": path})
	}
	fmt.Fprintf(c.Err, "commands with -m %s -D %s=%s mean session %s\n", access.Address, config.RESTAccessFile, path, master)
	return nil
}
