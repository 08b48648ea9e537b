// Package doorstep bounds what those can take of a process whom it does not know
// yet: how many of them there are at a time, and how much is read of each. Whoever
// has proved who he is leaves the doorstep, and counts no more.
//
// The next ones wait in the system's queue of connections. When all places are
// taken, the stranger goes who has kept the process waiting longest, if that was
// for longer than anybody needs who knows what to say: so that silent ones, those
// who say a byte now and then, those who do not take their answer, and those who come
// again as soon as they were sent away keep nobody out. One is not kept waiting by a
// peer for which it works, nor by one that has said something and waits for a processor
// to have it read. So a thousand honest peers that come at once all get in, however slow
// the machine is.
//
// A Listener starts no goroutines. The package imports nothing of ours.
package doorstep

import (
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Places is the number of strangers at a time, the one who knocks among them.
	Places = 64
	// Bytes is what is read of a stranger: a TLS handshake with certificates takes a
	// quarter of that. The buffers of TLS grow with what is read, up to 256 KiB for a
	// certificate (crypto/tls).
	Bytes = 16 << 10
	// patience is how long a stranger may keep the process waiting in all while others
	// wait for his place: a few round trips.
	patience = 250 * time.Millisecond
)

// errTooMuch says that a peer has sent more than Bytes without saying who it is.
var errTooMuch = errors.New("peer sent too many bytes before it proved its identity")

// Listener is a listener whose connections are strangers until Prove. Its methods may
// be called from any goroutine.
type Listener struct {
	net.Listener
	closed chan struct{} // closed by Close
	// changed has a token when a stranger has left, or begun to keep the process
	// waiting, since it was last drawn. Capacity one: who draws it looks at all.
	changed chan struct{}
	look    func(net.Conn) sight

	mu        sync.Mutex // guards strangers, and of each what its type says
	strangers map[*stranger]struct{}
	shut      sync.Once
}

// New bounds the strangers at a listener's door.
func New(l net.Listener) *Listener {
	return &Listener{
		Listener: l, closed: make(chan struct{}), changed: make(chan struct{}, 1),
		look: look, strangers: make(map[*stranger]struct{}),
	}
}

// Accept gives the next connection, once there is a place for it.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s := &stranger{Conn: conn, door: l}
	if !l.seat(s) {
		conn.Close()
		return nil, net.ErrClosed
	}
	return s, nil
}

