package bobbintest

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
)

// Tap keeps what passes connections, in each direction, for as long as it lives. The
// zero value has none. Goroutines may share it.
type Tap struct {
	mu    sync.Mutex // guards conns, and what each has kept
	conns []*tapped
}

// tapped is one connection. Its bytes are apart from the others': what two of them say
// at a time must not hide a text by cutting it in two.
type tapped struct {
	net.Conn
	tap       *Tap
	sent, got bytes.Buffer
}

// Dial is for options that take a dialer.
func (r *Tap) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &tapped{Conn: conn, tap: r}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, c)
	return c, nil
}

// Saw says whether a text passed in a direction.
func (r *Tap) Saw(text string) (sent, got bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		sent = sent || bytes.Contains(c.sent.Bytes(), []byte(text))
		got = got || bytes.Contains(c.got.Bytes(), []byte(text))
	}
	return sent, got
}

// Got is all that came back, one connection after the other.
func (r *Tap) Got() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []byte
	for _, c := range r.conns {
		all = append(all, c.got.Bytes()...)
	}
	return all
}

// Check wants a text to pass in these directions and in no other.
func (r *Tap) Check(t testing.TB, text string, out, back bool) {
	t.Helper()
	if sent, got := r.Saw(text); sent != out || got != back {
		t.Errorf("%q is seen on the way out: %t, back: %t; want %t, %t", text, sent, got, out, back)
	}
}

func (c *tapped) Write(b []byte) (int, error) {
	c.keep(&c.sent, b)
	return c.Conn.Write(b)
}

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.keep(&c.got, b[:n])
	return n, err
}

func (c *tapped) keep(in *bytes.Buffer, b []byte) {
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	in.Write(b)
}
