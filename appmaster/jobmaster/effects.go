package jobmaster

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*JobMaster
	timers   *actor.Timers[struct{}]
	toRM     *actor.Queue[msg.Message] // from the loop to the goroutine that tells; a registration, blocks, and the newest requirements
	over     chan struct{}             // closed by finish
	told     chan struct{}             // closed when that goroutine has ended
	incoming chan struct{}             // closed when the goroutine behind fromRM has ended
	fatal    context.CancelCauseFunc
}

func newShell(ctx context.Context, j *JobMaster, fatal context.CancelCauseFunc) *shell {
	s := &shell{
		JobMaster: j, fatal: fatal,
		toRM: actor.NewQueue[msg.Message](0), over: make(chan struct{}),
		told: make(chan struct{}), incoming: make(chan struct{}),
	}
	s.timers = actor.NewTimers(func(struct{}) { s.post(ctx, Woken{}) })
	go func() { // ends when finish has closed over and all is told
		defer close(s.told)
		s.toRM.Deliver(s.over, func(m msg.Message) bool {
			s.tell(ctx, m)
			return true
		})
	}()
	go func() { // ends with ctx
		defer close(s.incoming)
		j.fromRM.Deliver(ctx.Done(), func(m msg.Message) bool {
			s.post(ctx, ResourceManagerSaid{Message: m})
			return true
		})
	}()
	return s
}

// finish brings what the loop has said to its end: the ResourceManager has to
// hear that the job needs no slots any more. The loop has ended.
func (s *shell) finish() {
	close(s.over)
	<-s.told
}

// wait stops what the shell started; its context has ended.
func (s *shell) wait() {
	s.timers.Stop()
	<-s.incoming
}

// Perform hands an effect over to whoever it is for.
func (s *shell) Perform(_ context.Context, effect Effect) {
	switch e := effect.(type) {
	case SendTaskExecutor:
		if gateway := s.gateway(e.To); gateway != nil {
			gateway.Send(e.Message) // a lost connection reports itself
		}
	case CloseTaskExecutor:
		if gateway := s.gateway(e.To); gateway != nil {
			gateway.Close(e.Cause)
		}
	case TellResourceManager:
		s.toRM.Put(e.Message, msg.Latest(e.Message))
	case Wake:
		s.timers.Set(struct{}{}, time.Until(e.At))
	case ResultChanged:
		s.mu.Lock()
		close(s.changed[e.Name])
		s.changed[e.Name] = make(chan struct{})
		s.mu.Unlock()
	case AnswerDetails:
		e.Reply <- e.Details // has room: see actor.Ask
	case AnswerOverview:
		e.Reply <- e.Overview
	case AnswerPage:
		e.Reply <- e.Page
	case Ended:
		s.ended = &e
		s.loop.Stop()
	case StatusChanged, RegionFailed, NodeBlocked, NoOtherNode, WorkerGone, ResultDropped, Dropped: // for the log only
	}
}

func (s *shell) gateway(to ConnectionID) TaskExecutorGateway {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections[to]
}

func (s *shell) tell(ctx context.Context, m msg.Message) {
	if err := s.resourceManager.Tell(ctx, m); err != nil && ctx.Err() == nil {
		s.fatal(err)
	}
}

// post gives the loop an event that it need not hear when it has ended.
func (j *JobMaster) post(ctx context.Context, event Event) {
	if err := j.loop.Post(ctx, event); err != nil {
		j.logger.WithError(err).Debug("event comes after the end")
	}
}

// logStep logs one line for each change of state, and at debug level everything.
func (j *JobMaster) logStep(event Event, effects []Effect) {
	if said, is := event.(TaskExecutorSaid); is {
		j.logTaskExecutor(said)
	}
	for _, effect := range effects {
		j.logEffect(effect)
	}
}

func (j *JobMaster) logTaskExecutor(said TaskExecutorSaid) {
	logger := j.logger.WithField("container", said.From.Resource)
	switch m := said.Message.(type) {
	case msg.RegisterAtJobMaster:
		logger.WithField("node", m.Host).Info("task executor registers")
	case msg.HostReady:
		logger.WithFields(logrus.Fields{"host": m.Host, "address": m.DataAddress}).Info("task host is ready")
	case msg.HostLost:
		logger = logger.WithFields(logrus.Fields{"host": m.Host, "err": m.Failure.Message})
		if m.Reason == msg.HostStopped {
			logger.Info("task host is stopped")
		} else {
			logger.Warn("task host is lost")
		}
	case msg.TaskStatesChanged:
		for _, change := range m.Changes {
			if change.State == msg.ExecutionFailed && change.Failure != nil {
				logger.WithFields(logrus.Fields{"execution": change.Execution, "err": change.Failure.Message}).Warn("task failed")
			} else {
				logger.WithFields(logrus.Fields{"execution": change.Execution, "state": change.State}).Debug("task state")
			}
		}
	default:
		logger.WithField("message", msg.Kind(m)).Debug("message of a task executor")
	}
}

func (j *JobMaster) logEffect(effect Effect) {
	switch e := effect.(type) {
	case StatusChanged:
		j.logger.WithFields(logrus.Fields{"from": e.From, "status": e.To}).Info("job changes its status")
	case RegionFailed:
		logger := j.logger.WithFields(logrus.Fields{
			"region": e.Region, "task": e.Root.Task, "container": e.Root.Resource, "err": e.Root.Failure.Message,
		})
		if e.Restart {
			logger.WithField("delay", e.Delay).Warn("region failed and is restarted")
		} else {
			logger.Error("region failed and is not restarted")
		}
	case NodeBlocked:
		j.logger.WithFields(logrus.Fields{"node": e.Node, "until": e.Until, "cause": e.Cause}).Warn("node is set aside")
	case NoOtherNode:
		j.logger.WithFields(logrus.Fields{
			"container": e.Root.Resource, "err": e.Root.Failure.Message, "why": e.Reason, "restart": e.Restart, "delay": e.Delay,
		}).Warn("no node serves the job but those that are set aside")
	case WorkerGone:
		j.logger.WithFields(logrus.Fields{"container": e.Resource, "cause": e.Cause}).Info("worker is gone")
	case ResultDropped:
		j.logger.WithFields(logrus.Fields{"result": e.Name, "after": e.After}).Warn("collected records are dropped: no client asks for them")
	case TellResourceManager:
		if declared, is := e.Message.(msg.DeclareRequirements); is {
			j.logger.WithField("slots", declared.Slots).Debug("slots declared") // with each region that ends
		}
	case SendTaskExecutor:
		if deploy, is := e.Message.(msg.DeployTasks); is {
			j.logger.WithFields(logrus.Fields{"host": deploy.Host, "tasks": len(deploy.Tasks)}).Info("tasks deployed")
		}
	case Dropped:
		j.logger.WithFields(logrus.Fields{
			"container": e.From.Resource, "message": msg.Kind(e.Message), "why": e.Why,
		}).Debug("message dropped")
	case CloseTaskExecutor, Wake, ResultChanged, AnswerDetails, AnswerOverview, AnswerPage, Ended:
	}
}
