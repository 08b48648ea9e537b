package exchange

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// acceptor accepts connections until shut, and serves each in its own goroutine.
type acceptor struct {
	listener net.Listener
	visitor  func(net.Conn) visitor
	log      logrus.FieldLogger
	closing  chan struct{}  // closed by shut
	running  sync.WaitGroup // the goroutines

	mu       sync.Mutex // guards all below
	closed   bool
	visitors map[visitor]struct{}
}

// visitor is the accepting end of a connection.
type visitor interface {
	handshake() error
	// establish ends the handshake; false if part was called before.
	establish() bool
	// run serves the connection until it ends.
	run()
	// part ends the connection after its channels have sent what is ready, and abort at once.
	part()
	abort()
}

func (l *link[E]) abort() { l.cut() }

// newAcceptor starts to accept.
func newAcceptor(listener net.Listener, log logrus.FieldLogger, visitorOf func(net.Conn) visitor) *acceptor {
	a := &acceptor{
		listener: listener, visitor: visitorOf, log: log,
		closing: make(chan struct{}), visitors: make(map[visitor]struct{}),
	}
	a.running.Go(a.accept)
	return a
}

// accept takes connections until shut.
func (a *acceptor) accept() {
	for {
		conn, err := a.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example too many open files
			a.log.WithError(err).Warn("connection of another host not accepted")
			if !a.pause(acceptPause) {
				return
			}
			continue
		}
		a.running.Go(func() { a.serve(a.visitor(conn), conn.RemoteAddr().String()) })
	}
}

// serve serves a connection until it ends.
func (a *acceptor) serve(v visitor, address string) {
	defer v.abort()
	if err := a.admit(v); err != nil { // debug level, because any stranger can cause it; a host of the job logs its own error
		a.log.WithError(err).WithField("address", address).Debug("connection refused")
		return
	}
	v.run()
	a.forget(v)
}

// layered gives an accepted connection with TLS, unless config is nil, and a function that ends it at once.
//
// TLS says goodbye with a record. If the time of the handshake was over when it sent the answer, that record counts the answer
// all the same (crypto/tls), and the peer takes it for a forgery. So the connection below ends, and the peer tries again.
func layered(below *batch, config *tls.Config) (conn net.Conn, cut func()) {
	cut = func() { below.Conn.Close() }
	if config == nil {
		return below, cut
	}
	return tls.Server(below, config), cut
}

// identify proves the identity of a peer by TLS, and answers its greeting, which refuse may refuse: see welcome.
func identify(conn net.Conn, refuse func(greeting) string) (greeting, error) {
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return greeting{}, err
	}
	g, err := welcome(conn, refuse)
	if err != nil {
		return g, err
	}
	return g, conn.SetDeadline(time.Time{})
}

// admit performs the handshake of a connection; then it may carry channels.
func (a *acceptor) admit(v visitor) error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return ErrClosed
	}
	a.visitors[v] = struct{}{}
	a.mu.Unlock()
	err := v.handshake()
	if err == nil && !v.establish() {
		err = ErrClosed
	}
	if err != nil {
		a.forget(v)
	}
	return err
}

func (a *acceptor) forget(v visitor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.visitors, v)
}

// shut ends to accept, and gives the connections, which go on. It must be called once.
func (a *acceptor) shut() []visitor {
	a.mu.Lock()
	a.closed = true
	left := make([]visitor, 0, len(a.visitors))
	for v := range a.visitors {
		left = append(left, v)
	}
	a.mu.Unlock()
	close(a.closing)
	a.listener.Close()
	return left
}

// acceptPause is the pause after a failed accept, so that the loop does not spin.
const acceptPause = 100 * time.Millisecond

func (a *acceptor) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.closing:
		return false
	}
}
