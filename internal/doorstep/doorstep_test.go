package doorstep

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// street is a listener without sockets, so that a bubble's clock continues while all goroutines
// wait. It counts what the process behind the door holds.
type street struct {
	knocking chan net.Conn // unbuffered: a peer waits until it is accepted
	closed   chan struct{}
	shut     sync.Once

	// busy is how long the process waits for a processor after a peer has sent data.
	busy time.Duration

	mu         sync.Mutex // guards what follows
	open, most int        // connections
	read       int        // bytes, of all
}

func (s *street) Accept() (net.Conn, error) {
	select {
	case conn := <-s.knocking:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open++
		s.most = max(s.most, s.open)
		return &visit{Conn: conn, street: s, said: time.Now()}, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *street) Close() error {
	s.shut.Do(func() { close(s.closed) })
	return nil
}

func (s *street) Addr() net.Addr { return &net.TCPAddr{} }

// visit is the process's end of a connection.
type visit struct {
	net.Conn
	street *street
	left   sync.Once

	mu     sync.Mutex // guards what follows
	unread bool       // data waits to be read
	said   time.Time  // the last data, or else the arrival
}

// Read also takes data that comes while the process waits for a processor, as far as there is room.
func (v *visit) Read(p []byte) (int, error) {
	n, err := v.Conn.Read(p)
	v.heard(n > 0)
	if n > 0 && v.street.busy > 0 {
		until := time.Now().Add(v.street.busy)
		_ = v.Conn.SetReadDeadline(until)
		for m := n; m > 0 && n < len(p); n += m {
			if m, _ = v.Conn.Read(p[n:]); m > 0 {
				v.heard(true)
			}
		}
		_ = v.Conn.SetReadDeadline(time.Time{})
		time.Sleep(time.Until(until))
	}
	v.mu.Lock()
	v.unread = false
	v.mu.Unlock()
	v.street.mu.Lock()
	defer v.street.mu.Unlock()
	v.street.read += n
	return n, err
}

func (v *visit) heard(something bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if something {
		v.unread, v.said = true, time.Now()
	}
}

func (v *visit) look() sight {
	v.mu.Lock()
	defer v.mu.Unlock()
	return sight{unread: v.unread, heard: v.said}
}

func (v *visit) Close() error {
	v.left.Do(func() {
		v.street.mu.Lock()
		defer v.street.mu.Unlock()
		v.street.open--
	})
	return v.Conn.Close()
}

// The password that proves an identity, in two parts. Between them the process answers, and works.
const (
	first, second = "who are you", "I am a friend"
	work          = 5 * time.Millisecond
)

// process accepts strangers that know the password, and keeps friends until they leave.
type process struct {
	*street
	door *Listener
	all  sync.WaitGroup
	ends <-chan struct{} // closed with the test
	work func(net.Conn)  // after a stranger has sent data
	// atEnd runs a function when the test ends, unless it is stopped.
	atEnd func(func()) (stop func() bool)
}

// open starts the process, which runs until the bubble ends.
func open(t *testing.T) *process {
	s := &street{knocking: make(chan net.Conn), closed: make(chan struct{})}
	ends, end := context.WithCancel(t.Context())
	p := &process{street: s, door: New(s), ends: ends.Done(), work: func(net.Conn) { time.Sleep(work) }, atEnd: func(do func()) func() bool { return context.AfterFunc(ends, do) }}
	p.door.look = func(conn net.Conn) sight { return conn.(*visit).look() }
	p.all.Go(func() {
		for {
			conn, err := p.door.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		p.door.Close()
		end()
		p.all.Wait()
	})
	return p
}

func (p *process) serve(conn net.Conn) {
	defer conn.Close()
	defer p.atEnd(func() { conn.Close() })()
	for _, word := range []string{first, second} {
		said := make([]byte, len(word))
		if _, err := io.ReadFull(conn, said); err != nil || string(said) != word {
			_, _ = io.Copy(io.Discard, conn) // as TLS buffers a certificate
			return
		}
		p.work(conn)
		if _, err := conn.Write([]byte("?")); err != nil {
			return
		}
	}
	Prove(conn)
	_, _ = io.Copy(io.Discard, conn)
}

// knock opens a connection and waits until the process has accepted it.
func (p *process) knock(t *testing.T) net.Conn {
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	select {
	case p.knocking <- far:
	case <-time.After(time.Hour):
		t.Error("nobody is accepted any more")
		near.Close()
	}
	return near
}

// enter proves an identity, with the time of a round trip between messages. It fails if the process
// ends the connection.
func enter(conn net.Conn, trip time.Duration) error {
	for _, word := range []string{first, second} {
		time.Sleep(trip)
		if _, err := io.WriteString(conn, word); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			return err
		}
	}
	return nil
}

// besiege fills the places three times over with strangers that come again as soon as they lose
// their places, until the bubble ends. Each calls say on every connection.
func (p *process) besiege(say func(conn net.Conn)) {
	for range 3 * Places {
		p.all.Go(func() {
			for {
				near, far := net.Pipe()
				select {
				case p.knocking <- far:
					say(near)
					_, _ = io.Copy(io.Discard, near)
					near.Close()
				case <-p.ends:
					near.Close()
					return
				}
			}
		})
	}
	synctest.Wait()
}

// silent is a stranger that sends nothing.
func silent(net.Conn) {}

// held returns the number of connections that the process holds, the largest such number, and the
// number of bytes that it has read.
func (s *street) held() (open, most, read int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.most, s.read
}

// TestStrangersHoldNoMoreThanTheirPlaces would catch an attacker that fills the memory of a master
// with half-sent certificates, on thousands of connections.
func TestStrangersHoldNoMoreThanTheirPlaces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	const many = 4000
	for name, attack := range map[string]func(conn net.Conn){
		"say nothing":   func(net.Conn) {},
		"stop half way": func(conn net.Conn) { _, _ = io.WriteString(conn, first[:4]) },
		"never come to an end": func(conn net.Conn) {
			for block := make([]byte, 1<<10); ; {
				if _, err := conn.Write(block); err != nil {
					return
				}
			}
		},
		"do not take their answer": func(conn net.Conn) {
			_, _ = io.WriteString(conn, first)
			time.Sleep(time.Hour)
		},
		"say a byte now and then": func(conn net.Conn) {
			for {
				time.Sleep(patience / 3)
				if _, err := conn.Write([]byte{'x'}); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := open(t)
				for range many {
					conn := p.knock(t)
					p.all.Go(func() { // ends with the connection
						attack(conn)
						_, _ = io.Copy(io.Discard, conn)
					})
				}
				begin := time.Now()
				if err := enter(p.knock(t), work); err != nil {
					t.Errorf("a friend who comes last is not let in: %v", err)
				}
				if took := time.Since(begin); took > 3*patience {
					t.Errorf("a friend who comes last is let in after %s", took)
				}
				_, most, read := p.held()
				if most > Places+1 { // with the friend, which no longer counts
					t.Errorf("%d connections were open at a time, %d at most should be", most, Places)
				}
				if read > (many+1)*Bytes {
					t.Errorf("%d bytes were read, %d of each at most should be", read, Bytes)
				}
			})
		})
	}
}

