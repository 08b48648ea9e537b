package exchange

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

const (
	// guestIdle is the time after which a Server closes a connection on which no channel is open, 5 min. A host closes it earlier: see
	// idleTime. A channel may wait for credit as long as its task likes.
	guestIdle = 5 * time.Minute
	// takeTime is how long a host may take to receive 64 KiB, 5 min. A Server sends only against credit, so a host that works receives at
	// once. The roles end a host that does not work before that (heartbeat.timeout).
	takeTime = 5 * time.Minute
)

// servedLink is a Server's end of a connection that a consumers' host dialed.
type servedLink struct {
	link[*served]
	server *Server
	conn   net.Conn
	job    ids.JobID  // set after the greeting
	peer   ids.HostID // likewise
	guest  bool       // the server's guests count the connection
	next   uint32     // beyond the ids of all channels that were opened; for the connection's reader only

	idle sync.Mutex // guards open and the read deadline of conn
	open int        // channels
}

func newServedLink(s *Server, conn net.Conn) *servedLink {
	conn, cut := layered(&batch{Conn: conn, memory: s.batches}, s.config.TLS)
	return &servedLink{link: newLink[*served](cut, s.config.maxChannels), server: s, conn: conn}
}

// handshake proves the identity of the peer by TLS, and answers its greeting.
func (l *servedLink) handshake() error {
	g, err := identify(l.conn, l.refuse)
	l.job, l.peer = g.job, g.from
	if err != nil && l.guest {
		l.server.guests.leave(l.job, l.peer)
	}
	return err
}

// refuse refuses greetings of strangers, and of a job that has too many connections. Otherwise it counts the connection: a peer that is
// welcome relies on it.
func (l *servedLink) refuse(g greeting) string {
	if why := l.strange(g); why != "" {
		return why
	}
	if err := l.server.guests.enter(g.job, g.from); err != nil {
		l.server.warnBusy(err)
		return err.Error()
	}
	l.guest = true
	return ""
}

// strange refuses greetings for another worker, and for a job of which the peer is no host.
func (l *servedLink) strange(g greeting) string {
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
	defer l.server.guests.leave(l.job, l.peer)
	l.count(0)
	batchBelow(l.conn).expect(takeTime)
	err := l.serve(l.conn, func(r *intake) error {
		err := readFrames(r, func(h header) error { return l.handle(h, r) })
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("no channel was open for %s: %w", guestIdle, err)
		}
		return err
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
		return l.request(h, r)
	}
	err := obey(&l.link, h)
	if errors.Is(err, errNoChannel) && h.channel < l.next && (h.kind == frameCredit || h.kind == frameRelease) {
		return nil // its last frame has crossed this one
	}
	return err
}

// count counts open channels more or less. While there is none, the time of the connection runs.
func (l *servedLink) count(more int) {
	l.idle.Lock()
	defer l.idle.Unlock()
	l.open += more
	var deadline time.Time
	if l.open == 0 {
		deadline = time.Now().Add(guestIdle)
	} else if l.open != more {
		return
	}
	_ = l.conn.SetReadDeadline(deadline) // an error says that the connection has ended
}

// request adds a channel, until drop or lost.
func (l *servedLink) request(h header, r *intake) error {
	c := &served{link: l, id: h.channel, credits: int(h.count)}
	var err error
	if c.partition, c.channel, err = readOpen(r, h); err != nil {
		return err
	}
	switch err := l.server.guests.open(l.job); {
	case errors.Is(err, errBusy):
		l.server.warnBusy(err)
		c.refused, c.state, c.fetched = true, servedReady, fetched{err: err}
	case err != nil:
		return err
	}
	if err := l.add(c.id, c); err != nil {
		l.server.guests.shut(l.job, c.refused)
		return err
	}
	l.next = max(l.next, c.id+1)
	l.count(1)
	if c.refused { // behind the reads of others it would be counted for long
		l.turns.addFirst(c)
	} else {
		l.turns.add(c)
	}
	return nil
}

// drop removes a channel whose last frame is written. It does not wait for frameRelease, which a peer may never send.
func (l *servedLink) drop(c *served) {
	l.forget(c.id)
	l.count(-1)
	l.server.guests.shut(l.job, c.refused)
}
