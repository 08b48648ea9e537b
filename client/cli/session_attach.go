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
		Usage: "open the prompt of a running session",
		Description: `Reads the words help, stop and quit, from the terminal or a pipe, until the session ends.
Ctrl-C ends only this command: the session continues. With -o json the command prints the
final state of the session. With -o json -d it prints the present state.

  bobbin session attach -id application_1700000000000_0001
  echo stop | bobbin session attach -id application_1700000000000_0001`,
		Flags: slices.Concat(meantFlags(), []cli.Flag{
			&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "return as soon as the command has found the session"},
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
		Usage: "stop a session and its jobs",
		Description: `Returns when YARN reports the end of the session. If YARN does not answer, the command
returns as soon as the session has accepted the stop; with -o json the state is then ENDING.

If the session has already ended, the command removes its staged files, and the file that
bobbin session start wrote.

  bobbin session stop
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
		Usage:     "write an access file for machines without YARN",
		ArgsUsage: "FILE",
		Description: `FILE gives your rights in the session to everyone who can read it: keep it secret. The
file names one ApplicationMaster. It is of no use after the end of that ApplicationMaster.

Write the file where YARN is available, and copy it to the other machine. Run the second
command there.

  bobbin session access -id application_1700000000000_0001 nightly.access
  bobbin run -m host:port -D rest.access-file=nightly.access ./wordcount`,
		Flags:  slices.Concat(meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: bind(sessionAccess),
	}
}

func sessionAccess(ctx context.Context, c *call) (err error) {
	if c.line.Args().Len() != 1 {
		return fmt.Errorf("%w: %s needs the name of the file to write", ErrUsage, c.line.Command.HelpName)
	}
	master, done, err := c.reach(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	access, err := run.Access(ctx, master.Site, master.Attempt)
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
	fmt.Fprintf(c.Err, "commands with -m %s -D %s=%s use session %s\n", access.Address, config.RESTAccessFile, path, master)
	return nil
}
