package bobbintest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
)

// Tap keeps what passes connections, in each direction, for as long as it lives. The
// zero value has none. Goroutines may share it.
//
// It listens on the way to the server, so that its connections are those of TCP and a
// client treats them as it does any. Each has two goroutines, which end with it.
type Tap struct {
	mu    sync.Mutex // guards conns, and what each has kept
	conns []*tapped
}

// tapped is one connection. Its bytes are apart from the others': what two of them say
// at a time must not hide a text by cutting it in two.
type tapped struct{ sent, got bytes.Buffer }

// Dial is for options that take a dialer.
func (r *Tap) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	server, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	client, far, err := loopback(ctx)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	c := new(tapped)
	r.mu.Lock()
	r.conns = append(r.conns, c)
	r.mu.Unlock()
	go r.pass(server, far, &c.sent)
	go r.pass(far, server, &c.got)
	return client, nil
}

// loopback makes both ends of a connection.
func loopback(ctx context.Context) (near, far net.Conn, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	if near, err = new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	for { // there may be others on this machine
		if far, err = listener.Accept(); err != nil {
			return nil, nil, errors.Join(err, near.Close())
		}
		if far.RemoteAddr().String() == near.LocalAddr().String() {
			return near, far, nil
		}
		far.Close()
	}
}

// pass keeps what comes from one end, and hands it to the other, until either has gone.
func (r *Tap) pass(to, from net.Conn, kept *bytes.Buffer) {
	defer to.Close()
	defer from.Close() // the other direction ends, too
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		r.mu.Lock()
		kept.Write(b[:n])
		r.mu.Unlock()
		if n > 0 {
			if _, failed := to.Write(b[:n]); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
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
		t.Errorf("%q is in the requests: %t, in the answers: %t; want %t, %t", text, sent, got, out, back)
	}
}
