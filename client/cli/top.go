package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/full"
	"github.com/bobbin-yarn/bobbin/client/top"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func topCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "watch an application with its jobs and workers",
		ArgsUsage: "[APPLICATION]",
		Description: `Shows the jobs of an application, the vertices of a job with their rates, and the workers,
on the whole screen of the terminal: what runs, how far it is, where it is slow, why it
waits or has failed. The key ? explains the others, and q quits. The command only looks.
It needs a terminal, so there is no -o json: scripts use bobbin status.

  bobbin top
  bobbin top application_1700000000000_0001`,
		Flags:  slices.Concat(meantFlags(), clusterFlags()),
		Action: bind(watch),
	}
}

// watch is the command top.
func watch(ctx context.Context, c *call) (err error) {
	if err := c.nameApplication(); err != nil {
		return err
	}
	in, out := c.In, terminal.Raw(c.Out)
	keys, isFile := in.(*os.File)
	screen, alsoFile := out.(*os.File)
	looks := terminal.LooksOf(c.getenv)
	if !isFile || !alsoFile || !terminal.Is(keys) || !terminal.Is(screen) || !looks.Moves {
		return fmt.Errorf("%w: bobbin top %w that can move its cursor: use bobbin status -w, or bobbin status -o json", ErrUsage, full.ErrNoTerminal)
	}
	site, _, done, err := c.find(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	ended, err := top.Run(ctx, top.Request{Site: site, In: keys, Out: screen, Colours: looks.Colours})
	if ended != "" {
		fmt.Fprintf(c.Out, "%s has ended: %s\n", site, ended)
	}
	if errors.Is(err, full.ErrNoTerminal) {
		return fmt.Errorf("%w: bobbin top %w", ErrUsage, err)
	}
	return err
}

// nameApplication makes an argument that is an application's id the value of -id.
func (c *call) nameApplication() error {
	switch words := c.line.Args(); {
	case !words.Present():
		return nil
	case words.Len() > 1:
		return fmt.Errorf("%w: %s takes one application: leave out %q", ErrUsage, c.line.Command.HelpName, words.Get(1))
	case c.line.IsSet(flagApplication) || c.line.IsSet(flagMaster):
		return fmt.Errorf("%w: %s: %s and a flag both name the application: leave out one of them", ErrUsage, c.line.Command.HelpName, words.First())
	default:
		if err := c.line.Set(flagApplication, words.First()); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrUsage, config.YarnApplicationID, err)
		}
		return nil
	}
}
