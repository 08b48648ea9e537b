// Package control carries messages between a process and the process that started it: a task host
// and its TaskExecutor, or a driver and its client. The connection is a socketpair between
// processes, and a net.Pipe within one process. Each message is one frame:
//
//	┌──────────────┬───────────────────┐
//	│ length, u32  │ message, as codec │   big endian, 1 ≤ length ≤ codec.MaxMessage
//	└──────────────┴───────────────────┘
//
// End of file means only that the other side has died. A side that ends on purpose sends a message
// first.
//
// The only goroutine that the package starts is that of a Listener. Of this module it imports only
// msg and its codec.
package control

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// Channel is one end of a control connection as its users see it: a *Conn, or a queue within one
// process. Any goroutine may call Send and Close, and one goroutine at a time Receive.
type Channel interface {
	// Send sends a message. See Conn.Send for its errors.
	Send(m msg.Message) error
	// Receive returns the next message, and io.EOF when the other side has closed its end or died.
	Receive() (msg.Message, error)
	// Close closes this end, and unblocks Send and Receive.
	Close() error
}

// ErrFrame says that the other side sent bytes that are not a frame.
var ErrFrame = errors.New("malformed control frame")

// ErrTooLong says that the other side sent a message longer than Bound allows.
var ErrTooLong = errors.New("message is too long")

const lengthSize = 4 // bytes before each message

// Conn is one end of a control connection. Any goroutine may call Send, and one goroutine at a time
// Receive.
type Conn struct {
	conn    net.Conn
	reader  *bufio.Reader
	frame   bytes.Buffer // the last frame, owned by Receive
	sending sync.Mutex   // keeps frames whole
	hears   msg.Kinds    // the kinds that the other side may send
	most    int          // bytes of the longest message
}

// frameTime is the time in which a frame must arrive for which room is held. The sender has already
// written all of it.
const frameTime = 30 * time.Second

// New makes one end of a connection that carries only frames. It accepts messages of these kinds.
// Close closes conn.
func New(conn net.Conn, hears msg.Kinds) *Conn {
	return &Conn{conn: conn, reader: bufio.NewReader(conn), hears: hears, most: codec.MaxMessage}
}

// Bound limits the messages that Receive accepts to this number of bytes, for peers that are not
// trusted. 0, or more than codec.MaxMessage, means codec.MaxMessage. Call it before the first
// Receive.
func (c *Conn) Bound(message int) {
	if message > 0 {
		c.most = min(message, codec.MaxMessage)
	}
}

// Send writes a message. It blocks while the other side reads nothing and its buffers are full;
// Close unblocks it. codec.ErrTooLarge leaves the connection intact. After any other error the
// other side is gone.
func (c *Conn) Send(m msg.Message) error {
	data, err := codec.Encode(m)
	if err != nil {
		return err
	}
	frame := net.Buffers{binary.BigEndian.AppendUint32(nil, uint32(len(data))), data}
	c.sending.Lock()
	defer c.sending.Unlock()
	if _, err := frame.WriteTo(c.conn); err != nil {
		return fmt.Errorf("send %s on control socket: %w", msg.Kind(m), err)
	}
	return nil
}

// Receive reads the next message. The error is io.EOF when the other side has closed its end or
// died, and net.ErrClosed after Close. ErrFrame, msg.ErrKind and codec.ErrMalformed mean that the two
// sides speak different protocols. ErrTooLong means that Bound forbids the message. After an
// error no further message can be read.
func (c *Conn) Receive() (msg.Message, error) { return c.ReceiveHeld(nil) }

// ReceiveHeld is Receive for a caller with limited memory. Before it reads a message, it calls hold
// with the message's size; hold waits until there is room. Then the message must arrive at once.
// ReceiveHeld returns an error of hold unchanged. The caller gives the room back.
func (c *Conn) ReceiveHeld(hold func(bytes int) error) (msg.Message, error) {
	var length [lengthSize]byte
	if n, err := io.ReadFull(c.reader, length[:]); err != nil {
		if n == 0 && gone(err) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("receive on control socket: %w", err)
	}
	size := binary.BigEndian.Uint32(length[:])
	if size == 0 || size > codec.MaxMessage {
		return nil, fmt.Errorf("receive frame of %d bytes on control socket, want 1 to %d: %w", size, codec.MaxMessage, ErrFrame)
	}
	if int64(size) > int64(c.most) {
		return nil, fmt.Errorf("receive message of %d bytes on control socket, want at most %d: %w", size, c.most, ErrTooLong)
	}
	c.frame.Reset()
	if hold != nil {
		if err := hold(int(size)); err != nil {
			return nil, err
		}
		c.frame.Grow(int(size) + bytes.MinRead)
		_ = c.conn.SetReadDeadline(time.Now().Add(frameTime)) // if the connection is closed, the read fails
		defer func() { _ = c.conn.SetReadDeadline(time.Time{}) }()
	}
	// Without room the buffer grows with what arrives, not with what was announced.
	if _, err := io.CopyN(&c.frame, c.reader, int64(size)); err != nil {
		if gone(err) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("receive frame of %d bytes on control socket: %w", size, err)
	}
	m, err := codec.Decode(c.frame.Bytes(), c.hears)
	if err != nil {
		return nil, fmt.Errorf("receive on control socket: %w", err)
	}
	if c.frame.Cap() > keptFrame {
		c.frame = bytes.Buffer{}
	}
	return m, nil
}

// keptFrame is the largest receive buffer that is kept for the next message, in bytes. Few messages
// are larger.
const keptFrame = 64 << 10

// Close closes this end. The other end receives the messages that were sent, and then io.EOF. Close
// unblocks Send and Receive, and may be called more than once.
func (c *Conn) Close() error {
	if err := c.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close control socket: %w", err)
	}
	return nil
}

// gone reports whether a read error means that the other side has ended. A process that dies with
// unread messages in its socket resets the connection.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}
