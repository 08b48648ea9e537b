package exchange

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// noted is a connection that notes what is written to it.
type noted struct {
	net.Conn
	bytes  []byte
	writes int
	err    error
}

func (n *noted) Close() error { return nil }

func (n *noted) Write(p []byte) (int, error) {
	if n.err != nil {
		return 0, n.err
	}
	n.bytes = append(n.bytes, p...)
	n.writes++
	return len(p), nil
}

// TestBatchKeepsOrder would catch data that overtakes what was collected before it, that a flush or the end of collecting leaves
// behind, or that is collected without bound.
func TestBatchKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		to := new(noted)
		b := &batch{Conn: to}
		var want []byte
		for i, n := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(-2, 100), rapid.IntRange(batchSize-100, batchSize+1)), 1, 30).Draw(t, "lengths") {
			switch {
			case n == -2:
				b.hold()
			case n == -1:
				if err := b.flush(); err != nil {
					t.Fatal(err)
				}
			default:
				p := bytes.Repeat([]byte{byte(i)}, n)
				want = append(want, p...)
				if wrote, err := b.Write(p); err != nil || wrote != n {
					t.Fatalf("%d of %d bytes written: %v", wrote, n, err)
				}
			}
			if !b.holding && len(to.bytes) < len(want) || len(want)-len(to.bytes) > batchSize {
				t.Fatalf("%d bytes are written of %d", len(to.bytes), len(want))
			}
		}
		if err := b.flush(); err != nil || !bytes.Equal(to.bytes, want) {
			t.Fatalf("other bytes arrive than were written, or %v", err)
		}
	})
}

// TestBatchWritesTogether would catch a batch that saves no write, one that hides a lost connection, and one that writes on after a part
// of a record.
func TestBatchWritesTogether(t *testing.T) {
	t.Parallel()
	to := new(noted)
	b := &batch{Conn: to}
	write := func() {
		b.hold()
		for range 3 {
			if _, err := b.Write([]byte("record")); err != nil {
				t.Fatal(err)
			}
		}
	}
	write()
	if err := b.flush(); err != nil || to.writes != 1 {
		t.Errorf("%d writes, %v", to.writes, err)
	}
	write()
	to.err = errors.New("lost")
	lost := to.err
	if err := b.flush(); !errors.Is(err, lost) {
		t.Errorf("flush after the connection was lost: %v", err)
	}
	to.err = nil
	if _, err := b.Write([]byte("goodbye")); !errors.Is(err, lost) || to.writes != 1 {
		t.Errorf("a write after one that failed: %v, %d writes", err, to.writes)
	}
}

// TestBatchIsAborted would catch a connection that ends only seconds after its reader has, because TLS wants to say goodbye and its
// batch waits for a peer that does not read.
func TestBatchIsAborted(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	b := &batch{Conn: ours}
	b.hold()
	if _, err := b.Write([]byte("record")); err != nil {
		t.Fatal(err)
	}
	flushed := make(chan error)
	go func() { flushed <- b.flush() }()
	b.abort()
	if err := <-flushed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("flush is ended with %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestAnIdleConnectionKeepsNoMemory would catch a server whose connections each keep 64 KiB for what they may write later.
func TestAnIdleConnectionKeepsNoMemory(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	go io.Copy(io.Discard, far) // ends with near
	b := &batch{Conn: near, memory: batchesIn(1 << 20)}
	for range 2 {
		b.hold()
		if _, err := b.Write(make([]byte, 1000)); err != nil || len(b.pending) != 1000 {
			t.Fatalf("%d bytes wait: %v", len(b.pending), err)
		}
		if err := b.flush(); err != nil || b.pending != nil {
			t.Errorf("an idle connection keeps %d bytes: %v", cap(b.pending), err)
		}
	}
}
