package rolerpc

import "github.com/bobbin-yarn/bobbin/internal/msg"

// Frame is a message on its way, with the sender's fencing token.
type Frame struct {
	Token   string
	Message msg.Message
}

// Wire moves the frames of one stream: a gRPC stream, or a queue within one process. One goroutine
// calls Send and CloseSend, another one Receive. Any goroutine may call Shut, more than once.
type Wire interface {
	Send(f Frame) error
	// CloseSend says that no frame follows. Frames that were sent still arrive.
	CloseSend() error
	// Receive returns the next frame. The error is ErrPeerGone if the other end has closed. Every
	// other error says that the peer breaks the protocol: msg.ErrKind for a message of another kind,
	// errTooLong, errFrame, and those of codec.
	Receive(kinds msg.Kinds) (Frame, error)
	// Shut ends the stream at once and unblocks calls.
	Shut()
}
