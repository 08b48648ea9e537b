package yarnworkers

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// call is a call that takes time.
type call func(context.Context)

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*Provider
	report resourcemanager.Report
	// yarn runs calls to YARN's ResourceManager in order in one goroutine, because amrm's Client
	// serves one caller. The core sends one call after the other, so yarn needs no bound.
	yarn *actor.Outbox[call]
	// upward holds reports to the ResourceManager, and has no bound. Each container causes few
	// reports, but thousands may come together when starts fail at nodes that do not answer. One
	// goroutine sends them.
	upward *actor.Outbox[news]
	// starts and others are two queues: starts wait only for starts; stops and checks wait only for
	// each other.
	starts, others *nodeCalls
}

// begin starts the goroutines that talk to YARN's ResourceManager and to Bobbin's.
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

// fail ends the provider with this error. It ignores errors after the end of ctx, because these
// follow from that end.
func (s *shell) fail(ctx context.Context, cause error) {
	if ctx.Err() == nil {
		s.loop.Fail(cause)
	}
}

// register registers the attempt with YARN. It waits for a ResourceManager that does not answer: it
// returns, and itself gives up attempts that do not register in time.
func (s *shell) register(ctx context.Context) {
	for wait := s.config.RequestInterval; ; wait = min(2*wait, s.config.Heartbeat) {
		sent := sched.Now(ctx)
		registration, err := s.config.ResourceManager.Register(ctx, s.config.Registration)
		if err == nil {
			s.config.NodeManagers.SetTokens(registration.NMTokens)
			if s.config.ClientToAMKey != nil {
				s.config.ClientToAMKey(registration.ClientToAMKey)
			}
			s.loop.Tell(ctx, registered{registration, sent})
			if s.config.Registered != nil {
				s.config.Registered(registration.Queue)
			}
			return
		}
		action := yarnrpc.Classify(err)
		if action != yarnrpc.FailOver && action != yarnrpc.RetrySame {
			s.fail(ctx, err)
			return
		}
		s.logger.WithError(err).WithField("wait", wait).Warn("registration with YARN failed and is repeated")
		if sched.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// Perform passes an effect to its receiver.
func (s *shell) Perform(ctx context.Context, e effect) {
	switch e := e.(type) {
	case allocate:
		s.yarn.Put(func(ctx context.Context) { s.allocate(ctx, e) }, "")
	case confirm:
		s.loop.Go(s.confirm)
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
	case tellLargest:
		if s.config.Largest != nil {
			s.config.Largest(e.resource)
		}
	case fail:
		s.fail(ctx, e.err)
	case reply, noteWaits: // the loop sends the one, and counts.step has noted the other
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
	sent := sched.Now(ctx)
	response, err := client.Allocate(ctx, progress)
	if err == nil {
		s.counts.answered(sched.Now(ctx).Sub(sent))
		s.config.NodeManagers.SetTokens(response.NMTokens)
	}
	s.loop.Tell(ctx, allocated{response: response, err: err})
}

func (s *shell) confirm(ctx context.Context) {
	var err error
	if s.config.Confirm != nil {
		err = s.config.Confirm(ctx)
	}
	s.loop.Tell(ctx, confirmed{err})
}

func (s *shell) finish(ctx context.Context, e finish) {
	s.loop.Tell(ctx, finished{s.config.ResourceManager.Finish(ctx, e.status, e.diagnostics, s.config.History)})
}

func (s *shell) startAll(ctx context.Context, starts []start) {
	for _, start := range starts {
		s.starts.put(ctx, start.container.Node, func(ctx context.Context, silent time.Time) bool {
			return s.start(ctx, start, silent.Add(startTimeout))
		})
	}
}

// errLate says that a call was not made, because its turn came after its time.
var errLate = errors.New("YARN's last answer is too old")

func (s *shell) start(ctx context.Context, e start, deadline time.Time) (answered bool) {
	id := e.container.ID
	if now := sched.Now(ctx); !now.Before(e.by) && now.Before(deadline) { // after the deadline it fails
		s.loop.Tell(ctx, containerStarted{id: id, err: errLate})
		return false
	}
	launch, err := s.config.Launch(id, e.container.Node, e.spec)
	if err != nil {
		err = undescribed{err}
	} else {
		err = s.startBy(ctx, deadline, e.container, launch)
	}
	s.loop.Tell(ctx, containerStarted{id: id, err: err})
	return hasAnswered(err)
}

// undescribed is an error of Config.Launch: no NodeManager was asked.
type undescribed struct{ error }

func (u undescribed) Unwrap() error { return u.error }

// hasAnswered tells whether the node answered the call with this error, even by a refusal.
func hasAnswered(err error) bool {
	_, unanswered := errors.AsType[*yarnrpc.CallError](err)
	return !unanswered
}

// startBy starts a container at a node that must answer before the deadline. On an error,
// yarnrpc.MaybeSent tells whether the node may have started it anyway.
func (s *shell) startBy(ctx context.Context, deadline time.Time, k records.Container, launch records.ContainerLaunchContext) error {
	ctx, cancel := sched.WithDeadlineCause(ctx, deadline, errNoAnswer)
	defer cancel()
	return s.config.NodeManagers.Start(ctx, k, launch)
}

func (s *shell) stop(ctx context.Context, e stopContainer) {
	if !sched.Now(ctx).Before(e.by) {
		s.loop.Tell(ctx, containerStopped{id: e.id, node: e.node, late: true})
		return
	}
	stopping, cancel := sched.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := s.config.NodeManagers.Stop(stopping, e.node, e.id); err != nil {
		s.logger.WithError(err).WithField("container", e.id).Debug("node did not stop the container")
	}
	s.loop.Tell(ctx, containerStopped{id: e.id})
}

func (s *shell) check(ctx context.Context, e checkContainer) {
	looking, cancel := sched.WithTimeout(ctx, stopTimeout)
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
