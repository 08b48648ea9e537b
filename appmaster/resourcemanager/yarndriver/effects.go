package yarndriver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	// callsPerNode bounds the starts under way at a NodeManager, and likewise the stops
	// and looks: each takes some milliseconds there, and more at once would only queue in
	// it. One that does not answer holds up no other.
	callsPerNode = 2
	// callsAtOnce bounds either kind at all NodeManagers together, and with it goroutines
	// and connections: enough for a hundred nodes that do not answer.
	callsAtOnce = 256
	// startTimeout is for how long a NodeManager may leave all starts unanswered. Those that
	// wait behind them there fail with them. The time that the first one waits for calls at
	// other nodes to end does not count: nobody is asked before. The node was alive a moment
	// ago, when YARN gave the container at its heartbeat, and is waited for through a long
	// collection of garbage, or a restart, but not for the minutes after which YARN counts
	// it as lost: another container comes in a second.
	startTimeout = 20 * time.Second
	// stopTimeout bounds a stop, and a look, at a node that does not answer: YARN
	// ends released containers by itself.
	stopTimeout = 5 * time.Second
)

var errNoAnswer = fmt.Errorf("the NodeManager has not answered for %v", startTimeout)

// call is something that takes time.
type call func(context.Context)

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*Driver
	report resourcemanager.Report
	fatal  context.CancelCauseFunc
	timers *actor.Timers[struct{}]
	yarn   *actor.OldOutbox[call] // in order, from one goroutine: amrm's Client serves one caller
	// What the ResourceManager is to hear waits without a bound: of a container there is
	// little, and that of thousands may come together, as starts at nodes without an answer
	// fail. It comes from one goroutine.
	upward *actor.Queue[news]
	// running are that goroutine and the one that makes the attempt known to YARN.
	running sync.WaitGroup
	// Starts wait for starts alone, and stops and looks for one another.
	starts, others *nodeCalls
}

func newShell(ctx context.Context, d *Driver, report resourcemanager.Report, fatal context.CancelCauseFunc) *shell {
	s := &shell{
		Driver: d, report: report, fatal: fatal, upward: actor.NewQueue[news](0),
		starts: newNodeCalls(callsPerNode, callsAtOnce), others: newNodeCalls(callsPerNode, callsAtOnce),
	}
	s.timers = actor.NewTimers(func(struct{}) { d.post(ctx, woken{}) })
	s.yarn = actor.NewOldOutbox(ctx, 1, func(ctx context.Context, c call) { c(ctx) })
	s.running.Go(func() { s.passOn(ctx) })
	return s
}

// wait stops what the shell started; its context has ended.
func (s *shell) wait() {
	s.timers.Stop()
	s.yarn.Wait()
	s.running.Wait()
	s.starts.wait()
	s.others.wait()
}

// register makes the attempt known to YARN, beside the loop. A ResourceManager
// that is away comes back, and gives up the attempts that it does not hear of in
// time by itself.
func (s *shell) register(ctx context.Context) {
	s.running.Go(func() {
		for wait := s.config.RequestInterval; ; wait = min(2*wait, s.config.Heartbeat) {
			registration, err := s.config.ResourceManager.Register(ctx, s.config.Registration)
			if err == nil {
				s.config.NodeManagers.SetTokens(registration.NMTokens)
				if s.config.ClientToAMKey != nil {
					s.config.ClientToAMKey(registration.ClientToAMKey)
				}
				s.post(ctx, registered{registration})
				return
			}
			action := yarnrpc.Classify(err)
			if action != yarnrpc.FailOver && action != yarnrpc.RetrySame {
				s.fatal(err)
				return
			}
			s.logger.WithError(err).WithField("wait", wait).Warn("registration is to be repeated")
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
		}
	})
}

// Perform hands an effect over.
func (s *shell) Perform(ctx context.Context, e effect) {
	switch e := e.(type) {
	case allocate: // there is room: one of these is under way at a time
		s.yarn.Put(func(ctx context.Context) { s.allocate(ctx, e) })
	case finish:
		s.yarn.Put(func(ctx context.Context) { s.finish(ctx, e) })
	case report:
		s.handUp(news{events: e.events})
	case startContainers:
		s.handUp(news{starts: e.starts})
	case stopContainer:
		s.others.put(ctx, e.node, bounded(func(ctx context.Context) { s.stop(ctx, e) }))
	case checkContainer:
		s.others.put(ctx, e.node, bounded(func(ctx context.Context) { s.check(ctx, e) }))
	case answerFinish:
		e.reply <- e.err
	case wake:
		s.timers.Set(struct{}{}, time.Until(e.at))
	case fail:
		s.fatal(e.err)
	}
}

func (s *shell) allocate(ctx context.Context, e allocate) {
	client := s.config.ResourceManager
	for _, ask := range e.asks {
		client.SetAsk(ask)
	}
	for _, request := range e.requests {
		client.SetSchedulingRequest(request)
	}
	client.Release(e.release...)
	client.Blacklist(e.avoid, e.dontAvoid)
	progress := float32(1)
	if s.config.Progress != nil {
		progress = s.config.Progress()
	}
	response, err := client.Allocate(ctx, progress)
	if err == nil {
		s.config.NodeManagers.SetTokens(response.NMTokens)
	}
	s.post(ctx, allocated{response: response, err: err})
}

