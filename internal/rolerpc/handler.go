package rolerpc

import (
	"context"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Handler takes what comes in on a stream. All its calls come from one
// goroutine.
type Handler interface {
	// Hears is what the peer may say. A message of another kind is not decoded, and ends
	// the stream.
	Hears() msg.Kinds
	// Receive takes the next message. While it blocks, the peer is held back.
	Receive(m msg.Message)
	// Closed is called exactly once, after the last Receive, whichever end
	// closed the stream and whatever ended it.
	Closed(cause error)
}

// HandlerOf gives the handler of a stream that is a role's connection. It holds the stream
// back while the role has too much to do.
func HandlerOf(connection *actor.Connection, hears msg.Kinds) Handler {
	return connectionHandler{connection, hears}
}

// connectionHandler has no context to wait under: a loop that ends lets go of it, and then
// nobody is left to hear of errors.
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
