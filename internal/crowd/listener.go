package crowd

import (
	"net"
	"sync"
)

// listener makes the connections that it accepts members.
type listener struct {
	net.Listener
	crowd  *Crowd
	closed chan struct{} // closed by Close
	shut   sync.Once
}

// Listen returns a listener whose connections enter the crowd. Its Close closes l.
func (c *Crowd) Listen(l net.Listener) net.Listener {
	return &listener{Listener: l, crowd: c, closed: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if m := l.crowd.enter(conn, l.closed); m != nil {
		return m, nil
	}
	_ = conn.Close() // nothing can use the error
	return nil, net.ErrClosed
}

// Close closes the listener. Connections stay open.
func (l *listener) Close() error {
	l.shut.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
