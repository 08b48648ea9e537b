package resourcemanager

import (
	"context"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

// Target is the name of the streams that Accept takes.
const Target = "resourcemanager"

// Accept takes in a TaskExecutor's stream, as rolerpc.Accept does, under this
// grant of leadership's fencing token.
func (r *ResourceManager) Accept(s *rolerpc.Stream) (rolerpc.Handler, error) {
	s.SetToken(string(r.token))
	s.SetShare(r.workerSlots)
	return streamHandler{r.Connect(s.Peer().Resource, s)}, nil
}

// streamHandler holds its stream back while the loop has too much to do. It has
// no context to wait under: a loop that ends lets go of it, and then nobody is
// left to hear of errors.
type streamHandler struct{ connection *Connection }

func (streamHandler) Hears() msg.Kinds { return msg.TaskExecutorToResourceManager }

func (h streamHandler) Receive(m msg.Message) {
	_ = h.connection.Receive(context.Background(), m)
}

func (h streamHandler) Closed(cause error) {
	text := "closed"
	if cause != nil {
		text = cause.Error()
	}
	_ = h.connection.Closed(context.Background(), text)
}

// TaskExecutorGateway sends to one TaskExecutor, over one connection; a
// *rolerpc.Stream is one.
type TaskExecutorGateway interface {
	// Send queues a message and never blocks. False means that the connection is
	// lost, of which Connection.Closed tells too.
	Send(m msg.Message) bool
	// Close ends the connection, without waiting for it.
	Close(cause string)
}

// Connection is one connection of a TaskExecutor, for who reads from it. Its
// methods give actor.ErrStopped when the role has ended.
type Connection struct {
	r    *ResourceManager
	from Peer
}

// Connect takes in a connection of the TaskExecutor that has proved to be peer.
// Accept does so for streams.
func (r *ResourceManager) Connect(peer ids.ResourceID, gateway TaskExecutorGateway) *Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastConnection++
	r.connections[r.lastConnection] = gateway
	return &Connection{r: r, from: Peer{Connection: r.lastConnection, Resource: peer}}
}

// Receive takes a message that came over the connection. It blocks while the
// role has too much to do.
func (c *Connection) Receive(ctx context.Context, m msg.Message) error {
	return c.r.loop.Post(ctx, TaskExecutorSaid{From: c.from, Message: m})
}

// Closed says that the connection is lost, once, after its last message.
func (c *Connection) Closed(ctx context.Context, cause string) error {
	c.r.mu.Lock()
	delete(c.r.connections, c.from.Connection)
	c.r.mu.Unlock()
	return c.r.loop.Post(ctx, TaskExecutorDisconnected{From: c.from, Cause: cause})
}
