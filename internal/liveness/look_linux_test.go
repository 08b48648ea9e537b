package liveness

import (
	"io"
	"net"
	"testing"
)

// TestTheKernelTells would catch a look that Linux answers in another way: data that
// the other end has acknowledged, data for which it has no room, and the end.
func TestTheKernelTells(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	look := lookAt(near.(*net.TCPConn))
	until := func(what string, reached func(sight) bool) {
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
