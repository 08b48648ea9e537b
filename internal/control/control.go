// Package control carries role messages between a process and the one that
// started it: a task host and its TaskExecutor, a driver and its client. Between
// processes that is a socketpair, within one process a net.Pipe; each message is
// one frame:
//
//	┌──────────────┬───────────────────┐
//	│ length, u32  │ message, as codec │   big endian, 1 ≤ length ≤ codec.MaxMessage
//	└──────────────┴───────────────────┘
//
// End of file means that the other side is gone, and nothing else: each side
// says so in a message first when it ends on purpose.
//
// Of goroutines the package starts a Listener's alone. It imports of ours only msg and its codec.
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

// ErrFrame says that the other side sent something that is no frame.
var ErrFrame = errors.New("malformed control frame")

// ErrTooLong says that the other side sent a message that Bound does not allow.
var ErrTooLong = errors.New("message is too long")

const lengthSize = 4 // bytes before each message

// Conn is one end of a control connection. Send may be called from any
// goroutine, Receive from one at a time.
type Conn struct {
	conn    net.Conn
	reader  *bufio.Reader
	frame   bytes.Buffer // the last frame, owned by Receive
	sending sync.Mutex   // keeps frames whole
	hears   msg.Kinds    // that the other side may send
	most    int          // bytes of a message
}

// frameTime is how long a frame may take to come for which room is held: it has been written
// as a whole.
const frameTime = 30 * time.Second

// New makes the end of a connection that carries nothing but frames, and takes messages
// of these kinds. Close closes it.
func New(conn net.Conn, hears msg.Kinds) *Conn {
	return &Conn{conn: conn, reader: bufio.NewReader(conn), hears: hears, most: codec.MaxMessage}
}

// Bound has Receive take no message of more than so many bytes, of a process that may be anybody's. 0, or more than
// codec.MaxMessage: as that. It is called before the first Receive.
func (c *Conn) Bound(message int) {
	if message > 0 {
		c.most = min(message, codec.MaxMessage)
	}
}

// Send writes a message. It blocks while the other side reads nothing and its
// buffers are full; Close ends it. After an error of the connection the other
// side is gone; codec.ErrTooLarge leaves the connection as it was.
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

// Receive reads the next message. It gives io.EOF when the other side has closed
// its end or died, net.ErrClosed after Close; ErrFrame, msg.ErrKind and the errors of codec
// mean that the two sides don't speak the same protocol, ErrTooLong that Bound forbids the
// message. No further one can be read then.
func (c *Conn) Receive() (msg.Message, error) { return c.ReceiveHeld(nil) }

// ReceiveHeld is Receive for whoever has no room for any message: hold waits for room for one
// of so many bytes before it is read, which must come at once then. Its error is given as it
// is. Who holds the room gives it back.
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
		_ = c.conn.SetReadDeadline(time.Now().Add(frameTime)) // if the connection is closed, reading tells
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

// keptFrame is the largest receive buffer that is kept for the next message, in
// bytes: few messages are larger.
const keptFrame = 64 << 10

// Close closes this end; the other receives what was sent and then io.EOF. It
// ends a blocked Send or Receive, and may be called more than once.
func (c *Conn) Close() error {
	if err := c.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close control socket: %w", err)
	}
	return nil
}

// gone tells whether an error of a read says that the other side is no more. A
// process that dies with unread messages in its socket resets the connection.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}