// TestAStrangerSaysNoMoreThanHeMay would catch one large read that exceeds the bound, and a refused
// stranger that stays within it.
func TestAStrangerSaysNoMoreThanHeMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &street{knocking: make(chan net.Conn), closed: make(chan struct{})}
		door := New(s)
		defer door.Close()
		near, far := net.Pipe()
		defer near.Close()
		go func() { s.knocking <- far }()
		conn, err := door.Accept()
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan int, 1)
		go func() {
			n, _ := near.Write(make([]byte, 1<<20))
			sent <- n
		}()
		n, err := io.Copy(io.Discard, conn)
		if n != Bytes || !errors.Is(err, errTooMuch) {
			t.Errorf("%d bytes were read, %v; want %d, ErrTooMuch", n, err, Bytes)
		}
		if n := <-sent; n != Bytes {
			t.Errorf("%d bytes were taken of the peer", n)
		}
	})
}

// TestWhomItsReaderBoundsKeepsHisPlace would catch headers that are cut although they may be
// longer, and a stranger that no longer counts after it has sent headers.
func TestWhomItsReaderBoundsKeepsHisPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &street{knocking: make(chan net.Conn), closed: make(chan struct{})}
		door := New(s)
		defer door.Close()
		near, far := net.Pipe()
		go func() { s.knocking <- far }()
		conn, err := door.Accept()
		if err != nil {
			t.Fatal(err)
		}
		ReaderBounds(conn)
		go func() {
			_, _ = near.Write(make([]byte, 4*Bytes))
			near.Close()
		}()
		if n, err := io.Copy(io.Discard, conn); n != 4*Bytes || err != nil {
			t.Errorf("%d bytes were read, %v; want all", n, err)
		}
		if len(door.strangers) != 1 {
			t.Errorf("%d strangers are counted, want the one", len(door.strangers))
		}
		conn.Close()
		if len(door.strangers) != 0 {
			t.Error("a stranger who has left is counted")
		}
	})
}

