package resourcemanager

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

var errDriverHangs = errors.New("worker driver takes no orders any more")

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*ResourceManager
	timers *actor.Timers[struct{}]
	// calls of the driver wait without a bound, as thousands of workers may be lost at once:
	// each is released once, and of orders that say only how things are the newest waits.
	calls   *actor.Queue[func(context.Context)]
	calling sync.WaitGroup // the goroutine that makes them
	fatal   context.CancelCauseFunc
}

func newShell(ctx context.Context, r *ResourceManager, fatal context.CancelCauseFunc) *shell {
	s := &shell{ResourceManager: r, fatal: fatal, calls: actor.NewQueue[func(context.Context)](0)}
	s.timers = actor.NewTimers(func(struct{}) { r.post(ctx, Woken{}) })
	s.calling.Go(func() {
		s.calls.Deliver(ctx.Done(), func(call func(context.Context)) bool {
			if ctx.Err() == nil {
				call(ctx)
			}
			return ctx.Err() == nil
		})
	})
	return s
}

// wait stops what the shell started; its context has ended.
func (s *shell) wait() {
	s.timers.Stop()
	s.calling.Wait()
}

// Perform hands an effect over to whoever it is for.
func (s *shell) Perform(_ context.Context, effect Effect) {
	switch e := effect.(type) {
	case SendTaskExecutor:
		s.mu.Lock()
		gateway := s.connections[e.To]
		s.mu.Unlock()
		if gateway != nil {
			gateway.Send(e.Message) // a lost connection reports itself
		}
	case CloseTaskExecutor:
		s.mu.Lock()
		gateway := s.connections[e.To]
		s.mu.Unlock()
		if gateway != nil {
			gateway.Close(e.Cause)
		}
	case SendJobMaster:
		s.mu.Lock()
		gateway := s.jobMasters[e.To]
		s.mu.Unlock()
		if gateway != nil {
			gateway.Send(e.Message) // one that has ended needs nothing
		}
	case ForgetJobMaster:
		s.mu.Lock()
		delete(s.jobMasters, e.JobMaster)
		s.mu.Unlock()
	case OrderWorkers:
		s.calls.Put(func(ctx context.Context) { s.order(ctx, e.Orders) }, latest(e.Orders))
	case Deregister:
		s.calls.Put(func(ctx context.Context) {
			s.post(ctx, Deregistered{Err: s.driver.Deregister(ctx, e.Status, e.Diagnostics)})
		}, "")
	case Wake:
		s.timers.Set(struct{}{}, time.Until(e.At))
	case AnswerStatus:
		e.Reply <- e.Status // has room: see actor.Ask
	case AnswerShutdown:
		e.Reply <- e.Err
	case Dropped, WorkerGone: // for the log only
	}
}

// order gives the driver orders, and gives up one that hangs.
func (s *shell) order(ctx context.Context, o Orders) {
	ctx, cancel := BoundHang(ctx, s.logger, errDriverHangs)
	defer cancel()
	s.driver.Order(ctx, o)
	if errors.Is(context.Cause(ctx), errDriverHangs) {
		s.fatal(errDriverHangs)
	}
}

// latest names orders that say only how things are: newer ones take their place.
func latest(o Orders) string {
	if len(o.Release) > 0 || len(o.Check) > 0 {
		return ""
	}
	return "total"
}

// post gives the loop an event that it need not hear when it has ended.
func (r *ResourceManager) post(ctx context.Context, event Event) {
	if err := r.loop.Post(ctx, event); err != nil {
		r.logger.WithError(err).Debug("event comes after the end")
	}
}

// logStep logs one line for each change of state, and at debug level everything.
func (r *ResourceManager) logStep(event Event, effects []Effect) {
	if reported, ok := event.(DriverReported); ok {
		for _, e := range reported.Events {
			r.logDriverEvent(e)
		}
	}
	for _, effect := range effects {
		r.logEffect(event, effect)
	}
}

func (r *ResourceManager) logDriverEvent(event DriverEvent) {
	switch e := event.(type) {
	case NodesChanged:
		r.logger.WithField("nodes", len(e.Nodes)).Debug("nodes that could have workers")
	case WorkerStarting:
		r.logger.WithFields(logrus.Fields{"container": e.Worker, "node": e.Host}).Info("worker is starting")
	case WorkersRefused:
		r.logger.WithField("reason", e.Reason).Warn("workers are refused")
	case RefusalEnded:
		r.logger.Info("workers may be had again")
	case OrdersTaken:
		r.logger.Info("workers are refused no more")
	case WorkerFailed, WorkerCompleted: // WorkerGone tells it, unless it was released before
	}
}

func (r *ResourceManager) logEffect(event Event, effect Effect) {
	switch e := effect.(type) {
	case SendTaskExecutor:
		r.logSent(event, e)
	case SendJobMaster:
		switch m := e.Message.(type) {
		case msg.JobMasterRegistered:
			r.logger.WithField("jobmaster", e.To).Info("job master registered")
		case msg.NotEnoughResources:
			r.logger.WithFields(logrus.Fields{"job": m.Job, "reason": m.Reason}).Warn("requirements cannot be met")
		case msg.AllNodesBlocked:
			r.logger.WithField("job", m.Job).Warn("job has set all nodes aside")
		}
	case OrderWorkers:
		r.logger.WithFields(logrus.Fields{
			"spec": e.Orders.Spec, "total": e.Orders.Total, "release": len(e.Orders.Release), "check": len(e.Orders.Check), "avoid": e.Orders.Avoid,
		}).Info("workers ordered")
	case WorkerGone:
		r.logger.WithFields(logrus.Fields{"container": e.Worker, "cause": e.Cause}).Info("worker is gone")
	case Deregister:
		r.logger.WithField("status", e.Status).Info("cluster shuts down")
	case Dropped:
		r.logger.WithFields(logrus.Fields{
			"message": msg.Kind(e.Message), "from": e.From, "reason": e.Why,
		}).Debug("message dropped")
	case CloseTaskExecutor, ForgetJobMaster, Wake, AnswerStatus, AnswerShutdown:
	}
}

func (r *ResourceManager) logSent(event Event, e SendTaskExecutor) {
	var from Peer
	if said, ok := event.(TaskExecutorSaid); ok {
		from = said.From
	}
	switch m := e.Message.(type) {
	case msg.TaskExecutorRegistered:
		r.logger.WithFields(logrus.Fields{"container": from.Resource, "instance": m.Instance}).Info("task executor registered")
	case msg.RegistrationRejected:
		r.logger.WithFields(logrus.Fields{"container": from.Resource, "reason": m.Reason}).Warn("task executor rejected")
	case msg.RequestSlots:
		r.logger.WithFields(logrus.Fields{"job": m.Job, "slots": len(m.Slots), "connection": e.To}).Debug("slots granted")
	case msg.UpdateTokens:
		r.logger.WithField("connection", e.To).Debug("delegation tokens sent")
	}
}
