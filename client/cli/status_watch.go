package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/pause"
)

// flagWatch prints the status again and again.
const flagWatch = "watch"

const (
	// watchInterval is the time between two looks of status -w.
	watchInterval = 2 * time.Second
	// watchTimeout bounds each request of a look, but those of the first one: a frozen node accepts connections and never
	// answers, and the last status stays meanwhile.
	watchTimeout = 10 * time.Second
)

// watchStatus prints the status until the application has ended. It goes on while the ApplicationMaster is replaced, and while
// nothing answers; see hearing.
func (c *call) watchStatus(ctx context.Context, site run.Site, cfg config.Config) error {
	shown := terminal.Refresh{Out: c.Out, Moves: terminal.LooksOf(c.getenv).Moves}
	h := hearing{site: site, patience: cfg.Duration(config.ClientTimeout)}
	for {
		text := terminal.NewLater(c.Out)
		once := *c
		once.Out, once.Err = text, text
		over, err := once.statusAt(ctx, h.asked(), cfg)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err == nil {
			h.heard = time.Now()
		} else {
			words, goesOn := h.missed(ctx, err)
			if !goesOn {
				return err
			}
			fmt.Fprintln(text, words)
		}
		if err := shown.Show(text.String(), "as of "+progress.TimeOfDay(time.Now()), over); err != nil || over {
			return err
		}
		if err := pause.For(ctx, watchInterval); err != nil {
			return context.Cause(ctx)
		}
	}
}

// hearing is when an application, or YARN, has answered. One that has answered before may do so again.
type hearing struct {
	site     run.Site
	patience time.Duration // for an application whose YARN is not available here
	heard    time.Time     // the last answer; zero: there was none
}

// asked is the application for the next look.
func (h *hearing) asked() run.Site {
	if h.heard.IsZero() {
		return h.site
	}
	return impatient{h.site}
}

// missed says why a look has failed, and whether another one may succeed: YARN replaces the ApplicationMaster, or reports the
// application, or does not answer now. YARN may be away for as long as it likes: the application goes on without it.
func (h *hearing) missed(ctx context.Context, cause error) (words string, goesOn bool) {
	if errors.Is(cause, client.ErrReplacing) {
		h.heard = time.Now()
		return cause.Error(), true
	}
	if !client.Unreachable(cause) && !client.Unheard(cause) && !errors.Is(cause, context.DeadlineExceeded) {
		return "", false
	}
	_, err := h.site.Report(ctx)
	switch {
	case err == nil: // if the application has ended, the next look says how
		h.heard = time.Now()
		return cause.Error(), true
	case h.heard.IsZero():
		return "", false
	case errors.Is(err, run.ErrYARNAway), errors.Is(err, run.ErrNoYARN) && time.Since(h.heard) <= h.patience:
		return fmt.Sprintf("%v\nnothing has answered since %s", cause, progress.TimeOfDay(h.heard)), true
	}
	return "", false
}

// impatient is an application that gets only some time for each answer.
type impatient struct{ run.Site }

// Reach connects to the present ApplicationMaster.
func (s impatient) Reach(ctx context.Context) (*client.ClusterClient, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	reached, err := s.Site.Reach(ctx)
	if err == nil {
		reached.Patience = watchTimeout
	}
	return reached, err
}