// TestWhoIsKnownCountsNoMore would catch a bound on the number of workers, of which a thousand come
// back at once from one address, and a bound on their data.
func TestWhoIsKnownCountsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := open(t)
		const workers = 1000
		entered := make(chan error, workers)
		for range workers {
			p.all.Go(func() {
				conn := p.knock(t)
				err := enter(conn, patience/10)
				if err == nil {
					_, err = conn.Write(make([]byte, 4*Bytes))
				}
				entered <- err
			})
		}
		for range workers {
			if err := <-entered; err != nil {
				t.Errorf("a worker is not let in: %v", err)
			}
		}
		if now, _, _ := p.held(); now != workers {
			t.Errorf("%d connections are open, want %d", now, workers)
		}
	})
}

// TestWhoComesAgainAndAgainKeepsNobodyOut would catch a successful attack from a worker's own
// address: three times as many silent connections as there are places, each opened again as soon as
// it ends. It would also catch a peer that loses its place while the process works for it.
func TestWhoComesAgainAndAgainKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := open(t)
		p.besiege(silent)
		for range 20 {
			begin := time.Now()
			conn := p.knock(t)
			if err := enter(conn, patience/5); err != nil {
				t.Fatalf("a friend is not let in: %v", err)
			}
			// Three times the places, each for the whole patience, and the friend's own messages.
			if took := time.Since(begin); took > 4*patience+time.Second {
				t.Errorf("a friend is let in after %s", took)
			}
		}
		if _, most, _ := p.held(); most > Places+20 {
			t.Errorf("%d connections were open at a time", most)
		}
	})
}

// TestABusyProcessBlamesNobodyForItsOwnDelay would catch an honest peer that loses its place on a
// host without free processors: it has sent its data, and the process takes longer than the
// patience to read it, at once or in total.
func TestABusyProcessBlamesNobodyForItsOwnDelay(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	for _, busy := range []time.Duration{patience * 3 / 4, patience * 7 / 2, 10 * time.Second} {
		t.Run(busy.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := open(t)
				p.busy = busy
				p.besiege(silent)
				for range 2 {
					if err := enter(p.knock(t), patience/5); err != nil {
						t.Fatalf("a friend is not let in: %v", err)
					}
				}
			})
		})
	}
}

// TestABusyProcessIsNotHeldByWhoTalksOn would catch strangers that hold all places of a busy
// process by a byte now and then, so that a byte is nearly always unread, or by such bytes while
// they do not take their answers.
func TestABusyProcessIsNotHeldByWhoTalksOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		say    func(conn net.Conn)
		unread bool // always
		each   time.Duration
	}{
		"on and on": {func(conn net.Conn) {
			for {
				time.Sleep(patience / 10)
				if _, err := conn.Write([]byte{'x'}); err != nil {
					return
				}
			}
		}, false, 2 * patience},
		"without a pause": {func(conn net.Conn) {
			for {
				time.Sleep(patience / 10)
				if _, err := conn.Write([]byte{'x'}); err != nil {
					return
				}
			}
		}, true, 2 * patience},
		"and does not listen": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, first)
			time.Sleep(time.Hour)
		}, true, 2 * patience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := open(t)
				p.door.look = func(conn net.Conn) sight {
					seen := conn.(*visit).look()
					seen.unread = seen.unread || test.unread
					return seen
				}
				p.busy = patience / 3
				p.besiege(test.say)
				begin := time.Now()
				if err := enter(p.knock(t), patience/5); err != nil {
					t.Fatalf("a friend is not let in: %v", err)
				}
				if took := time.Since(begin); took > 4*test.each {
					t.Errorf("a friend is let in after %s", took)
				}
			})
		})
	}
}

