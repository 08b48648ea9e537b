package rolerpc

import (
	"context"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Handler takes the messages of a stream. One goroutine makes all its calls.
type Handler interface {
	// Hears returns the kinds of messages that the peer may send. A message of another
	// kind is not decoded and ends the stream.
	Hears() msg.Kinds
	// Receive takes the next message. While it blocks, no further message is read from the
	// peer.
	Receive(m msg.Message)
	// Closed is called exactly once, after the last Receive, whatever has ended the
	// stream.
	Closed(cause error)
}

// HandlerOf returns the handler of a stream that is a role's connection. The handler reads
// no further message while the role's mailbox is full.
func HandlerOf(connection *actor.Connection, hears msg.Kinds) Handler {
	return connectionHandler{connection, hears}
}

// connectionHandler needs no context of its own: a loop that ends unblocks its calls, and then
// nothing handles their errors.
type connectionHandler struct {
	connection *actor.Connection
	hears      msg.Kinds
}

func (h connectionHandler) Hears() msg.Kinds { return h.hears }

func (h connectionHandler) Receive(m msg.Message) {
	_ = h.connection.Receive(context.Background(), m)
}

func (h connectionHandler) Closed(cause error) {
	text := "closed"
	if cause != nil {
		text = cause.Error()
	}
	_ = h.connection.Closed(context.Background(), text)
}
