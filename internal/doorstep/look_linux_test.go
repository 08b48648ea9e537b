package doorstep

import (
	"io"
	"net"
	"testing"
	"time"
)

// over lies over a connection, like a watched connection.
type over struct{ net.Conn }

func (o over) NetConn() net.Conn { return o.Conn }

// TestTheKernelTellsWhatWaitsToBeRead would catch an honest peer that counts as silent because its
// data, or its time, is not noticed, and a silent peer that does not.
func TestTheKernelTellsWhatWaitsToBeRead(t *testing.T) {
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
	watched := over{over{far}}
	until := func(what string, reached func(sight) bool) {
		t.Helper()
		for seen := look(watched); !reached(seen); seen = look(watched) {
			if t.Context().Err() != nil {
				t.Fatalf("test ended while waiting until %s: %+v", what, seen)
			}
		}
	}
	say := func() {
		t.Helper()
		if _, err := io.WriteString(near, first); err != nil {
			t.Fatal(err)
		}
	}
	if seen := look(watched); seen != (sight{}) {
		t.Errorf("of a peer who has said nothing: %+v", seen)
	}
	say()
	until("something waits", func(s sight) bool { return s.unread })
	const tick = 20 * time.Millisecond // the kernel's clock takes up to 10
	said := look(watched).heard
	until("it has waited", func(s sight) bool { return time.Since(s.heard) > 2*tick })
	if heard := look(watched).heard; heard.Sub(said).Abs() > tick {
		t.Errorf("it came at %s, and at %s", said, heard)
	}
	say()
	until("more has come", func(s sight) bool { return s.heard.Sub(said) > tick })
	if _, err := io.ReadFull(far, make([]byte, 2*len(first))); err != nil {
		t.Fatal(err)
	}
	if look(watched).unread {
		t.Error("something waits though all was read")
	}
	far.Close()
	pipe, end := net.Pipe()
	defer pipe.Close()
	defer end.Close()
	for name, conn := range map[string]net.Conn{"a closed connection": watched, "no socket": pipe} {
		if seen := look(conn); seen != (sight{}) {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}
