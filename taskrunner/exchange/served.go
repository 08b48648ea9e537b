package exchange

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

// A block of a file fits into a buffer, and its records are no larger.
const (
	_ = uint(maxPayload - partition.MaxBlock)
	_ = uint(MaxRecord - partition.MaxRecord)
)

// servedLink is a Server's end of a connection that a consumers' host dialed.
type servedLink struct {
	link[*served]
	server *Server
	conn   net.Conn
	job    ids.JobID  // set after the greeting
	peer   ids.HostID // likewise
	next   uint32     // beyond the ids of all channels that were opened; for the connection's reader only
}

// room is memory for a block of a file on its way to a connection. A connection has one only while it sends, so that idle ones, and
// those of strangers, cost little.
type room struct {
	buffer buffer
	read   partition.Room
}

func newServedLink(s *Server, conn net.Conn) *servedLink {
	conn, cut := layered(&batch{Conn: conn, spare: &s.batches}, s.config.TLS)
	return &servedLink{link: newLink[*served](cut, s.config.maxChannels), server: s, conn: conn}
}

// handshake proves the identity of the peer by TLS, and answers its greeting.
func (l *servedLink) handshake() error {
	g, err := identify(l.conn, l.refuse)
	l.job, l.peer = g.job, g.from
	return err
}

// refuse refuses greetings for another worker, and for a job of which the peer is no host.
func (l *servedLink) refuse(g greeting) string {
	if g.to != l.server.config.Host {
		return notThisHost(l.server.config.Host, g)
	}
	secured, is := l.conn.(*tls.Conn)
	if !is {
		return ""
	}
	switch job, err := l.server.config.JobOf(secured.ConnectionState()); {
	case err != nil:
		return err.Error()
	case job != g.job:
		return fmt.Sprintf("a host of job %s may not read partitions of job %s", job, g.job)
	}
	return ""
}

// run serves the connection until it ends.
func (l *servedLink) run() {
	log := l.server.log.WithField("job", string(l.job)).WithField("peer", string(l.peer)).WithField("address", l.conn.RemoteAddr().String())
	log.Debug("reader of partitions connected")
	guests := &l.server.guests
	if err := guests.enter(l.job, l.peer); err != nil {
		log.WithError(err).Warn("connection of a reader of partitions refused")
		return
	}
	defer guests.leave(l.job, l.peer)
	err := l.serve(l.conn, func(r *intake) error {
		return readFrames(r, func(h header) error { return l.handle(h, r) })
	})
	if errors.Is(err, errTooMany) {
		log.WithError(err).Warn("connection of a reader of partitions ended")
	} else {
		log.WithError(err).Debug("connection of a reader of partitions ended")
	}
	l.fail(err)
}

func (l *servedLink) handle(h header, r *intake) error {
	if h.kind == frameOpen {
		var payload [openSize]byte
		if _, err := io.ReadFull(r, payload[:]); err != nil {
			return err
		}
		c := &served{link: l, id: h.channel, credits: int(h.count)}
		c.partition, c.channel = parseOpen(payload[:])
		return l.open(c)
	}
	c, err := l.channel(h.channel)
	if err != nil && h.channel < l.next && (h.kind == frameCredit || h.kind == frameRelease) {
		return nil // its last frame has crossed this one
	}
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

// open adds a channel, until drop or lost.
func (l *servedLink) open(c *served) error {
	if err := l.server.guests.open(l.job); err != nil {
		return err
	}
	if err := l.add(c.id, c); err != nil {
		l.server.guests.shut(l.job)
		return err
	}
	l.next = max(l.next, c.id+1)
	l.turns.add(c)
	return nil
}

// drop removes a channel whose last frame is written. It does not wait for frameRelease, which a peer may never send.
func (l *servedLink) drop(id uint32) {
	l.forget(id)
	l.server.guests.shut(l.job)
}

// served is one channel of a finished partition, at the Server.
type served struct {
	link      *servedLink
	id        uint32 // on the connection
	partition PartitionID
	channel   int

	// For the connection's writer only:
	begun  bool
	ended  bool // the last frame was written
	cursor partition.Cursor
	faults int // reads in a row that have failed

	mu       sync.Mutex // guards all below; a leaf but for the link
	credits  int
	released bool // frameRelease came
	resting  bool // until the pause after a fault is over
}

// produce writes one frame: a buffer, or the channel's end.
func (c *served) produce(w *bufio.Writer) (more bool, err error) {
	c.mu.Lock()
	credits, released, resting := c.credits, c.released, c.resting
	c.mu.Unlock()
	if c.ended || resting && !released {
		return false, nil
	}
	room := c.link.server.rooms.Get().(*room)
	defer c.link.server.rooms.Put(room) // after w has the data
	n, over := 0, released
	if !released {
		n, over, err = c.read(credits > 0, room)
	}
	switch {
	case err != nil:
		c.faults++
		kind, again := verdict(err, c.faults)
		if again {
			c.rest()
			return false, nil
		}
		c.end()
		return false, writeFailure(w, kind, c.id, err)
	case n > 0:
		c.faults = 0
		c.credit(-1)
		backlog := maxPerChannel - 1
		if over {
			backlog = 0
		}
		room.buffer.end = headerSize + n
		return true, writeData(w, c.id, &room.buffer, backlog)
	case over:
		c.end()
		return false, writeFrame(w, header{kind: frameEnd, channel: c.id}, nil)
	}
	return false, nil // it waits for credit
}

// read reads the next records into the buffer of a room, if there is credit. over tells whether nothing follows.
func (c *served) read(credit bool, room *room) (n int, over bool, err error) {
	if c.begun && !credit && !c.cursor.Done() {
		return 0, false, nil
	}
	if c.begun && c.cursor.Done() {
		return 0, true, nil
	}
	v, err := c.link.server.shelf.borrow(c.link.job, c.partition)
	if err != nil {
		return 0, false, err
	}
	defer c.link.server.shelf.giveBack(v)
	if !c.begun {
		if c.cursor, err = v.file.Cursor(c.channel); err != nil {
			return 0, false, err
		}
		c.begun = true
	}
	if credit && !c.cursor.Done() {
		n, err = v.file.Read(&c.cursor, room.buffer.data[headerSize:][:maxPayload], &room.read)
	}
	return n, c.cursor.Done(), err
}

// rest makes the channel try again after a pause. The others on the connection go on.
func (c *served) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting = true
	time.AfterFunc(faultPause, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.resting = false
		c.link.turns.add(c)
	})
}

// end ends the channel with the frame that produce writes now.
func (c *served) end() {
	c.ended = true
	c.link.drop(c.id)
}

func (c *served) credit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.credits += n
	if n > 0 {
		c.link.turns.add(c)
	}
}

// release handles the consumer's last frame.
func (c *served) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return errAfterEnd
	}
	c.released = true
	c.link.turns.add(c) // the writer answers with the end
	return nil
}

// lost implements endpoint. Nothing waits for the consumer.
func (c *served) lost(error) { c.link.server.guests.shut(c.link.job) }
