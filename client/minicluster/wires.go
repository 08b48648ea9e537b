package minicluster

import (
	"context"
	"net"
	"sync"

	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// wires are the data plane's sockets of one worker. cut breaks them, as the kernel does when a process dies.
type wires struct {
	mu    sync.Mutex // guards all below
	isCut bool
	open  map[interface{ Close() error }]struct{}
}

// dataPlane opens a host's end of the data plane over these wires.
func (w *wires) dataPlane(ctx context.Context, config exchange.Config) (taskhost.DataPlane, error) {
	config.Listen = w.listen
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return wiredConn{conn, w}, w.add(conn)
	}
	return taskhost.Network(ctx, config)
}

// listen listens for connections over these wires.
func (w *wires) listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return wiredListener{l, w}, w.add(l)
}

// add adds a socket. It closes the socket if the wires are cut.
func (w *wires) add(socket interface{ Close() error }) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isCut {
		socket.Close()
		return net.ErrClosed
	}
	if w.open == nil {
		w.open = make(map[interface{ Close() error }]struct{})
	}
	w.open[socket] = struct{}{}
	return nil
}

func (w *wires) remove(socket interface{ Close() error }) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, socket)
}

func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = true
	for socket := range w.open {
		socket.Close()
	}
	clear(w.open)
}

// wiredListener accepts connections that are cut with the others.
type wiredListener struct {
	net.Listener
	wires *wires
}

// Accept implements net.Listener.
func (l wiredListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return wiredConn{conn, l.wires}, l.wires.add(conn)
}

// Close implements net.Listener.
func (l wiredListener) Close() error {
	l.wires.remove(l.Listener)
	return l.Listener.Close()
}

type wiredConn struct {
	net.Conn
	wires *wires
}

// Close implements net.Conn.
func (c wiredConn) Close() error {
	c.wires.remove(c.Conn)
	return c.Conn.Close()
}
