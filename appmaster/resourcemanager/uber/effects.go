package uber

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

var errHangs = errors.New("ResourceManager does not accept reports")

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*Provider
	report resourcemanager.Report
	// upward holds reports and starts, in order: few, because there is one worker at a time. A function
	// that returns false is the last one.
	upward *actor.Outbox[func(context.Context) bool]
	cancel context.CancelFunc // ends the current worker; nil before the first
}

// Perform passes an effect to its receiver.
func (s *shell) Perform(ctx context.Context, e effect) {
	switch e := e.(type) {
	case report:
		s.upward.Put(func(ctx context.Context) bool { return s.tell(ctx, e.event) }, "")
	case start:
		running, cancel := context.WithCancel(ctx) // the loop's context: the worker ends with the loop
		s.cancel = cancel
		s.upward.Put(func(ctx context.Context) bool {
			s.loop.Go(func(context.Context) {
				defer cancel()
				s.work(ctx, running, e.worker)
			})
			return true
		}, "")
	case stop:
		s.cancel()
	case reply: // the loop sends it
	}
}

// tell reports an event, and fails if the ResourceManager hangs.
func (s *shell) tell(ctx context.Context, e resourcemanager.WorkerEvent) bool {
	bounded, cancel := resourcemanager.BoundHang(ctx, s.logger, errHangs)
	defer cancel()
	err := s.report(bounded, e)
	if err != nil && ctx.Err() == nil {
		s.loop.Fail(fmt.Errorf("report to resource manager: %w", err))
	}
	return err == nil
}

// work is the life of a worker. It stops when running ends.
func (s *shell) work(ctx, running context.Context, id ids.ResourceID) {
	worker, err := s.begin(running, id)
	if err != nil {
		s.loop.Tell(ctx, ended{worker: id, unstarted: true, cause: err.Error()})
		return
	}
	release := sched.OnEnd(running, worker.Stop)
	defer release()
	s.loop.Tell(ctx, ended{worker: id, cause: worker.Wait()})
}

func (s *shell) begin(ctx context.Context, id ids.ResourceID) (Worker, error) {
	if err := context.Cause(ctx); err != nil { // it was released before its start
		return nil, err
	}
	l, err := s.config.Launch(id, s.config.Host, s.config.Spec)
	if err != nil {
		return nil, err
	}
	return s.config.Machine.Start(ctx, id, l)
}

// runOthers runs the other provider, and counts the workers that it starts.
func (s *shell) runOthers(ctx context.Context) {
	err := s.config.Others.Run(ctx, func(ctx context.Context, events ...resourcemanager.WorkerEvent) error {
		workers := 0
		for _, e := range events {
			if starting, is := e.(resourcemanager.WorkerStarting); is && starting.Spec == s.config.Spec {
				workers++
			}
		}
		if workers > 0 {
			if err := s.loop.Post(ctx, startedElsewhere{workers}); err != nil {
				return err
			}
		}
		return s.report(ctx, events...)
	})
	if err != nil && ctx.Err() == nil {
		s.loop.Fail(err)
	}
}
