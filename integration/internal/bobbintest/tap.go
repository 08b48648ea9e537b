package bobbintest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
)

// Tap records the data of connections in each direction. The zero value has no connections.
// Goroutines may share it.
//
// The client's connection to the tap and the tap's connection to the server are real TCP
// connections, so the client treats them like any others. Each connection has two goroutines, which
// end with it.
type Tap struct {
	mu    sync.Mutex // guards conns, and the data of each
	conns []*tapped
}

// tapped is one connection. Its data is separate from that of other connections, so that concurrent
// data of another one cannot cut a text in two.
type tapped struct{ sent, got bytes.Buffer }

// Dial is a dial function for a client's options.
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

// loopback makes both ends of a TCP connection.
func loopback(ctx context.Context) (near, far net.Conn, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	if near, err = new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	for { // other programs may connect too
		if far, err = listener.Accept(); err != nil {
			return nil, nil, errors.Join(err, near.Close())
		}
		if far.RemoteAddr().String() == near.LocalAddr().String() {
			return near, far, nil
		}
		far.Close()
	}
}

// pass records the data from one end and sends it to the other end, until one of them closes.
func (r *Tap) pass(to, from net.Conn, kept *bytes.Buffer) {
	defer to.Close()
	defer from.Close() // so the other direction ends too
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

// Saw reports in which directions a text passed.
func (r *Tap) Saw(text string) (sent, got bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		sent = sent || bytes.Contains(c.sent.Bytes(), []byte(text))
		got = got || bytes.Contains(c.got.Bytes(), []byte(text))
	}
	return sent, got
}

// Got returns all data from the servers, one connection after the other.
func (r *Tap) Got() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []byte
	for _, c := range r.conns {
		all = append(all, c.got.Bytes()...)
	}
	return all
}

// Check checks that a text passed in exactly these directions.
func (r *Tap) Check(t testing.TB, text string, out, back bool) {
	t.Helper()
	if sent, got := r.Saw(text); sent != out || got != back {
		t.Errorf("%q is in the requests: %t, in the answers: %t; want %t, %t", text, sent, got, out, back)
	}
}