// Close closes the listener. Connections stay.
func (l *Listener) Close() error {
	l.shut.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// seat waits for a place; false when the listener is closed.
func (l *Listener) seat(s *stranger) bool {
	for {
		wait, seated := l.trySeat(s)
		if seated {
			return true
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-l.changed:
		case <-l.closed:
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

// trySeat gives s a place if there is one, or if somebody can be sent away for it;
// else it tells when to look again.
func (l *Listener) trySeat(s *stranger) (wait time.Duration, seated bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.strangers) < Places-1 {
		l.strangers[s] = struct{}{}
		return 0, true
	}
	for now := time.Now(); ; {
		slowest := l.slowest()
		if slowest == nil { // we work for all of them; changed tells
			return patience, false
		}
		if left := slowest.due().Sub(now); left > 0 {
			return left, false
		}
		if slowest.charge(now, false) < patience {
			slowest.spared = now.Add(patience / 10)
			continue
		}
		delete(l.strangers, slowest)
		slowest.Conn.Close()
		l.strangers[s] = struct{}{}
		return 0, true
	}
}

// slowest is the one of the strangers who keep the process waiting that may be sent away
// first; or nil.
func (l *Listener) slowest() (slowest *stranger) {
	for other := range l.strangers {
		if !other.since.IsZero() && (slowest == nil || other.due().Before(slowest.due())) {
			slowest = other
		}
	}
	return slowest
}

// leave frees a stranger's place.
func (l *Listener) leave(s *stranger) {
	l.mu.Lock()
	delete(l.strangers, s)
	l.mu.Unlock()
	l.signal()
}

func (l *Listener) signal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Prove says that the peer of a connection is known now. The connection is one of a
// Listener's, or what has put TLS or something else over it and tells what is below
// (NetConn); Prove leaves others alone.
func Prove(conn net.Conn) {
	if s := below(conn); s != nil {
		s.known.Store(true)
		s.door.leave(s)
	}
}

// ReaderBounds says that who reads a connection from now on bounds by itself what it
// takes of a stranger, as net/http does with headers. The stranger keeps his place.
func ReaderBounds(conn net.Conn) {
	if s := below(conn); s != nil {
		s.door.mu.Lock()
		defer s.door.mu.Unlock()
		s.unbounded = true
	}
}

// BeginWork says that the process works for the peer of a connection, who has said what he wants:
// a read of the connection meanwhile, such as net/http's to learn of its end, does not wait for the
// peer. Only EndWork, or something that is said to the peer, ends that. The caller must not wait
// for other peers before: they could hold all places by it.
func BeginWork(conn net.Conn) {
	if s := below(conn); s != nil {
		s.door.mu.Lock()
		defer s.door.mu.Unlock()
		s.pause(true)
		s.works = true
	}
}

// EndWork says that the process waits again for the peer to say something.
func EndWork(conn net.Conn) {
	if s := below(conn); s != nil {
		s.door.mu.Lock()
		s.works = false
		s.wait()
		s.door.mu.Unlock()
		s.door.signal()
	}
}

// below finds the stranger below what was put over him, or nil.
func below(conn net.Conn) *stranger {
	for {
		switch c := conn.(type) {
		case *stranger:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// sight is what the system knows of what a peer says.
type sight struct {
	unread bool      // something waits to be read
	heard  time.Time // when something came, the last time, within 10 ms; zero: never, or it does not know
}

// stranger is a connection, of somebody who may be known by now.
type stranger struct {
	net.Conn
	door  *Listener
	known atomic.Bool

	// Guarded by the door's mutex:
	waits  int           // reads and writes that have begun
	writes int           // of these
	works  bool          // we work for it, so that it keeps nobody waiting
	since  time.Time     // from when on it keeps us waiting; zero while it does not
	kept   time.Duration // waiting, before that
	said   bool          // something since then, as somebody has seen who looked
	spared time.Time     // until when nobody looks again
	read   int           // bytes
	// unbounded says that the bytes are another's to bound.
	unbounded bool
}

// due is when it may be sent away, unless it turns out then that it waits for us.
func (s *stranger) due() time.Time {
	due := s.since.Add(patience - s.kept)
	if due.Before(s.spared) {
		return s.spared
	}
	return due
}

// Read reads no more than a stranger may say.
func (s *stranger) Read(p []byte) (int, error) {
	if s.known.Load() || len(p) == 0 {
		return s.Conn.Read(p)
	}
	left := s.await(0)
	if left <= 0 { // or two have read at once
		s.served(0, 0)
		s.Close()
		return 0, fmt.Errorf("read %d bytes from %s: %w", Bytes, s.RemoteAddr(), errTooMuch)
	}
	n, err := s.Conn.Read(p[:min(left, len(p))])
	s.served(n, 0)
	return n, err
}

// Write keeps waiting, too, where a stranger does not take what he has asked for.
func (s *stranger) Write(p []byte) (int, error) {
	if s.known.Load() {
		return s.Conn.Write(p)
	}
	s.await(1)
	n, err := s.Conn.Write(p)
	s.served(0, 1)
	return n, err
}

// await begins to wait for the peer, in so many writes, 0 or 1, and gives how many bytes
// it may say.
func (s *stranger) await(writes int) (left int) {
	s.door.mu.Lock()
	s.waits++
	s.writes += writes
	s.works = s.works && writes == 0
	s.wait()
	if left = Bytes - s.read; s.unbounded {
		left = math.MaxInt
	}
	s.door.mu.Unlock()
	s.door.signal()
	return left
}

// served ends that, after so many bytes were read.
func (s *stranger) served(read, writes int) {
	s.door.mu.Lock()
	defer s.door.mu.Unlock()
	s.read += read
	if s.waits--; s.waits == 0 {
		s.pause(read > 0)
	}
	s.writes -= writes
}

// wait has it keep us waiting from now on, if we wait for it.
func (s *stranger) wait() {
	if s.since.IsZero() && s.waits > 0 && !s.works {
		s.since = time.Now()
	}
}

// pause ends that.
func (s *stranger) pause(read bool) {
	if !s.since.IsZero() {
		s.charge(time.Now(), read)
		s.since, s.said = time.Time{}, false
	}
}

// charge adds up how long it has kept us waiting until now, and gives that. Once it has said
// something it waits for us, who had no processor to read that at once, or to go on when it
// was read; unless we wait for it to take what we say, too.
func (s *stranger) charge(now time.Time, read bool) time.Duration {
	if s.writes == 0 {
		seen := s.door.look(s.Conn)
		s.said = s.said || read || seen.unread
		if !seen.heard.IsZero() && (s.said || seen.heard.After(s.since)) {
			now = seen.heard
		}
	}
	if now.After(s.since) {
		s.kept, s.since = s.kept+now.Sub(s.since), now
	}
	return s.kept
}

// Close ends the connection, and then frees its place: until then the connection is open.
func (s *stranger) Close() error {
	err := s.Conn.Close()
	if !s.known.Load() {
		s.door.leave(s)
	}
	return err
}
