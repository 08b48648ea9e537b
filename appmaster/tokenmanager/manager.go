// Package tokenmanager keeps the tokens valid with which the processes of a cluster reach HDFS (Flink's
// DelegationTokenManager). It owns the current tokens of the application: a new container starts with them,
// and running ones are sent each replacement.
//
// If the ApplicationMaster can log in with a keytab, the manager obtains new tokens at once and then again
// and again, so that a job may run for ever. Otherwise YARN renews the client's tokens until their maximum
// lifetime has passed. The manager then warns in time, says when the job will fail, and names the remedy.
//
// Its core is pure; Manager is the loop around it. The package owns the loop's goroutine, one that
// distributes, and one while a Provider obtains. It must never import a role: the caller passes in a
// function that distributes tokens.
package tokenmanager

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// obtainTimeout bounds one attempt, 5 min. A NameNode's fail-over takes less.
const obtainTimeout = 5 * time.Minute

// Provider obtains tokens with the process' own login.
type Provider interface {
	// Obtain obtains one token for each service. With an error it returns the tokens that it could obtain;
	// the error names the rest.
	Obtain(ctx context.Context) (Obtained, error)
}

// Distribute sends new tokens, in the form of creds.Credentials.Marshal, to all running processes. An error
// says that there are no processes any more.
type Distribute func(ctx context.Context, tokens msg.Secret) error

// Manager is the running form. Make it with New, and run it once with Run. Its other methods may be called
// from any goroutine, also before Run.
type Manager struct {
	config     Config
	provider   Provider
	distribute Distribute
	logger     logrus.FieldLogger
	loop       *actor.Loop[event, effect]
	current    atomic.Pointer[creds.Credentials]
	usable     chan struct{} // closed by the loop, once
}

// New makes a Manager that begins with the process' own tokens. It passes on only those for HDFS, and no
// secrets. Without a provider (nil) it only watches their end.
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
		m.logger.WithError(err).Warn("cannot read when a delegation token ends")
	}
	m.current.Store(tokens)
	m.loop = actor.New[event, effect](newCore(config, provider != nil, tokens, first), woken{})
	m.loop.Observe(m.logStep)
	return m, nil
}

// Current returns the tokens for a new container: those for HDFS, and nothing else. They must not be
// changed.
func (m *Manager) Current() *creds.Credentials { return m.current.Load() }

// Ready waits until work that needs the tokens may begin. It does not wait if the first tokens are valid,
// or if the manager cannot obtain others. A later attempt of the ApplicationMaster starts with the first
// one's tokens, which may have ended, and waits for new ones.
func (m *Manager) Ready(ctx context.Context) error {
	return m.loop.Await(ctx, m.usable)
}

// Run keeps the tokens valid until ctx ends, and returns its cause. It waits for everything that it
// started.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.loop.Post(ctx, started{}); err != nil {
		return fmt.Errorf("start token manager: %w", err)
	}
	return m.loop.Run(ctx, m.start)
}

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*Manager
	outbox *actor.Outbox[msg.Secret] // only the newest tokens wait
}

func (m *Manager) start(context.Context) actor.Shell[effect] {
	s := &shell{Manager: m, outbox: actor.NewOutbox[msg.Secret](0, nil)}
	m.loop.Go(func(ctx context.Context) {
		s.outbox.Serve(ctx, func(tokens msg.Secret) bool {
			if err := m.distribute(ctx, tokens); err != nil {
				m.logger.WithError(err).Debug("no process takes new delegation tokens any more")
			}
			return true
		})
	})
	return s
}

// Perform performs one effect.
func (s *shell) Perform(_ context.Context, e effect) {
	switch e := e.(type) {
	case obtain:
		s.loop.Go(func(ctx context.Context) {
			trying, cancel := sched.WithTimeout(ctx, obtainTimeout)
			defer cancel()
			obtained, err := s.provider.Obtain(trying)
			s.loop.Tell(ctx, answered{Obtained: obtained, Err: err})
		})
	case install:
		s.current.Store(e.Tokens)
		s.outbox.Put(e.Tokens.Marshal(), "tokens")
	case usable:
		close(s.usable)
	case tellFailure, tellEnd: // for the log only
	}
}
