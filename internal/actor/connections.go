package actor

import (
	"context"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// ConnectionID numbers the connections of a role, from 1; none is used twice.
type ConnectionID uint64

// Peer is the process at the other end of a connection.
type Peer struct {
	Connection ConnectionID
	Resource   ids.ResourceID // as its certificate has it
}

// Gateway sends to one peer, over one connection; a *rolerpc.Stream is one.
type Gateway interface {
	// Send queues a message and never blocks. False means that the connection is
	// lost, of which Connection.Closed tells too.
	Send(m msg.Message) bool
	// Close ends the connection after what was sent, without waiting for it. Of
	// several calls the first one counts.
	Close(cause string)
}

// Connections are those of a role, by number. Its zero value is ready; its methods may be
// called from any goroutine.
type Connections struct {
	mu       sync.Mutex // guards what follows
	last     ConnectionID
	gateways map[ConnectionID]Gateway
	refusal  string // "": connections are taken
}

// Connect takes in a connection of the TaskExecutor that has proved to be resource. Said and
// lost make the loop's events of what comes over it, and of its end.
func Connect[E, F any](
	l *Loop[E, F], c *Connections, resource ids.ResourceID, gateway Gateway,
	said func(Peer, msg.Message) E, lost func(from Peer, cause string) E,
) *Connection {
	from := Peer{Connection: c.add(gateway), Resource: resource}
	return &Connection{
		receive: func(ctx context.Context, m msg.Message) error { return l.Post(ctx, said(from, m)) },
		closed: func(ctx context.Context, cause string) error {
			c.remove(from.Connection)
			return l.Post(ctx, lost(from, cause))
		},
	}
}

func (c *Connections) add(gateway Gateway) ConnectionID {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	switch {
	case c.refusal != "":
		gateway.Close(c.refusal)
	case c.gateways == nil:
		c.gateways = map[ConnectionID]Gateway{c.last: gateway}
	default:
		c.gateways[c.last] = gateway
	}
	return c.last
}

func (c *Connections) remove(id ConnectionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.gateways, id)
}

func (c *Connections) gateway(id ConnectionID) Gateway {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gateways[id]
}

// Send sends a message over a connection. One that is lost has told so itself, or will.
func (c *Connections) Send(to ConnectionID, m msg.Message) {
	if gateway := c.gateway(to); gateway != nil {
		gateway.Send(m)
	}
}

// Close ends a connection after what was sent over it.
func (c *Connections) Close(to ConnectionID, cause string) {
	if gateway := c.gateway(to); gateway != nil {
		gateway.Close(cause)
	}
}

// CloseAll ends all connections that there are, and each that comes later.
func (c *Connections) CloseAll(cause string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, gateway := range c.gateways {
		gateway.Close(cause)
	}
	clear(c.gateways)
	c.refusal = cause
}

// Connection is one connection of a peer, for the goroutine that reads from it. Its methods
// give ErrStopped when the role has ended.
type Connection struct {
	receive func(context.Context, msg.Message) error
	closed  func(context.Context, string) error
}

// Receive takes a message that came over the connection. It blocks while the role has too
// much to do.
func (c *Connection) Receive(ctx context.Context, m msg.Message) error { return c.receive(ctx, m) }

// Closed says that the connection is lost, once, after its last message.
func (c *Connection) Closed(ctx context.Context, cause string) error { return c.closed(ctx, cause) }
