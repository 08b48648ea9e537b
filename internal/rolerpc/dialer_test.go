package rolerpc

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// dials counts the connections to each address: those that were dialed, and those that are open.
type dials struct {
	mu           sync.Mutex
	dialed, open map[string]int
	changed      chan struct{}
	hold         chan struct{} // unless nil, a dial waits for it, or for the end of its context
}

func newDials() *dials {
	return &dials{dialed: make(map[string]int), open: make(map[string]int), changed: make(chan struct{}, 64)}
}

func (c *dials) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.count(c.dialed, address, 1)
	if c.hold != nil {
		select {
		case <-c.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.count(c.open, address, 1)
	var once sync.Once
	return &dialedConn{conn, func() { once.Do(func() { c.count(c.open, address, -1) }) }}, nil
}

func (c *dials) count(what map[string]int, address string, n int) {
	c.mu.Lock()
	what[address] += n
	c.mu.Unlock()
	c.changed <- struct{}{}
}

func (c *dials) now(what map[string]int, address string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return what[address]
}

// await waits until an address has this number of open connections.
func (c *dials) await(t *testing.T, address string, want int) {
	t.Helper()
	for c.now(c.open, address) != want {
		select {
		case <-c.changed:
		case <-t.Context().Done():
			t.Fatalf("%d connections to %s are open, want %d", c.now(c.open, address), address, want)
		}
	}
}

type dialedConn struct {
	net.Conn

	closed func()
}

func (c *dialedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// TestADialerFollowsTheLeader would catch a stream that goes to an earlier master, a second connection to one master,
// and connections to masters that are gone, which stay until the worker ends.
func TestADialerFollowsTheLeader(t *testing.T) {
	t.Parallel()
	certificates, connections := newCluster(t), newDials()
	var accepted [2]atomic.Int32
	var addresses [2]string
	for i := range addresses {
		accept := func(*Stream) (Handler, error) {
			accepted[i].Add(1)
			return newRecorder(), nil
		}
		var mux Mux
		mux.Handle("resourcemanager", accept)
		mux.Handle("jobmaster/", accept)
		addresses[i] = serve(t, NewServer(certificates.server(t), &mux))
	}
	config := certificates.client(t)
	config.Dial = connections.dial
	dialer := NewDialer(config)
	open := func(i int, target string) (*Stream, *recorder) {
		t.Helper()
		own := newRecorder()
		s, err := dialer.Open(t.Context(), addresses[i], target, own)
		if err != nil {
			t.Fatal(err)
		}
		return s, own
	}
	rm, rmEnd := open(0, "resourcemanager")
	jm, jmEnd := open(0, "jobmaster/j1")
	open(1, "resourcemanager")
	if first, second := accepted[0].Load(), accepted[1].Load(); first != 2 || second != 1 {
		t.Errorf("%d streams reach the first master, and %d the second one", first, second)
	}
	rm.Close("another leads")
	<-rmEnd.closed
	if n := connections.now(connections.open, addresses[0]); n != 1 {
		t.Errorf("%d connections to the first master while a stream is open, want 1", n)
	}
	jm.Close("another leads")
	<-jmEnd.closed
	connections.await(t, addresses[0], 0)
	_, end := open(1, "jobmaster/j1")
	if n := connections.now(connections.dialed, addresses[1]); n != 1 {
		t.Errorf("the second master is dialed %d times, want once", n)
	}
	dialer.Close()
	<-end.closed
	connections.await(t, addresses[1], 0)
	if _, err := dialer.Open(t.Context(), addresses[1], "resourcemanager", newRecorder()); !errors.Is(err, errConnClosed) {
		t.Errorf("a closed Dialer opens a stream: %v", err)
	}
}

// TestADialerGoesOnConnecting would catch a worker that loses its place in a master's queue with each attempt, and a
// connection that goes on to a master that is gone.
func TestADialerGoesOnConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := newDials()
		connections.hold = make(chan struct{})
		config := newCluster(t).client(t)
		config.Dial = connections.dial
		dialer := NewDialer(config)
		defer dialer.Close()
		try := func(address string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := dialer.Open(ctx, address, "resourcemanager", newRecorder()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("an attempt ends with %v", err)
			}
		}
		for range 3 {
			try("am1:1")
		}
		if n := connections.now(connections.dialed, "am1:1"); n != 1 {
			t.Errorf("three attempts dial %d times, want once", n)
		}
		try("am2:1")
		dialer.mu.Lock()
		if len(dialer.conns) != 1 {
			t.Errorf("%d connections are kept without streams, want that to the latest master", len(dialer.conns))
		}
		dialer.mu.Unlock()
	})
}