func (s *shell) finish(ctx context.Context, e finish) {
	const history = "" // there is none to track
	s.post(ctx, finished{s.config.ResourceManager.Finish(ctx, e.status, e.diagnostics, history)})
}

func (s *shell) startAll(ctx context.Context, starts []start) {
	for _, start := range starts {
		s.starts.put(ctx, start.container.Node, func(ctx context.Context, silent time.Time) bool {
			return s.start(ctx, start, silent.Add(startTimeout))
		})
	}
}

func (s *shell) start(ctx context.Context, e start, deadline time.Time) (answered bool) {
	id := e.container.ID
	launch, err := s.config.Launch(id, e.container.Node, e.spec)
	if err == nil {
		err = s.startBy(ctx, deadline, e.container, launch)
	}
	s.post(ctx, containerStarted{id: id, err: err})
	return hasAnswered(err)
}

// hasAnswered tells whether a node has answered the call that err is of, if only to refuse.
func hasAnswered(err error) bool {
	_, unanswered := errors.AsType[*yarnrpc.CallError](err)
	return !unanswered
}

// startBy starts a container at a node that answers in time. Where it may have been
// started nevertheless, yarnrpc.MaybeSent says so of the error.
func (s *shell) startBy(ctx context.Context, deadline time.Time, k records.Container, launch records.ContainerLaunchContext) error {
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, errNoAnswer)
	defer cancel()
	return s.config.NodeManagers.Start(ctx, k, launch)
}

func (s *shell) stop(ctx context.Context, e stopContainer) {
	stopping, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := s.config.NodeManagers.Stop(stopping, e.node, e.id); err != nil {
		s.logger.WithError(err).WithField("container", e.id).Debug("container was not stopped by its node")
	}
	s.post(ctx, containerStopped{e.id})
}

func (s *shell) check(ctx context.Context, e checkContainer) {
	looking, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	answer := containerChecked{id: e.id}
	statuses, err := s.config.NodeManagers.Statuses(looking, e.node, e.id)
	if err != nil {
		s.logger.WithError(err).WithField("container", e.id).Debug("node does not tell of container")
	}
	for _, status := range statuses {
		if status.ID == e.id {
			answer.status = status
		}
	}
	s.post(ctx, answer)
}

// logStep logs one line for each change of state, and heartbeats not at all.
func (d *Driver) logStep(e event, effects []effect) {
	switch e := e.(type) {
	case registered:
		d.logger.WithFields(logrus.Fields{
			"queue": e.registration.Queue, "maximum": e.registration.Maximum.String(),
		}).Info("registered with yarn")
	case allocated:
		d.logAllocated(e)
	case containerStarted:
		log := d.logger.WithField("container", e.id)
		if e.err != nil {
			log.WithError(e.err).Warn("container could not be started")
		} else {
			log.Info("container started")
		}
	case finished:
		if e.err == nil {
			d.logger.Info("unregistered from yarn")
		}
	case ordered, containerStopped, containerChecked, finishAsked, woken:
	}
	for _, e := range effects {
		switch e := e.(type) {
		case allocate:
			for _, ask := range e.asks {
				d.logger.WithFields(logrus.Fields{
					"priority": ask.Key.Priority, "capability": ask.Capability.String(), "count": ask.Count, "hosts": len(ask.Hosts),
				}).Info("containers asked for")
			}
			for _, request := range e.requests {
				d.logger.WithFields(logrus.Fields{
					"priority": request.Key.Priority, "capability": request.Capability.String(), "count": request.Count, "constraint": request.Constraint.String(),
				}).Info("containers asked for")
			}
			if len(e.avoid) > 0 || len(e.dontAvoid) > 0 {
				d.logger.WithFields(logrus.Fields{"avoid": e.avoid, "nomore": e.dontAvoid}).Info("blacklist changed")
			}
			if len(e.release) > 0 {
				d.logger.WithField("containers", containerNames(e.release)).Info("containers given back")
			}
		case stopContainer:
			d.logger.WithFields(logrus.Fields{"container": e.id, "node": e.node}).Info("container is stopped")
		case fail:
			d.logger.WithError(e.err).Error("yarn has given this attempt up")
		case report, startContainers, checkContainer, finish, answerFinish, wake:
		}
	}
}

func (d *Driver) logAllocated(e allocated) {
	if errors.Is(e.err, amrm.ErrAttemptGone) {
		return // the failure is logged
	}
	if e.err != nil {
		d.logger.WithError(e.err).Warn("allocate is to be repeated")
		return
	}
	for _, k := range e.response.Allocated {
		d.logger.WithFields(logrus.Fields{"container": k.ID, "node": k.Node, "capability": k.Resource.String()}).Info("container allocated")
	}
	for _, k := range e.response.Surplus {
		d.logger.WithFields(logrus.Fields{"container": k.ID, "node": k.Node}).Info("container allocated beyond the ask")
	}
	for _, s := range e.response.Completed {
		d.logger.WithFields(logrus.Fields{"container": s.ID, "status": s.ExitStatus}).Info("container completed")
	}
}

func containerNames(list []records.ContainerID) []string {
	names := make([]string, len(list))
	for i, id := range list {
		names[i] = id.String()
	}
	return names
}
