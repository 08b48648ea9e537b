// Package tokenmanager keeps the tokens alive by which the processes of a cluster
// reach HDFS (Flink's DelegationTokenManager). It owns the current tokens of the
// application: what a container gets that starts now, and what the running ones are
// sent when there are new ones.
//
// Where the ApplicationMaster can log in, with a keytab, new tokens are obtained at once
// and then again and again, so that a job may run for ever. Where it cannot, YARN renews
// those that the client gave, until their maximum lifetime has passed; the manager
// then tells people in time when the job will die, and what would help.
//
// Core is the pure state machine; Manager is the loop around it. It owns the loop's
// goroutine, one that distributes, and one while a Provider obtains. The package must
// never import a role: who hears of new tokens is given from outside.
package tokenmanager

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

const (
	// obtainTimeout bounds one try, 5 min: more than a NameNode's fail-over takes.
	obtainTimeout = 5 * time.Minute
	// distributions is how many new sets of tokens may wait to be distributed. One comes
	// every leastPause at most.
	distributions = 16
)

// Provider obtains tokens with the process' own login.
type Provider interface {
	// Obtain obtains one for each service. With an error it gives what could be had all
	// the same; the error names the rest.
	Obtain(ctx context.Context) (Obtained, error)
}

// Distribute hands new tokens, as creds.Credentials.Marshal gives them, to all processes
// that run. An error says that there are none any more.
type Distribute func(ctx context.Context, tokens msg.Secret) error

// Manager is the running form. Make it with New, and run it once with Run; its other
// methods may be called from any goroutine, before Run too.
type Manager struct {
	config     Config
	provider   Provider
	distribute Distribute
	logger     logrus.FieldLogger
	loop       *actor.OldLoop[Event, Effect]
	current    atomic.Pointer[creds.Credentials]
	usable     chan struct{} // closed by the loop, once
}

// New makes a Manager that begins with the tokens of the process itself; of those it
// passes on what is for HDFS, and no secrets. Without a provider (nil) it watches over
// them alone.
func New(config Config, provider Provider, own *creds.Credentials, distribute Distribute, logger logrus.FieldLogger) (*Manager, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	m := &Manager{
		config: config, provider: provider, distribute: distribute,
		logger: logger.WithField("component", "tokenmanager"),
		usable: make(chan struct{}),
	}
	tokens := own.Only(creds.KindHDFSDelegation)
	first, err := shortest(tokens, config.RenewInterval)
	if err != nil {
		m.logger.WithError(err).Warn("delegation token does not tell when it ends")
	}
	m.current.Store(tokens)
	m.loop = actor.NewOld[Event, Effect](newCore(config, provider != nil, tokens, first), nil)
	m.loop.Observe(m.logStep)
	return m, nil
}

// Current is what a container gets that starts now: tokens for HDFS, and nothing else.
// They must not be changed.
func (m *Manager) Current() *creds.Credentials { return m.current.Load() }

// Ready waits until work may begin that needs the tokens: not at all where those that there
// were from the start live, or where nothing can be done about it. A later attempt of the
// ApplicationMaster gets the first one's, which may be long dead, and waits for new ones.
func (m *Manager) Ready(ctx context.Context) error {
	select {
	case <-m.usable:
		return nil
	case <-m.loop.Done():
		return actor.ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Run keeps the tokens alive until ctx ends, and gives its cause. It waits for all that it
// started.
func (m *Manager) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shell := newShell(ctx, m)
	m.loop.SetShell(shell)
	if err := m.loop.Post(ctx, Started{}); err != nil {
		return fmt.Errorf("start token manager: %w", err)
	}
	err := m.loop.Run(ctx)
	cancel(actor.ErrStopped)
	shell.wait()
	return err
}

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*Manager
	timers  *actor.Timers[struct{}]
	outbox  *actor.OldOutbox[msg.Secret]
	running sync.WaitGroup
}

func newShell(ctx context.Context, m *Manager) *shell {
	s := &shell{Manager: m}
	s.timers = actor.NewTimers(func(struct{}) { s.post(ctx, Woken{}) })
	s.outbox = actor.NewOldOutbox(ctx, distributions, func(ctx context.Context, tokens msg.Secret) {
		if err := m.distribute(ctx, tokens); err != nil {
			m.logger.WithError(err).Debug("nobody takes new delegation tokens any more")
		}
	})
	return s
}

// post hands an event to the loop. One that has ended needs none.
func (s *shell) post(ctx context.Context, e Event) { _ = s.loop.Post(ctx, e) }

// wait stops what the shell started; its context has ended.
func (s *shell) wait() {
	s.timers.Stop()
	s.outbox.Wait()
	s.running.Wait()
}

// Perform performs one effect.
func (s *shell) Perform(ctx context.Context, effect Effect) {
	switch e := effect.(type) {
	case Obtain:
		s.running.Go(func() {
			trying, cancel := context.WithTimeout(ctx, obtainTimeout)
			defer cancel()
			obtained, err := s.provider.Obtain(trying)
			s.post(ctx, Answered{Obtained: obtained, Err: err})
		})
	case Install:
		s.current.Store(e.Tokens)
		if !s.outbox.Put(e.Tokens.Marshal()) {
			s.logger.Error("running processes do not take new delegation tokens")
		}
	case Usable:
		close(s.usable)
	case Wake:
		s.timers.Set(struct{}{}, time.Until(e.At))
	case TellFailure, TellEnd: // for the log only
	}
}
