package resourcemanager

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/internal/actor"
)

var errProviderHangs = errors.New("worker provider does not accept orders")

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*ResourceManager
	// calls of the provider wait without a bound, as thousands of workers may be lost at once:
	// each is released once, and of orders that say only how things are the newest waits.
	calls *actor.Outbox[func(context.Context)]
}

// start starts the provider, and the goroutine that calls it.
func (r *ResourceManager) start(context.Context) actor.Shell[effect] {
	s := &shell{ResourceManager: r, calls: actor.NewOutbox[func(context.Context)](0, nil)}
	r.loop.Go(func(ctx context.Context) {
		s.calls.Serve(ctx, func(call func(context.Context)) bool {
			call(ctx)
			return true
		})
	})
	r.loop.Go(r.runProvider)
	return s
}

// Perform hands an effect over to the peer that it is for.
func (s *shell) Perform(_ context.Context, e effect) {
	switch e := e.(type) {
	case sendTaskExecutor:
		s.connections.Send(e.To, e.Message)
	case closeTaskExecutor:
		s.connections.Close(e.To, e.Cause)
	case sendJobMaster:
		s.mu.Lock()
		gateway := s.jobMasters[e.To]
		s.mu.Unlock()
		if gateway != nil {
			gateway.Send(e.Message) // one that has ended needs nothing
		}
	case forgetJobMaster:
		s.mu.Lock()
		delete(s.jobMasters, e.JobMaster)
		s.mu.Unlock()
	case orderWorkers:
		s.calls.Put(func(ctx context.Context) { s.order(ctx, e.Orders) }, latest(e.Orders))
	case deregister:
		s.calls.Put(func(ctx context.Context) {
			s.loop.Tell(ctx, deregistered{Err: s.provider.Deregister(ctx, e.Status, e.Diagnostics)})
		}, "")
	case reply, dropped, workerGone: // the loop's, and for the log only
	}
}

// order gives the provider orders, and gives up one that hangs.
func (s *shell) order(ctx context.Context, o Orders) {
	ctx, cancel := BoundHang(ctx, s.logger, errProviderHangs)
	defer cancel()
	s.provider.Order(ctx, o)
	if errors.Is(context.Cause(ctx), errProviderHangs) {
		s.loop.Fail(errProviderHangs)
	}
}

// latest names orders that say only how things are: newer ones take their place.
func latest(o Orders) string {
	if len(o.Release) > 0 || len(o.Check) > 0 {
		return ""
	}
	return "total"
}
