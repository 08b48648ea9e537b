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
	// calls holds the calls of the provider. It has no bound, because thousands of workers may be
	// lost at once. A worker is released once, and checked once for each connection that it loses.
	// A provider that takes no orders ends the ResourceManager (BoundHang), so they do not wait for
	// long. Of orders that only replace the last ones, only the newest waits.
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

// Perform passes an effect to its receiver.
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
			gateway.Send(e.Message) // a JobMaster that has ended needs no message
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
	case reply, dropped, workerGone: // the loop sends replies; the others are for the log
	}
}

// order sends orders to the provider, and fails if the provider hangs.
func (s *shell) order(ctx context.Context, o Orders) {
	ctx, cancel := BoundHang(ctx, s.logger, errProviderHangs)
	defer cancel()
	s.provider.Order(ctx, o)
	if errors.Is(context.Cause(ctx), errProviderHangs) {
		s.loop.Fail(errProviderHangs)
	}
}

// latest names orders that newer ones replace: orders without a release and a check.
func latest(o Orders) string {
	if len(o.Release) > 0 || len(o.Check) > 0 {
		return ""
	}
	return "total"
}
