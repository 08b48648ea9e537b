package exchange

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logrustest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

// quietServer is a server in a bubble with partition 0, which has 1 MiB for its only consumer.
type quietServer struct {
	*testing.T
	*Server
	bubble *Bubble
	logs   *logrustest.Hook
}

func newQuietServer(t *testing.T) quietServer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p")
	w, err := partition.Create(partition.Config{Path: path, Subpartitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 1024 {
		if err := w.Append(0, make([]byte, 1024)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	log, logs := logrustest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	bubble := NewBubble()
	s, err := NewServer(t.Context(), ServerConfig{Host: "w", Logger: log, Listen: bubble.Listen})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Add("j", PartitionID{}, 0, path)
	return quietServer{t, s, bubble, logs}
}

// reader is a host that reaches the server by this function.
func (s quietServer) reader(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Exchange {
	s.Helper()
	e, err := New(s.Context(), Config{Job: "j", Host: "b", Logger: s.log, Listen: NewBubble().Listen, Dial: dial})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(e.Close)
	return e
}

// connect is a known host that does only what the test does.
func (s quietServer) connect() net.Conn {
	s.Helper()
	conn, err := s.bubble.Dial(s.Context(), "", "")
	if err == nil {
		err = greet(conn, greeting{jobgraph.ProtocolVersion, "j", "b", "w"})
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	return conn
}

// connected tells how many connections and channels the server has.
func (s quietServer) connected() (connections, channels int) {
	synctest.Wait()
	s.guests.mu.Lock()
	defer s.guests.mu.Unlock()
	if j := s.guests.jobs["j"]; j != nil {
		return j.connections, j.channels
	}
	return 0, 0
}

func (s quietServer) send(conn net.Conn, frame []byte) {
	s.Helper()
	if _, err := conn.Write(frame); err != nil {
		s.Fatal(err)
	}
}

// wantEnd checks that the server has ended its last connection, and why.
func (s quietServer) wantEnd(is error) {
	s.Helper()
	if n, _ := s.connected(); n != 0 {
		s.Fatalf("%d connections are there", n)
	}
	if err, _ := s.logs.LastEntry().Data[logrus.ErrorKey].(error); !errors.Is(err, is) {
		s.Errorf("a connection ended because of: %v", err)
	}
}

// TestAServerEndsIdleConnections would catch a host that is known and does nothing, and holds a connection with its memory for ever; and
// a task that is slow, or waits for another input, and loses its connection.
func TestAServerEndsIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newQuietServer(t)
		s.connect()
		time.Sleep(guestIdle - time.Second)
		if n, _ := s.connected(); n != 1 {
			t.Errorf("%d connections are there before the time is over", n)
		}
		time.Sleep(2 * time.Second)
		s.wantEnd(os.ErrDeadlineExceeded)

		conn := s.connect()
		s.send(conn, frame(frameOpen, 0, 0, appendOpen(nil, PartitionID{}, 0)...))
		time.Sleep(100 * time.Hour)
		if n, channels := s.connected(); n != 1 || channels != 1 {
			t.Errorf("after hours without credit, %d connections with %d channels are there", n, channels)
		}
		s.send(conn, frame(frameRelease, 0, 0))
		if _, err := io.ReadFull(conn, make([]byte, headerSize)); err != nil { // the end
			t.Fatal(err)
		}
		time.Sleep(guestIdle + time.Second)
		s.wantEnd(os.ErrDeadlineExceeded)
	})
}

// TestAServerEndsConnectionsThatTakeNothing would catch a host that has stopped in the middle of a frame, and holds blocks of files and a
// connection for ever.
func TestAServerEndsConnectionsThatTakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newQuietServer(t)
		conn := s.connect()
		s.send(conn, frame(frameOpen, 0, 8, appendOpen(nil, PartitionID{}, 0)...))
		if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(takeTime - time.Second)
		if n, _ := s.connected(); n != 1 {
			t.Errorf("%d connections are there before the time is over", n)
		}
		time.Sleep(2 * time.Second)
		s.wantEnd(os.ErrDeadlineExceeded)
	})
}

// TestAHostLeavesIdleConnections would catch a task that fails because its host has used a connection which the server was about to end.
func TestAHostLeavesIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newQuietServer(t)
		dialed := 0
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			dialed++
			return s.bubble.Dial(ctx, network, address)
		}
		e := s.reader(dial)
		read := func() {
			t.Helper()
			g := e.Gate(t.Context(), []Producer{{Host: "w", Address: "w", Finished: true}})
			defer g.Close()
			n, err := 0, error(nil)
			for ; err == nil; n++ {
				_, err = g.Next(t.Context())
			}
			if n != 1025 || !errors.Is(err, io.EOF) {
				t.Errorf("%d records arrive: %v", n-1, err)
			}
		}
		for range 2 {
			read()
			time.Sleep(idleTime / 4)
		}
		if n, _ := s.connected(); n != 1 || dialed != 1 {
			t.Errorf("%d connections were made, and %d are there", dialed, n)
		}
		time.Sleep(2 * idleTime)
		if n, _ := s.connected(); n != 0 {
			t.Errorf("%d connections are there that nothing uses", n)
		}
		if read(); dialed != 2 {
			t.Errorf("%d connections were made", dialed)
		}
	})
}
