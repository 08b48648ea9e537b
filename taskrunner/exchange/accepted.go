package exchange

import (
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// acceptedLink is the producers' end of a connection that the consumers' host dialed.
type acceptedLink struct {
	link[*outgoing]
	exchange *Exchange
	conn     net.Conn
	peer     ids.HostID // set after the greeting
}

func newAcceptedLink(e *Exchange, conn net.Conn) *acceptedLink {
	conn, cut := layered(&batch{Conn: conn}, e.config.ServerTLS)
	return &acceptedLink{link: newLink[*outgoing](cut, e.config.maxChannels), exchange: e, conn: conn}
}

// handshake proves the identity of the peer by TLS, and answers its greeting.
func (l *acceptedLink) handshake() error {
	g, err := identify(l.conn, forHost(l.exchange.config.Job, l.exchange.config.Host))
	l.peer = g.from
	return err
}

// run serves the connection until it ends.
func (l *acceptedLink) run() {
	address := l.conn.RemoteAddr().String()
	log := l.exchange.log.WithField("peer", string(l.peer)).WithField("address", address)
	log.Debug("consumers' host connected")
	err := l.serve(l.conn, func(r *intake) error {
		return readFrames(r, func(h header) error { return l.handle(h, r) })
	})
	log.WithError(err).Debug("connection of consumers' host ended")
	l.fail(l.exchange.lost(l.peer, address, err))
}

func (l *acceptedLink) handle(h header, r *intake) error {
	if h.kind != frameOpen {
		return obey(&l.link, h)
	}
	partition, channel, err := readOpen(r, h)
	if err != nil {
		return err
	}
	o := &outgoing{link: l, id: h.channel, credits: int(h.count)}
	if err := l.add(h.channel, o); err != nil {
		return err
	}
	e := l.exchange
	e.registry.request(partition, channel, o, time.Now().Add(e.config.RequestTimeout))
	return nil
}
