// Package liveness ends TCP connections to machines that do not answer any more:
// those that lost their power, their network, or the route between the two ends.
//
// What it looks at is the other kernel, never the other process. A process that
// is stopped or busy leaves its kernel to acknowledge what comes in, and how long
// one may be silent is for the roles to say (heartbeat.timeout). That is why the
// kernel's own TCP_USER_TIMEOUT (RFC 5482) is not used: on Linux since 5.11 it also
// ends a connection whose other end acknowledges every probe and has only no room
// for more, as a stopped process soon has none.
//
// A watched connection costs one timer, which runs only while something is
// written, and no goroutine. The package imports nothing of ours.
package liveness

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// errUnreachable says that the other machine has not acknowledged for too long
// what was sent to it.
var errUnreachable = errors.New("the other machine does not answer")

// checks is how often a connection is looked at within the time after which it is
// lost, and so by which part of that time the loss may come late.
const checks = 8

// questions is how often in a row a kernel asks for room at the other end and gets no
// answer, if the other machine is gone. It asks ever more rarely, every two minutes at
// last (RFC 9293, 3.8.6.1), and one packet that is lost must not end a connection. Linux
// even leaves a question unanswered that comes within half a second of the one before
// (net.ipv4.tcp_invalid_ratelimit).
const questions = 3

// After is the time after which a machine is lost that answers none of so many
// heartbeats: heartbeat.rpc-failure-threshold times heartbeat.interval. Zero, which
// is never, where the threshold is not positive.
func After(interval time.Duration, threshold int) time.Duration {
	return interval * time.Duration(max(threshold, 0))
}

// keepAlive probes a connection on which nothing is sent: the kernel ends it when
// its other end has not answered for after. Zero after: as the system does it.
func keepAlive(after time.Duration) net.KeepAliveConfig {
	if after <= 0 {
		return net.KeepAliveConfig{Enable: true}
	}
	// The kernel counts whole seconds.
	idle := max((after / 2).Truncate(time.Second), time.Second)
	interval := max((after / checks).Truncate(time.Second), time.Second)
	return net.KeepAliveConfig{
		Enable: true, Idle: idle, Interval: interval,
		Count: max(int((after-idle+interval-1)/interval), 1),
	}
}

// Watch gives a connection that ends with errUnreachable once the other machine has been
// silent for the time after while something that was written to it is not acknowledged. The
// silence counts from the first such write, however long nothing had come in before it, and
// starts anew with all that comes in. While the other end has no room, what is written waits
// here. The machine is then known to be gone once that time is over and three questions for room
// in a row have had no answer. Where it had room five seconds before, that is within some 25 s, or
// within nine eighths of after if that is more; it is later the longer there was none. A
// connection that is not TCP, one of a system that does not tell, and one with zero after are
// given back as they are.
func Watch(conn net.Conn, after time.Duration) net.Conn {
	tcp, is := conn.(*net.TCPConn)
	if !is || after <= 0 {
		return conn
	}
	// A connection that has ended already says so when it is used.
	_ = tcp.SetKeepAliveConfig(keepAlive(after))
	look := lookAt(tcp)
	if look == nil {
		return conn
	}
	return watch(tcp, after, look)
}

// Listener is a listener whose connections are watched.
type Listener struct {
	net.Listener
	After time.Duration // as Watch has it
}

// Accept gives the next connection.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Watch(conn, l.After), nil
}

// sight is what this machine's kernel knows of the other end of a connection.
type sight struct {
	// unsent says that something waits for room at the other end, unacknowledged that
	// something was sent and is not answered for.
	unsent, unacknowledged bool
	unanswered             int           // questions for room in a row
	silence                time.Duration // since anything came in
}

// watched is a connection that is looked at while something is under way to its
// other end.
type watched struct {
	net.Conn
	after time.Duration
	look  func() (sight, error)
	reset func() // has Close forget what is not sent

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	looking bool      // the timer runs
	closed  bool      // nothing starts it any more
	written bool      // since the last look
	since   time.Time // no earlier than the last sign of life: from when on the silence counts
	lost    error
}

func watch(conn net.Conn, after time.Duration, look func() (sight, error)) *watched {
	w := &watched{Conn: conn, after: after, look: look}
	if tcp, is := conn.(*net.TCPConn); is {
		w.reset = func() { _ = tcp.SetLinger(0) } // else the kernel would go on trying for minutes
	}
	return w
}

// Write has the connection looked at until what it writes is acknowledged.
func (w *watched) Write(p []byte) (int, error) {
	w.wrote()
	n, err := w.Conn.Write(p)
	return n, w.explain(err)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	return n, w.explain(err)
}

// NetConn is the connection that is watched; doorstep looks for the system's.
func (w *watched) NetConn() net.Conn { return w.Conn }

// Close ends the connection and the looking at it.
func (w *watched) Close() error {
	w.mu.Lock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	return w.Conn.Close()
}

// explain tells why the connection was ended from here.
func (w *watched) explain(err error) error {
	if err == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost != nil {
		return w.lost
	}
	return err
}

func (w *watched) wrote() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = true
	if w.looking || w.closed {
		return
	}
	w.looking, w.since = true, time.Now()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.after/checks, w.check)
	} else {
		w.timer.Reset(w.after / checks)
	}
}

// check is the timer's.
func (w *watched) check() {
	w.mu.Lock()
	w.written = false
	w.mu.Unlock()
	seen, err := w.look()
	now := time.Now()

	w.mu.Lock()
	defer w.mu.Unlock()
	heard := now.Add(-seen.silence)
	switch {
	case err != nil || w.closed:
		return
	case !seen.unacknowledged && !seen.unsent && !w.written: // all has arrived
		w.looking = false
		return
	case !seen.unacknowledged && seen.unanswered == 0:
		w.since = now
	case heard.After(w.since):
		w.since = heard
	}
	inVain := seen.unacknowledged || seen.unanswered >= questions
	if silent := now.Sub(w.since); inVain && silent >= w.after {
		w.lose(silent)
		return
	}
	w.timer.Reset(w.after / checks)
}

func (w *watched) lose(silent time.Duration) {
	w.closed = true
	w.lost = fmt.Errorf("%w: %s has acknowledged no data for %s",
		errUnreachable, w.RemoteAddr(), silent.Round(time.Second))
	if w.reset != nil {
		w.reset()
	}
	w.Conn.Close()
}