// TestNobodyKeepsAProcessWaitingThatWorksForHim would catch an honest peer that loses its place
// while the process works for it longer than the patience, and reads meanwhile. It would also catch
// a peer that never loses its place because the process worked for it once.
func TestNobodyKeepsAProcessWaitingThatWorksForHim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := open(t)
		p.work = func(conn net.Conn) {
			BeginWork(conn)
			var reads sync.WaitGroup
			reads.Go(func() { _, _ = conn.Read(make([]byte, 1)) })
			time.Sleep(4 * patience)
			_ = conn.SetReadDeadline(time.Now())
			reads.Wait()
			_ = conn.SetReadDeadline(time.Time{})
		}
		p.besiege(func(conn net.Conn) {
			_, _ = io.WriteString(conn, first)
			_, _ = io.ReadFull(conn, make([]byte, 1))
		})
		for range 5 {
			begin := time.Now()
			if err := enter(p.knock(t), patience/5); err != nil {
				t.Fatalf("a friend is not let in: %v", err)
			}
			if took := time.Since(begin); took > 10*4*patience {
				t.Errorf("a friend is let in after %s", took)
			}
		}
	})
}

// TestWhoIsWaitedForAgainMakesRoom would catch strangers that hold their places forever because the
// process once worked for them, although it waits for them again.
func TestWhoIsWaitedForAgainMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &street{knocking: make(chan net.Conn), closed: make(chan struct{})}
		door := New(s)
		defer door.Close()
		accepted := make(chan net.Conn, Places)
		go func() { // ends with the door
			for conn, err := door.Accept(); err == nil; conn, err = door.Accept() {
				accepted <- conn
				BeginWork(conn)
				go func() { _, _ = conn.Read(make([]byte, 1)) }() // ends with the connection
			}
		}()
		for range Places {
			near, far := net.Pipe()
			t.Cleanup(func() { near.Close() })
			s.knocking <- far
		}
		time.Sleep(10 * patience)
		if len(accepted) != Places-1 {
			t.Fatalf("%d are let in while the process works for all of them, want %d", len(accepted), Places-1)
		}
		EndWork(<-accepted)
		time.Sleep(2 * patience)
		if len(accepted) != Places-1 {
			t.Error("nobody makes room though the process waits for one of them")
		}
	})
}

// lingering is a connection that takes time to close, as a socket does while it is being read.
type lingering struct {
	net.Conn
	end chan struct{}
}

func (l *lingering) Close() error {
	<-l.end
	return l.Conn.Close()
}

// TestAPlaceIsFreeOnceItsConnectionIsClosed would catch more open connections than places: when one
// leaves or sends too much, the next is accepted before the first one is closed.
func TestAPlaceIsFreeOnceItsConnectionIsClosed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(conn net.Conn){
		"leaves":        func(conn net.Conn) { conn.Close() },
		"says too much": func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &street{knocking: make(chan net.Conn), closed: make(chan struct{})}
				door := New(s)
				defer door.Close()
				knock := func() *lingering {
					near, far := net.Pipe()
					t.Cleanup(func() { near.Close() })
					go func() { _, _ = near.Write(make([]byte, 2*Bytes)) }() // ends with the connection
					l := &lingering{far, make(chan struct{})}
					s.knocking <- l
					return l
				}
				accepted := make(chan net.Conn, Places)
				go func() { // ends with the door
					for conn, err := door.Accept(); err == nil; conn, err = door.Accept() {
						accepted <- conn
					}
				}()
				one := knock()
				leaves := <-accepted
				for range Places - 1 {
					knock()
				}
				synctest.Wait()
				if len(accepted) != Places-2 {
					t.Fatalf("%d strangers are let in, want %d", 1+len(accepted), Places-1)
				}
				go end(leaves) // ends with the connection
				synctest.Wait()
				if len(accepted) != Places-2 {
					t.Error("the next one is let in while who leaves is there yet")
				}
				close(one.end)
				synctest.Wait()
				if len(accepted) != Places-1 {
					t.Error("the next one is not let in though one has left")
				}
			})
		})
	}
}

// TestClosingEndsTheWaitForAPlace would catch a server that hangs when it stops while all places
// are taken.
func TestClosingEndsTheWaitForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := open(t)
		for range Places {
			p.knock(t)
		}
		synctest.Wait()
		p.door.Close()
		p.door.Close()
		synctest.Wait()
		if now, _, _ := p.held(); now != Places-1 {
			t.Errorf("%d connections are open, want %d without who waited", now, Places-1)
		}
	})
}
