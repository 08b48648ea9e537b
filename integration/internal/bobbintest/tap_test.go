package bobbintest

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

// The test would catch a tap that changes a client's behaviour, that misses a direction, or that
// keeps one end open after the other has closed.
func TestATapListensToOrdinaryConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tap Tap
	client, err := tap.Dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, is := client.(*net.TCPConn); !is {
		t.Errorf("the connection is a %T", client)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		from, to  net.Conn
		text      string
		out, back bool
	}{
		{client, server, "a question", true, false},
		{server, client, "an answer", false, true},
	} {
		if _, err := io.WriteString(way.from, way.text); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(way.text))
		if _, err := io.ReadFull(way.to, got); err != nil || string(got) != way.text {
			t.Errorf("got %q, %v", got, err)
		}
		tap.Check(t, way.text, way.out, way.back)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the server hears of the client's end: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tap.Dial(t.Context(), "tcp", listener.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("where nobody listens: %v", err)
	}
}
