package liveness

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// connected returns both ends of a connection. They are closed with the test.
func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if near, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	if far, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

// await repeats the look until its result satisfies a condition.
func await(t *testing.T, look func() (sight, error), what string, reached func(sight) bool) {
	t.Helper()
	for {
		seen, err := look()
		if err != nil {
			t.Fatal(err)
		}
		if reached(seen) {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("test ended while waiting until %s: %+v", what, seen)
		}
	}
}

// powerOff makes the kernel drop all packets that come in on a connection, like a machine without
// power: it acknowledges nothing.
func powerOff(t *testing.T, conn net.Conn) {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	nothing := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0} // accept 0 bytes of each packet
	var asking error
	if err := raw.Control(func(fd uintptr) {
		asking = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing})
	}); err != nil || asking != nil {
		t.Fatal(err, asking)
	}
}

// TestTheKernelTellsOfAMachineThatIsGone would catch a look that misses data which the kernel has
// sent in vain, or the time since then, and a connection that is not lost after it.
func TestTheKernelTellsOfAMachineThatIsGone(t *testing.T) {
	t.Parallel()
	near, far := connected(t)
	powerOff(t, far)
	look := lookAt(near.(*net.TCPConn))
	write(t, near)
	await(t, look, "nothing is acknowledged", func(s sight) bool { return s.unacknowledged && s.silence > 0 })

	const after = 100 * time.Millisecond
	watched := Watch(near, after)
	begin := time.Now()
	write(t, watched)
	lost(t, watched)
	if took := time.Since(begin); took < after {
		t.Errorf("lost after %s, want %s", took, after)
	}
}

// TestTheKernelTellsOfAMachineThatDiesWithoutRoom would catch an endless wait for a machine that
// died while the window of the connection was closed. Then no data is on its way that could be
// acknowledged, and the kernel only sends probes.
func TestTheKernelTellsOfAMachineThatDiesWithoutRoom(t *testing.T) {
	t.Parallel()
	near, far := connected(t)
	look := lookAt(near.(*net.TCPConn))
	watched := Watch(near, time.Second)
	ended := make(chan error, 1)
	go func() { // nobody reads
		_, err := io.Copy(watched, endless{})
		ended <- err
	}()
	await(t, look, "the window is closed", func(s sight) bool { return !s.unacknowledged && s.unsent })
	powerOff(t, far)
	if err := <-ended; !errors.Is(err, errUnreachable) {
		t.Errorf("write ends with %v, want ErrUnreachable", err)
	}
}

// TestTheKernelTells would catch another answer of Linux about data that the other end has
// acknowledged, data for which it has no room, and the end.
func TestTheKernelTells(t *testing.T) {
	t.Parallel()
	near, _ := connected(t)
	look := lookAt(near.(*net.TCPConn))
	until := func(what string, reached func(sight) bool) {
		t.Helper()
		await(t, look, what, reached)
	}
	write(t, near)
	until("all is acknowledged", func(s sight) bool { return !s.unacknowledged && !s.unsent })

	ended := make(chan error, 1)
	go func() { // nobody reads
		_, err := io.Copy(near, endless{})
		ended <- err
	}()
	until("the window is closed", func(s sight) bool { return !s.unacknowledged && s.unsent })
	near.Close()
	<-ended
	if _, err := look(); err == nil {
		t.Error("a closed connection is looked at")
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
