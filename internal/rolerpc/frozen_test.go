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

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAStoppedProcessIsForTheRolesToJudge would catch a transport that ends the connection to a
// silent process, before or after any heartbeat.timeout. gRPC's pings once did so after 9 s, and
// would by default after two hours.
func TestAStoppedProcessIsForTheRolesToJudge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCable()
		role, worker := newAccepting(""), newRecorder()
		near := c.open(t, role, worker)
		far := <-role.streams
		ends := map[string]*recorder{"worker": worker, "role": role.recorder}

		c.stop()
		for range 100 { // almost three hours
			if !near.Send(msg.Heartbeat{}) || !far.Send(msg.Heartbeat{}) {
				t.Fatal("a stream to a stopped process has ended")
			}
			time.Sleep(100 * time.Second)
		}
		c.resume()
		synctest.Wait()
		for name, r := range ends {
			if len(r.messages()) == 0 {
				t.Errorf("%s hears nothing once the other goes on", name)
			}
			select {
			case err := <-r.closed:
				t.Errorf("%s was told %v", name, err)
			default:
			}
		}
	})
}

// TestAPeerThatIsNotReadFillsLittle would catch a fast worker whose messages fill the memory of an ApplicationMaster
// that has no time to read them. gRPC's own choice would be to buffer more for it, the faster it sends.
func TestAPeerThatIsNotReadFillsLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCable()
		c.read = new(atomic.Int64)
		role, worker := newAccepting(""), newRecorder()
		near := c.open(t, role, worker)
		send := func(n int) {
			for range n {
				near.Send(msg.CollectBatch{Records: make([]byte, 16<<10)})
			}
			synctest.Wait()
		}
		for range 16 { // as fast as the role reads
			send(32)
		}
		role.block = make(chan struct{})
		send(1)
		before := c.read.Load()
		send(128)
		if got := c.read.Load() - before; got < window/2 || got > 2*window {
			t.Errorf("%d bytes were read of a stream whose role reads none, want about %d", got, window)
		}
		close(role.block)
	})
}

// counting is a connection that counts what is read from it.
type counting struct {
	net.Conn
	read *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// cable is a connection without sockets between a server and a client in a bubble. While it is
// stopped, it accepts data, as kernels do, and delivers nothing.
type cable struct {
	connections chan net.Conn
	closed      chan struct{}
	read        *atomic.Int64 // counts the bytes that servers read, unless nil

	mu      sync.Mutex // guards stopped
	stopped chan struct{}
}

func newCable() *cable {
	stopped := make(chan struct{})
	close(stopped)
	return &cable{connections: make(chan net.Conn, 1), closed: make(chan struct{}), stopped: stopped}
}

func (c *cable) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = make(chan struct{})
}

func (c *cable) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.stopped)
}

// running returns a channel that is closed while bytes move.
func (c *cable) running() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

func (c *cable) Accept() (net.Conn, error) {
	select {
	case conn := <-c.connections:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

func (c *cable) Close() error {
	close(c.closed)
	return nil
}

func (c *cable) Addr() net.Addr { return &net.TCPAddr{} }

// open starts a server with the role and opens a stream to it. Both end with the test.
func (c *cable) open(t *testing.T, role *accepting, worker *recorder) *Stream {
	t.Helper()
	return open(t, c.connect(t, role), "resourcemanager", worker)
}

// connect starts a server with the role and returns a connection to it. Both end with the test.
func (c *cable) connect(t *testing.T, role *accepting) *Conn {
	t.Helper()
	certificates := newCluster(t)
	var mux Mux
	mux.Handle("resourcemanager", role.accept)
	server := NewServer(certificates.server(t), &mux)
	served := make(chan error, 1)
	go func() { served <- server.Serve(c) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	conn, err := newConn("am:1", certificates.client(t), func(context.Context) (net.Conn, error) {
		near, far := c.pair()
		if c.read != nil {
			far = counting{far, c.read}
		}
		c.connections <- far
		return near, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// pair makes the two ends of a connection.
func (c *cable) pair() (near, far net.Conn) {
	near, nearest := net.Pipe()
	farthest, far := net.Pipe()
	go c.move(nearest, farthest)
	go c.move(farthest, nearest)
	return near, far
}

// move copies data from one end to the other while both are open. It reads on while the cable is
// stopped.
func (c *cable) move(from, to net.Conn) {
	defer to.Close()
	blocks := make(chan []byte, 1<<16) // like a kernel's buffer, larger than all writes of a test
	go func() {
		defer close(blocks)
		for {
			block := make([]byte, 4<<10)
			n, err := from.Read(block)
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					from.Close()
				}
				return
			}
			blocks <- block[:n]
		}
	}()
	for block := range blocks {
		<-c.running()
		if _, err := to.Write(block); err != nil {
			from.Close()
		}
	}
}
