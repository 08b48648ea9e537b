package actor

import (
	"context"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// ConnectionID is the number of a role's connection, from 1. No number is used twice.
type ConnectionID uint64

// Peer is the process at the other end of a connection.
type Peer struct {
	Connection ConnectionID
	Resource   ids.ResourceID // as its certificate has it
}

// Gateway sends to one peer, over one connection; a *rolerpc.Stream is one.
type Gateway interface {
	// Send queues a message and never blocks. False means that the connection is lost;
	// Connection.Closed reports that too.
	Send(m msg.Message) bool
	// Close ends the connection after it has sent the queued messages. It does not wait for
	// that. Only the first call has an effect.
	Close(cause string)
}

// Connections holds the connections of a role by number. The zero value is ready to use. Its
// methods may be called from any goroutine.
type Connections struct {
	mu       sync.Mutex // guards what follows
	last     ConnectionID
	gateways map[ConnectionID]Gateway
	refusal  string // "": connections are accepted
}

// Connect adds a connection of the TaskExecutor that has authenticated as resource. said
// makes the loop's event for a message, and lost for the end of the connection.
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

// Send sends a message over a connection. It reports no error: Connection.Closed reports a
// lost connection.
func (c *Connections) Send(to ConnectionID, m msg.Message) {
	if gateway := c.gateway(to); gateway != nil {
		gateway.Send(m)
	}
}

// Close ends a connection after it has sent the queued messages.
func (c *Connections) Close(to ConnectionID, cause string) {
	if gateway := c.gateway(to); gateway != nil {
		gateway.Close(cause)
	}
}

// CloseAll ends all connections, and each one that is added later.
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
// return ErrStopped after the role has ended.
type Connection struct {
	receive func(context.Context, msg.Message) error
	closed  func(context.Context, string) error
}

// Receive takes a message that came over the connection. It blocks while the role's mailbox
// is full.
func (c *Connection) Receive(ctx context.Context, m msg.Message) error { return c.receive(ctx, m) }

// Closed reports the loss of the connection. Call it once, after the last message.
func (c *Connection) Closed(ctx context.Context, cause string) error { return c.closed(ctx, cause) }
