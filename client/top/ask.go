package top

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Site is the application that the view is about, as package run has it. Its methods may be called from any goroutine.
type Site interface {
	// Application is its id; "" if it is not known.
	Application() string
	// Report is YARN's report of it. Its errors include run.ErrYARNAway.
	Report(ctx context.Context) (records.ApplicationReport, error)
	// Reach connects to its present ApplicationMaster.
	Reach(ctx context.Context) (*client.ClusterClient, error)
	// Explain adds to the error of a request whether YARN replaces the ApplicationMaster, or the application has ended.
	Explain(ctx context.Context, asked *client.ClusterClient, err error) error
}

// Times of looks.
const (
	// A look begins at least lookInterval after the one before, and leaves the ApplicationMaster most of the time: a look at
	// very many jobs takes long. One that has failed leaves it as much, for no longer than mostRest: it may have failed because
	// there was too much to do.
	lookInterval = 2 * time.Second
	restOfLook   = 5 // times as long as the look took
	mostRest     = 30 * time.Second
	// askTimeout bounds each request of a look: a frozen node accepts connections and never answers. The look goes on for as
	// long as there are answers.
	askTimeout = 10 * time.Second
	// slowLook is from when on a look tells what it has found so far.
	slowLook = time.Second // the first look at an ApplicationMaster tells it at once
)

// asker looks at an ApplicationMaster. One goroutine at a time uses it.
type asker struct {
	site   Site
	master *client.ClusterClient // nil: none is reached
	loads  loads
}

// ask looks once, and tells what it has found. wait is the time until the next look. An ApplicationMaster that does not answer
// is told at once: YARN, which is then asked why, may not answer either.
func (a *asker) ask(ctx context.Context, asked Asked, tell func(Event)) (wait time.Duration) {
	began, first := time.Now(), a.master == nil
	if err := a.reach(ctx); err != nil { // it had nothing to do
		tell(missedFirst(first, err))
		return max(lookInterval, time.Since(began))
	}
	var untold Event
	err := look(ctx, a.master, &a.loads, asked, func(l Look) {
		l.Application.ID, l.Application.Attempt = a.site.Application(), a.master.Attempt
		if untold = (Looked{l}); !l.Partial || first || time.Since(began) >= slowLook {
			tell(untold)
			untold = nil
		}
	})
	took := time.Since(began)
	if err == nil {
		return restAfter(took, nil)
	}
	if untold != nil {
		tell(untold)
	}
	tell(missed(err))
	err = a.site.Explain(ctx, a.master, err)
	tell(missedFirst(first, err))
	a.close() // the next look reaches the ApplicationMaster that runs then
	return restAfter(took, err)
}

// restAfter is the time between a look and the next one. An ApplicationMaster that is being replaced needs none.
func restAfter(took time.Duration, err error) time.Duration {
	switch {
	case err == nil:
		return max(lookInterval, restOfLook*took)
	case errors.Is(err, client.ErrReplacing):
		return lookInterval
	}
	return max(lookInterval, min(restOfLook*took, mostRest))
}

// reach connects to the ApplicationMaster, unless it is reached.
func (a *asker) reach(ctx context.Context) error {
	if a.master != nil {
		return nil
	}
	master, err := within(ctx, a.site.Reach)
	if err == nil {
		a.master = master
	}
	return err
}

func (a *asker) close() {
	if a.master != nil {
		a.master.Close()
		a.master = nil
	}
}

// within asks for one answer in askTimeout.
func within[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return ask(ctx)
}
