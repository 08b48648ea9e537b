package yarnworkers

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// call is something that takes time.
type call func(context.Context)

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*Provider
	report resourcemanager.Report
	// Calls of YARN's ResourceManager come in order from one goroutine, as amrm's Client serves
	// one caller. The core asks for one after the other, so it needs no bound.
	yarn *actor.Outbox[call]
	// What the ResourceManager is to hear waits without a bound: of a container there is
	// little, and that of thousands may come together, as starts at nodes without an answer
	// fail. It comes from one goroutine.
	upward *actor.Outbox[news]
	// Starts wait for starts alone, and stops and looks for one another.
	starts, others *nodeCalls
}

// begin starts the goroutines that speak to YARN's ResourceManager and to Bobbin's.
func (s *shell) begin(context.Context) actor.Shell[effect] {
	s.loop.Go(s.register)
	s.loop.Go(func(ctx context.Context) {
		s.yarn.Serve(ctx, func(c call) bool {
			c(ctx)
			return true
		})
	})
	s.loop.Go(func(ctx context.Context) {
		s.upward.Serve(ctx, func(n news) bool { return s.pass(ctx, n) })
	})
	return s
}

// fail ends the provider with this error. One that comes once ctx has ended follows from that
// end, and does not count.
func (s *shell) fail(ctx context.Context, cause error) {
	if ctx.Err() == nil {
		s.loop.Fail(cause)
	}
}

// register makes the attempt known to YARN. A ResourceManager that is away comes back, and
// gives up the attempts that it does not hear of in time by itself.
func (s *shell) register(ctx context.Context) {
	for wait := s.config.RequestInterval; ; wait = min(2*wait, s.config.Heartbeat) {
		registration, err := s.config.ResourceManager.Register(ctx, s.config.Registration)
		if err == nil {
			s.config.NodeManagers.SetTokens(registration.NMTokens)
			if s.config.ClientToAMKey != nil {
				s.config.ClientToAMKey(registration.ClientToAMKey)
			}
			s.loop.Tell(ctx, registered{registration})
			return
		}
		action := yarnrpc.Classify(err)
		if action != yarnrpc.FailOver && action != yarnrpc.RetrySame {
			s.fail(ctx, err)
			return
		}
		s.logger.WithError(err).WithField("wait", wait).Warn("registration with YARN failed and is repeated")
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// Perform hands an effect over.
func (s *shell) Perform(ctx context.Context, e effect) {
	switch e := e.(type) {
	case allocate:
		s.yarn.Put(func(ctx context.Context) { s.allocate(ctx, e) }, "")
	case finish:
		s.yarn.Put(func(ctx context.Context) { s.finish(ctx, e) }, "")
	case report:
		s.handUp(news{events: e.events})
	case startContainers:
		s.handUp(news{starts: e.starts})
	case stopContainer:
		s.others.put(ctx, e.node, bounded(func(ctx context.Context) { s.stop(ctx, e) }))
	case checkContainer:
		s.others.put(ctx, e.node, bounded(func(ctx context.Context) { s.check(ctx, e) }))
	case fail:
		s.fail(ctx, e.err)
	case reply: // the loop's
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
	s.loop.Tell(ctx, allocated{response: response, err: err})
}

func (s *shell) finish(ctx context.Context, e finish) {
	const history = "" // there is none to track
	s.loop.Tell(ctx, finished{s.config.ResourceManager.Finish(ctx, e.status, e.diagnostics, history)})
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
	s.loop.Tell(ctx, containerStarted{id: id, err: err})
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
		s.logger.WithError(err).WithField("container", e.id).Debug("node did not stop the container")
	}
	s.loop.Tell(ctx, containerStopped{e.id})
}

func (s *shell) check(ctx context.Context, e checkContainer) {
	looking, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	answer := containerChecked{id: e.id}
	statuses, err := s.config.NodeManagers.Statuses(looking, e.node, e.id)
	if err != nil {
		s.logger.WithError(err).WithField("container", e.id).Debug("node did not report the state of the container")
	}
	for _, status := range statuses {
		if status.ID == e.id {
			answer.status = status
		}
	}
	s.loop.Tell(ctx, answer)
}
