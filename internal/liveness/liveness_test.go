package liveness

import (
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const after = 20 * time.Second

// machine is the other end as this machine's kernel sees it.
type machine struct {
	net.Conn // this end

	mu     sync.Mutex // guards what follows
	down   time.Time  // zero: it answers
	full   time.Time  // its window is closed; zero: it has room
	loses  int        // probes that the network loses before each one that arrives
	sent   bool       // data is on its way
	looked int
	err    error
}

// Write returns at once: the kernel takes the data.
func (m *machine) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = true
	return len(p), nil
}

func (m *machine) look() (sight, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looked++
	switch {
	case m.err != nil:
		return sight{}, m.err
	case !m.full.IsZero():
		unanswered, heard := m.asked()
		return sight{unsent: true, unanswered: unanswered, silence: time.Since(heard)}, nil
	case m.down.IsZero():
		m.sent = false
		return sight{}, nil
	}
	return sight{unacknowledged: m.sent, silence: time.Since(m.down)}, nil
}

// asked returns the number of probes since the last answer, and the time of that answer. The pauses
// between probes double, up to two minutes.
func (m *machine) asked() (unanswered int, heard time.Time) {
	heard = m.full
	next, pause := m.full, 200*time.Millisecond
	for n := 1; ; n++ {
		next, pause = next.Add(pause), min(2*pause, 2*time.Minute)
		switch {
		case next.After(time.Now()):
			return unanswered, heard
		case !m.down.IsZero() && !next.Before(m.down), n%(m.loses+1) != 0:
			unanswered++
		default:
			unanswered, heard = 0, next
		}
	}
}

func (m *machine) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *machine) looks() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looked
}

// inBubble runs a test with a connection to such a machine under a simulated clock.
func inBubble(t *testing.T, test func(t *testing.T, m *machine, conn *watched)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		m := &machine{Conn: near}
		conn := watch(m, after, m.look)
		defer conn.Close()
		test(t, m, conn)
	})
}

func write(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Write([]byte("a heartbeat")); err != nil {
		t.Fatal(err)
	}
}

// lost waits for the end of a connection and returns the time that it took.
func lost(t *testing.T, conn net.Conn) time.Duration {
	t.Helper()
	begin := time.Now()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, errUnreachable) {
		t.Fatalf("read ends with %v, want ErrUnreachable", err)
	}
	return time.Since(begin)
}

// TestAMachineThatDoesNotAnswerIsLost would catch a wait for a peer without power as long as the
// kernel retransmits, a quarter of an hour.
func TestAMachineThatDoesNotAnswerIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, m *machine, conn *watched) {
		m.change(func() { m.down = time.Now() })
		write(t, conn)
		if got := lost(t, conn); got < after || got > after+after/checks {
			t.Errorf("lost after %s, want %s", got, after)
		}
	})
}

// TestSilenceCountsFromTheLastSignOfLife would catch a connection that is cut because it was idle
// before, or because data is on its way at each check.
func TestSilenceCountsFromTheLastSignOfLife(t *testing.T) {
	inBubble(t, func(t *testing.T, m *machine, conn *watched) {
		time.Sleep(time.Hour) // the connection is idle
		for range 100 {
			write(t, conn)
			m.change(func() { m.down = time.Now() })
			time.Sleep(after - time.Second) // the machine does not answer
			m.change(func() { m.down = time.Time{} })
			time.Sleep(after / checks)
		}
		write(t, conn)
		m.change(func() { m.down = time.Now() })
		if got := lost(t, conn); got < after || got > after+after/checks {
			t.Errorf("lost after %s, want %s", got, after)
		}
	})
}

// TestAStoppedProcessIsNotLost would catch the behaviour of TCP_USER_TIMEOUT: the end of a
// connection to a process that does not read, although its kernel answers.
func TestAStoppedProcessIsNotLost(t *testing.T) {
	inBubble(t, func(t *testing.T, m *machine, conn *watched) {
		m.change(func() { m.full = time.Now() })
		write(t, conn)
		time.Sleep(2 * time.Hour)
		write(t, conn) // there is still room
		m.change(func() { m.full, m.down = time.Time{}, time.Now() })
		if got := lost(t, conn); got < after || got > after+2*after/checks {
			t.Errorf("lost after %s once the machine is gone, want %s", got, after)
		}
	})
}

