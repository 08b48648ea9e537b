package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/pause"
)

// flagWatch prints the status again and again.
const flagWatch = "watch"

// watchInterval is the time between two looks of status -w.
const watchInterval = 2 * time.Second

// watchStatus prints the status until the application has ended. It goes on while the ApplicationMaster is replaced, and
// while it does not answer, as long as YARN says that the application has not ended.
func (c *call) watchStatus(ctx context.Context, site run.Site, cfg config.Config) error {
	shown := terminal.Refresh{Out: c.Out, Moves: terminal.LooksOf(c.getenv).Moves}
	for {
		text := terminal.NewLater(c.Out)
		once := *c
		once.Out, once.Err = text, text
		over, err := once.statusAt(ctx, site, cfg)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil && !goesOn(ctx, site, err) {
			return err
		}
		if err != nil {
			fmt.Fprintln(text, err)
		}
		if err := shown.Show(text.String(), over); err != nil || over {
			return err
		}
		if err := pause.For(ctx, watchInterval); err != nil {
			return context.Cause(ctx)
		}
	}
}

// goesOn tells whether an application may answer again after an error.
func goesOn(ctx context.Context, site run.Site, err error) bool {
	if errors.Is(err, client.ErrReplacing) {
		return true
	}
	if !client.Unreachable(err) {
		return false
	}
	report, err := site.Report(ctx)
	return err == nil && !report.State.Terminal()
}
