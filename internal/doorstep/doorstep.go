// Package doorstep bounds the resources that peers can use before the process knows them: the
// number of such peers (strangers), and the bytes that it reads from each. A peer that has proven
// its identity counts no more.
//
// Further connections wait in the system's queue. When all places are taken, the stranger that has
// kept the process waiting longest loses its place, if that was longer than an honest peer needs.
// So peers cannot keep others out by silence, by a byte now and then, by not taking their answers,
// or by connecting again at once. A stranger does not keep the process waiting while the process
// works for it, nor while bytes of it wait for a processor to read them. So a thousand honest peers
// that come at once all get in, even on a slow machine.
//
// A Listener starts no goroutines. The package imports nothing of this module.
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
	// Places is the number of strangers at a time, with the one that waits for a place.
	Places = 64
	// Bytes is the number of bytes that are read from a stranger. A TLS handshake with certificates
	// takes a quarter of it. The buffers of TLS grow with the bytes that are read, up to 256 KiB
	// for a certificate (crypto/tls).
	Bytes = 16 << 10
	// patience is how long a stranger may keep the process waiting in total, a few round trips,
	// while others wait for its place.
	patience = 250 * time.Millisecond
)

// errTooMuch says that a peer has sent more than Bytes before it proved its identity.
var errTooMuch = errors.New("peer sent too many bytes before it proved its identity")

// Listener is a listener whose connections are strangers until Prove. Its methods may be called
// from any goroutine.
type Listener struct {
	net.Listener
	closed chan struct{} // closed by Close
	// changed has a token, until it is drawn, after a stranger has left or has begun to keep the
	// process waiting. Its capacity is one: the receiver looks at all strangers.
	changed chan struct{}
	look    func(net.Conn) sight

	mu        sync.Mutex // guards strangers, and some fields of each: see its type
	strangers map[*stranger]struct{}
	shut      sync.Once
}

// New bounds the strangers at a listener.
func New(l net.Listener) *Listener {
	return &Listener{
		Listener: l, closed: make(chan struct{}), changed: make(chan struct{}, 1),
		look: look, strangers: make(map[*stranger]struct{}),
	}
}

// Accept returns the next connection when there is a place for it.
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

// Close closes the listener. Connections stay open.
func (l *Listener) Close() error {
	l.shut.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// seat waits for a place. It returns false if the listener is closed.
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

// trySeat gives s a place if one is free, or if another stranger can lose its place. Otherwise it
// says when to look again.
func (l *Listener) trySeat(s *stranger) (wait time.Duration, seated bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.strangers) < Places-1 {
		l.strangers[s] = struct{}{}
		return 0, true
	}
	for now := time.Now(); ; {
		slowest := l.slowest()
		if slowest == nil { // the process works for all of them; changed has a token later
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

// slowest returns the first stranger to lose its place, among those that keep the process waiting;
// or nil.
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

// Prove says that the peer of a connection has proven its identity. The connection is a Listener's,
// or one over it, such as TLS, that has the method NetConn. Prove ignores other connections.
func Prove(conn net.Conn) {
	if s := below(conn); s != nil {
		s.known.Store(true)
		s.door.leave(s)
	}
}

// ReaderBounds says that the reader of a connection now bounds what it reads from a stranger, as
// net/http does with headers. The stranger keeps its place.
func ReaderBounds(conn net.Conn) {
	if s := below(conn); s != nil {
		s.door.mu.Lock()
		defer s.door.mu.Unlock()
		s.unbounded = true
	}
}

// BeginWork says that the process works for the peer of a connection, which has sent its request. A
// read of the connection meanwhile, such as net/http's to notice its end, does not count as waiting
// for the peer. Only EndWork, or a write to the peer, ends that. The caller must not first wait for
// other peers: they could thereby hold all places.
func BeginWork(conn net.Conn) {
	if s := below(conn); s != nil {
		s.door.mu.Lock()
		defer s.door.mu.Unlock()
		s.pause(true)
		s.works = true
	}
}

// EndWork says that the process waits for the peer again.
func EndWork(conn net.Conn) {
	if s := below(conn); s != nil {
		s.door.mu.Lock()
		s.works = false
		s.wait()
		s.door.mu.Unlock()
		s.door.signal()
	}
}

// below returns the stranger below other layers, or nil.
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

// sight is what the system knows about data from a peer.
type sight struct {
	unread bool      // data waits to be read
	heard  time.Time // when data last came, within 10 ms; zero: never, or unknown
}

// stranger is a connection. Its peer may have proven its identity since.
type stranger struct {
	net.Conn
	door  *Listener
	known atomic.Bool

	// Guarded by the door's mutex:
	waits  int           // reads and writes that run
	writes int           // of these
	works  bool          // the process works for it, so it does not keep the process waiting
	since  time.Time     // since when it keeps the process waiting; zero: it does not
	kept   time.Duration // how long it has kept the process waiting before since
	said   bool          // it has sent data after since, as a look has shown
	spared time.Time     // no look before this time
	read   int           // bytes read
	// unbounded says that the reader bounds the bytes (ReaderBounds).
	unbounded bool
}

// due returns when it may lose its place, unless a look then shows that it waits for the process.
func (s *stranger) due() time.Time {
	due := s.since.Add(patience - s.kept)
	if due.Before(s.spared) {
		return s.spared
	}
	return due
}

// Read reads no more than Bytes from a stranger.
func (s *stranger) Read(p []byte) (int, error) {
	if s.known.Load() || len(p) == 0 {
		return s.Conn.Read(p)
	}
	left := s.await(0)
	if left <= 0 { // less than 0 after concurrent reads
		s.served(0, 0)
		s.Close()
		return 0, fmt.Errorf("read %d bytes from %s: %w", Bytes, s.RemoteAddr(), errTooMuch)
	}
	n, err := s.Conn.Read(p[:min(left, len(p))])
	s.served(n, 0)
	return n, err
}

// Write counts as waiting too, if a stranger does not take its answer.
func (s *stranger) Write(p []byte) (int, error) {
	if s.known.Load() {
		return s.Conn.Write(p)
	}
	s.await(1)
	n, err := s.Conn.Write(p)
	s.served(0, 1)
	return n, err
}

// await begins to wait for the peer, with 0 or 1 writes. It returns how many more bytes may be read
// from it.
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

// served ends the wait of await, after so many bytes were read.
func (s *stranger) served(read, writes int) {
	s.door.mu.Lock()
	defer s.door.mu.Unlock()
	s.read += read
	if s.waits--; s.waits == 0 {
		s.pause(read > 0)
	}
	s.writes -= writes
}

// wait starts the peer's clock, if the process waits for it.
func (s *stranger) wait() {
	if s.since.IsZero() && s.waits > 0 && !s.works {
		s.since = time.Now()
	}
}

// pause stops the peer's clock.
func (s *stranger) pause(read bool) {
	if !s.since.IsZero() {
		s.charge(time.Now(), read)
		s.since, s.said = time.Time{}, false
	}
}

// charge adds the time until now to the time that the peer has kept the process waiting, and
// returns the sum. After the peer has sent data, it waits for the process, which had no processor
// yet to read the data or to continue. That does not count, unless the process also waits for the
// peer to take data.
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

// Close closes the connection and then frees its place. The order matters: the connection counts
// while it is open.
func (s *stranger) Close() error {
	err := s.Conn.Close()
	if !s.known.Load() {
		s.door.leave(s)
	}
	return err
}