// TestAMachineThatDiesWithoutRoomIsLost would catch a connection that never ends because no data
// could be acknowledged when the machine died.
func TestAMachineThatDiesWithoutRoomIsLost(t *testing.T) {
	for closed, latest := range map[time.Duration]time.Duration{
		0:                after,
		5 * time.Second:  after + time.Second,
		20 * time.Second: 90 * time.Second,
		2 * time.Hour:    6 * time.Minute,
	} {
		t.Run(closed.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, m *machine, conn *watched) {
				m.change(func() { m.full = time.Now() })
				write(t, conn)
				time.Sleep(closed)
				m.change(func() { m.down = time.Now() })
				if got := lost(t, conn); got < after-after/checks || got > latest+2*after/checks {
					t.Errorf("lost after %s, want %s", got, latest)
				}
			})
		})
	}
}

// TestOneAnswerInThreeIsEnough would catch a connection that ends after one lost packet: a kernel
// that waits long for room sends probes only every two minutes.
func TestOneAnswerInThreeIsEnough(t *testing.T) {
	inBubble(t, func(t *testing.T, m *machine, conn *watched) {
		m.change(func() { m.full, m.loses = time.Now(), 2 })
		write(t, conn)
		time.Sleep(2 * time.Hour)
		m.change(func() { m.full = time.Time{} })
		time.Sleep(time.Hour)
		conn.mu.Lock()
		defer conn.mu.Unlock()
		if conn.lost != nil || conn.looking {
			t.Errorf("the connection was ended: %v, or is still looked at: %t", conn.lost, conn.looking)
		}
	})
}

// TestNobodyLooksAtAnIdleConnection would catch endless checks of ten thousand idle connections.
func TestNobodyLooksAtAnIdleConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, m *machine, conn *watched) {
		for range 3 {
			write(t, conn)
			time.Sleep(time.Hour)
		}
		if got := m.looks(); got > 6 {
			t.Errorf("%d looks after three writes", got)
		}
	})
}

// TestAClosedConnectionIsLeftAlone would catch a timer that never stops.
func TestAClosedConnectionIsLeftAlone(t *testing.T) {
	for name, end := range map[string]func(m *machine, conn *watched){
		"closed":     func(_ *machine, conn *watched) { conn.Close() },
		"found gone": func(m *machine, _ *watched) { m.change(func() { m.err = net.ErrClosed }) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, m *machine, conn *watched) {
				m.change(func() { m.down = time.Now() })
				write(t, conn)
				end(m, conn)
				time.Sleep(2 * time.Hour)
				conn.Close()
				if _, err := conn.Read(nil); errors.Is(err, errUnreachable) {
					t.Error("a connection that has ended is told as unreachable")
				}
				if got := m.looks(); got > 1 {
					t.Errorf("%d looks at a connection that has ended", got)
				}
			})
		})
	}
}

// TestIdleConnectionsAreProbedInTime would catch probes that take longer than the time after which
// a machine is lost, apart from the kernel's rounding to seconds.
func TestIdleConnectionsAreProbedInTime(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{time.Second, 2 * time.Second, 3500 * time.Millisecond, after, time.Minute, time.Hour} {
		c := keepAlive(after)
		if got := c.Idle + time.Duration(c.Count)*c.Interval; got < after || got > after+after/checks+2*time.Second {
			t.Errorf("%s: the kernel ends a connection after %s: %+v", after, got, c)
		}
	}
	if c := keepAlive(0); !c.Enable || c.Idle != 0 {
		t.Errorf("without a time the system's own counts: %+v", c)
	}
}

// TestOthersAreGivenBackAsTheyAre would catch a watched connection without a kernel.
func TestOthersAreGivenBackAsTheyAre(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	if got := Watch(near, after); got != near {
		t.Errorf("a pipe became %T", got)
	}
	tcp := new(net.TCPConn)
	if got := Watch(tcp, 0); got != net.Conn(tcp) {
		t.Errorf("without a time a connection became %T", got)
	}
}
