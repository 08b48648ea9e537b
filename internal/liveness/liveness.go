// Package liveness ends TCP connections to machines that no longer answer because they have lost
// their power, their network, or the route between the two ends.
//
// It watches the other machine's kernel, and never the other process. If a process is stopped or
// busy, its kernel still acknowledges data, and the roles limit how long it may be silent
// (heartbeat.timeout). The package does not use TCP_USER_TIMEOUT (RFC 5482) for this reason: on
// Linux since 5.11 it also ends a connection whose other end acknowledges every probe but has no
// room for data. A stopped process soon has none.
//
// A watched connection costs one timer, which runs only after a write, and no goroutine. The
// package imports nothing of this module.
package liveness

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// errUnreachable says that the other machine has acknowledged no data for too long.
var errUnreachable = errors.New("the other machine does not answer")

// checks is the number of looks at a connection within the time after which it is lost. So the loss
// is noticed late by at most this part of that time.
const checks = 8

// questions is the number of unanswered window probes in a row that prove the other machine lost.
// The kernel sends probes, which ask for room, at growing intervals of up to two minutes (RFC 9293,
// 3.8.6.1). One lost packet must not end a connection. Linux even leaves a probe unanswered that
// comes within half a second of the one before (net.ipv4.tcp_invalid_ratelimit).
const questions = 3

// keepAlive returns the probes of a connection on which nothing is sent. The kernel ends the
// connection if the other end has not answered for after. With 0 the system's defaults apply.
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

// Watch returns a connection that ends with errUnreachable if the other machine is silent for the
// time after while written data is not acknowledged. The silence counts from the first such write.
// It starts again with everything that comes in.
//
// If the other end has no room, written data waits at this end. Then the machine is lost when that
// time is over and three probes for room in a row had no answer. If it had room five seconds
// before, that takes at most some 25 s, or nine eighths of after if that is more. The longer there
// was no room, the longer it takes.
//
// Watch returns conn itself if it is not TCP, if the system gives no information, and if after is
// 0.
func Watch(conn net.Conn, after time.Duration) net.Conn {
	tcp, is := conn.(*net.TCPConn)
	if !is || after <= 0 {
		return conn
	}
	// If the connection has ended, its next use returns the error.
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

// Accept returns the next connection.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Watch(conn, l.After), nil
}

// sight is what this machine's kernel knows about the other end of a connection.
type sight struct {
	// unsent says that data waits for room at the other end, unacknowledged that data was sent and
	// not acknowledged.
	unsent, unacknowledged bool
	unanswered             int           // probes for room in a row without an answer
	silence                time.Duration // since data or an acknowledgement last came in
}

// watched is a connection that is checked while data is on its way to the other end.
type watched struct {
	net.Conn
	after time.Duration
	look  func() (sight, error)
	reset func() // makes Close drop unsent data

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	looking bool      // the timer is running
	closed  bool      // the timer must not start again
	written bool      // there was a write since the last look
	since   time.Time // start of the silence, not before the last sign of life
	lost    error
}

func watch(conn net.Conn, after time.Duration, look func() (sight, error)) *watched {
	w := &watched{Conn: conn, after: after, look: look}
	if tcp, is := conn.(*net.TCPConn); is {
		w.reset = func() { _ = tcp.SetLinger(0) } // otherwise the kernel retries for minutes
	}
	return w
}

// Write starts the checks, which run until the data is acknowledged.
func (w *watched) Write(p []byte) (int, error) {
	w.wrote()
	n, err := w.Conn.Write(p)
	return n, w.explain(err)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	return n, w.explain(err)
}

// NetConn returns the connection below. doorstep needs the system's connection.
func (w *watched) NetConn() net.Conn { return w.Conn }

// Close ends the connection and its checks.
func (w *watched) Close() error {
	w.mu.Lock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	return w.Conn.Close()
}

// explain returns the cause if this end has ended the connection, and otherwise err.
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

// check runs when the timer fires.
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
	case !seen.unacknowledged && !seen.unsent && !w.written: // all data has arrived
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
