//go:build unix

package yarnrpc

import (
	"errors"
	"net"
	"testing"
	"time"
)

// Who reads when Close comes must not take the length of the last read for that of one
// that was not made: bytes would be answered twice, or be counted beyond the inbox.
func TestASocketThatIsClosedHasReadAndWrittenNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // once more is fine
	served, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	if _, err := served.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	s, buffer := newSocket(conn), make([]byte, 200)
	if n, err := s.tryRead(buffer, time.Minute); n == 0 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	if n, err := s.tryWrite(buffer); n == 0 || err != nil {
		t.Fatalf("written %d, %v", n, err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.tryRead(buffer, time.Minute); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("read %d, %v from a closed socket", n, err)
	}
	if n, err := s.tryWrite(buffer); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("written %d, %v to a closed socket", n, err)
	}
}
