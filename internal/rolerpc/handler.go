package rolerpc

import (
	"context"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Handler takes the messages of a stream. One goroutine makes all its calls. Their context is what the
// stream runs under, and does not end.
type Handler interface {
	// Hears returns the kinds of messages that the peer may send. A message of another
	// kind is not decoded and ends the stream.
	Hears() msg.Kinds
	// Receive takes the next message. While it blocks, no further message is read from the
	// peer.
	Receive(ctx context.Context, m msg.Message)
	// Closed is called exactly once, after the last Receive, whatever has ended the
	// stream.
	Closed(ctx context.Context, cause error)
}

// HandlerOf returns the handler of a stream that is a role's connection. The handler reads
// no further message while the role's mailbox is full.
func HandlerOf(connection *actor.Connection, hears msg.Kinds) Handler {
	return connectionHandler{connection, hears}
}

// connectionHandler's context need not end: a loop that ends unblocks its calls, and then nothing
// handles their errors.
type connectionHandler struct {
	connection *actor.Connection
	hears      msg.Kinds
}

func (h connectionHandler) Hears() msg.Kinds { return h.hears }

func (h connectionHandler) Receive(ctx context.Context, m msg.Message) {
	_ = h.connection.Receive(ctx, m)
}

func (h connectionHandler) Closed(ctx context.Context, cause error) {
	text := "closed"
	if cause != nil {
		text = cause.Error()
	}
	_ = h.connection.Closed(ctx, text)
}
