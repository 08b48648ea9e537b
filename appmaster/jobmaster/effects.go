package jobmaster

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*JobMaster
	toRM      *actor.Outbox[msg.Message] // a registration, the blocked nodes, and the newest requirements
	finishing sched.Permits              // to store that regions have committed
}

// start starts the goroutine that passes the ResourceManager's messages to the loop.
func (s *shell) start(context.Context) actor.Shell[effect] {
	s.loop.Go(func(ctx context.Context) {
		s.fromRM.Serve(ctx, func(m msg.Message) bool {
			s.loop.Tell(ctx, resourceManagerSaid{Message: m})
			return true
		})
	})
	return s
}

// Perform passes an effect to its receiver.
func (s *shell) Perform(_ context.Context, e effect) {
	switch e := e.(type) {
	case sendTaskExecutor:
		s.connections.Send(e.To, e.Message)
	case closeTaskExecutor:
		s.connections.Close(e.To, e.Cause)
	case tellResourceManager:
		s.toRM.Put(e.Message, msg.Latest(e.Message))
	case storeCommit:
		s.loop.Go(func(ctx context.Context) { s.storeCommit(ctx, e) })
	case storeCommitted:
		s.loop.Go(func(ctx context.Context) { s.storeCommitted(ctx, e) })
	case resultChanged:
		s.mu.Lock()
		close(s.changed[e.Name])
		s.changed[e.Name] = make(chan struct{})
		s.mu.Unlock()
	case ended:
		s.ended = &e
		s.loop.Stop()
	case reply, statusChanged, commitsRecovered, exchangesBlocking, regionFailed, taskSlow, furtherDeployed, furtherEnded, diskFailed, nodeBlocked, noOtherNode, slotsTimedOut, slotsDescribed, workerGone, resultDropped, dropped:
		// the loop sends replies; the others are for the log
	}
}

// storeCommit stores what a region commits. A JobMaster whose successor leads ends at once, and tells its workers
// nothing.
func (s *shell) storeCommit(ctx context.Context, e storeCommit) {
	data, err := commitrecord.Encode(e.Record)
	if err == nil {
		err = s.commits.AddCommit(ctx, e.Region, data)
	}
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, ha.ErrSuperseded):
		s.loop.Fail(fmt.Errorf("store what region %d commits: %w", e.Region, err))
	default:
		s.loop.Tell(ctx, commitStored{Region: e.Region, Err: err})
	}
}

// storeCommitted stores that a region has committed. Several are stored at a time: while storage is away, there may be as
// many as regions.
func (s *shell) storeCommitted(ctx context.Context, e storeCommitted) {
	if s.finishing.Acquire(ctx) != nil {
		return
	}
	defer s.finishing.Release()
	err := s.commits.FinishCommit(ctx, e.Region)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, ha.ErrSuperseded):
		s.loop.Fail(fmt.Errorf("store that region %d has committed: %w", e.Region, err))
	default:
		s.logger.WithFields(logrus.Fields{"region": e.Region, "err": err}).Warn("cannot store that the region has committed: a later ApplicationMaster commits it again")
	}
}
