package exchange

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Protocol errors of a peer, all errProtocol.
var (
	errNoCredit     = fmt.Errorf("buffer without credit: %w", errProtocol)
	errAfterEnd     = fmt.Errorf("frame after the last frame of its channel: %w", errProtocol)
	errNoChannel    = fmt.Errorf("frame for a channel that is not open: %w", errProtocol)
	errChannelTaken = fmt.Errorf("channel opened twice: %w", errProtocol)
	errTooMany      = fmt.Errorf("too many channels on one connection: %w", errProtocol)
	errDirection    = fmt.Errorf("frame kind belongs to the other direction: %w", errProtocol)
)

const (
	// maxChannels bounds the channels of one connection, and thereby the state that a peer can
	// create on this host: 2,048 tasks on each host, all connected with each other. A job that
	// needs more fails with errTooManyChannels.
	maxChannels = 1 << 22
	writeBuffer = 2 << 10 // bytes; whole buffers of records bypass it
)

// endpoint is the end of a channel at a connection.
type endpoint interface {
	comparable
	// produce writes the frames of the channel, at most one buffer, and tells whether there may be
	// more. Only the connection's writer calls it.
	produce(w *frameWriter) (more bool, err error)
	// prepare comes before produce. It may read a disk. If that took long, another goroutine has replaced this one as the writer.
	prepare(r *relief) (replaced bool)
	// lost says that the connection has ended, and why.
	lost(err error)
}

// producing is the producers' end of a channel.
type producing interface {
	endpoint
	// credit allows so many more buffers.
	credit(n int)
	// release handles the consumer's last frame.
	release() error
}

// link is one end of a connection with its channels E. Once established, two goroutines serve it.
// One reads frames and waits for nothing else. The other writes the frames of the channels in turn: see linkWriter.
type link[E endpoint] struct {
	turns   *turns[E]
	cut     func()        // ends the connection at once, in any state
	parting chan struct{} // closed by part: the writer ends after the waiting frames
	most    int           // channels

	mu          sync.Mutex // guards all below
	established bool
	parted      bool // parting is closed
	channels    map[uint32]E
	idle        time.Time // since when it has had no channel, if it has none
	err         error     // why the connection is gone
}

func newLink[E endpoint](cut func(), most int) link[E] {
	return link[E]{turns: newTurns[E](), cut: cut, most: most, parting: make(chan struct{}), channels: make(map[uint32]E)}
}

// add adds a channel to the connection. If the connection was lost, it gives the error of that.
func (l *link[E]) add(id uint32, channel E) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if _, taken := l.channels[id]; taken {
		return errChannelTaken
	}
	if len(l.channels) == l.most {
		return errTooMany
	}
	l.channels[id] = channel
	return nil
}

func (l *link[E]) channel(id uint32) (E, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	channel, known := l.channels[id]
	if !known {
		return channel, errNoChannel
	}
	return channel, nil
}

func (l *link[E]) forget(id uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.channels, id)
	if len(l.channels) == 0 {
		l.idle = time.Now()
	}
}

// unused tells whether the connection has had no channel for so long.
func (l *link[E]) unused(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.channels) == 0 && time.Since(l.idle) >= d
}

// establish ends the handshake; false if part was called before.
func (l *link[E]) establish() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.established = !l.parted
	return l.established
}

// part ends the link after its channels have sent what is ready.
func (l *link[E]) part() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.parted {
		l.parted = true
		close(l.parting)
	}
	if !l.established {
		l.cut()
	}
}

// serve runs the connection until it breaks, read fails, or part is called, and gives the reason:
// ErrClosed after part.
func (l *link[E]) serve(conn net.Conn, read func(*intake) error) error {
	w := &linkWriter[E]{
		link: l, conn: conn, below: batchBelow(conn), to: &frameWriter{bufio.NewWriterSize(conn, writeBuffer), isPlain(conn)},
		stopped: make(chan struct{}), written: make(chan error, 1),
	}
	go w.run()
	err := read(newIntake(conn))
	close(w.stopped)
	w.below.abort() // TLS does not know that its batch writes, and would wait for that
	conn.Close()
	if wrote := <-w.written; wrote != nil && errors.Is(err, net.ErrClosed) {
		err = wrote
	}
	return err
}

// fail ends all channels with this error.
func (l *link[E]) fail(err error) {
	l.mu.Lock()
	l.err = err
	channels := l.channels
	l.channels = nil
	l.mu.Unlock()
	for _, channel := range channels {
		channel.lost(err)
	}
}

// readFrames passes the header of each frame to handle, which reads the payload.
func readFrames(r *intake, handle func(header) error) error {
	for {
		h, err := readHeader(r)
		if errors.Is(err, io.EOF) {
			return errors.New("connection closed by the other host")
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if err := handle(h); err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
}

// obey handles a frame of a consumer for a channel that is open.
func obey[E producing](l *link[E], h header) error {
	c, err := l.channel(h.channel)
	if err != nil {
		return err
	}
	switch h.kind {
	case frameCredit:
		c.credit(int(h.count))
		return nil
	case frameRelease:
		return c.release()
	default:
		return errDirection
	}
}
