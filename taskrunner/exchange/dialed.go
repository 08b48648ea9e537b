package exchange

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// dialTimeout bounds the time to reach another host, 30 s: with thousands of
// hosts that start at once, the first packets get lost.
const dialTimeout = 30 * time.Second

// dialedLink is the consumers' end of a connection to a producers' host.
type dialedLink struct {
	link[*incoming]
	exchange *Exchange
	host     ids.HostID
	address  string
	next     uint32 // id of the next channel; guarded by the exchange's mutex
}

// run dials, greets and serves the connection until it ends or ctx does.
func (l *dialedLink) run(ctx context.Context) {
	log := l.exchange.log.WithField("peer", string(l.host)).WithField("address", l.address)
	conn, err := l.dial(ctx)
	if err == nil {
		log.Debug("connected to producers' host")
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		err = l.serve(conn, func(r *bufio.Reader) error {
			return readFrames(r, func(h header) error { return l.handle(h, r) })
		})
		stop()
	}
	log.WithError(err).Debug("connection to producers' host ended")
	l.exchange.disconnected(l)
	l.fail(l.exchange.lost(l.host, l.address, err))
}

func (l *dialedLink) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dialer := net.Dialer{KeepAliveConfig: keepAlive}
	plain, err := dialer.DialContext(ctx, "tcp", l.address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { plain.Close() }) // which ends TLS over it, too
	defer stop()
	conn := plain
	if config := l.exchange.config.ClientTLS; config != nil {
		conn = tls.Client(plain, config)
	}
	err = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	if err == nil {
		err = greet(conn, l.exchange.greeting(l.host))
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err == nil && !l.establish() {
		err = ErrClosed
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (l *dialedLink) handle(h header, r *bufio.Reader) error {
	in, err := l.channel(h.channel)
	if err != nil {
		return err
	}
	switch h.kind {
	case frameData:
		return receive(in, h, r)
	case frameEnd:
		return in.finish(nil)
	case frameFail:
		text := make([]byte, h.length)
		if _, err := io.ReadFull(r, text); err != nil {
			return err
		}
		return in.finish(&PeerLostError{Host: l.host, Address: l.address, Err: errors.New(string(text))})
	default:
		return errDirection
	}
}

// receive reads a buffer's payload into the memory that its credit set aside.
func receive(in *incoming, h header, r *bufio.Reader) error {
	b, err := in.expect()
	if err != nil {
		return err
	}
	if b == nil {
		_, err := r.Discard(h.length)
		return err
	}
	b.end = headerSize + h.length
	if _, err := io.ReadFull(r, b.payload()); err != nil {
		in.abandon(b)
		return fmt.Errorf("buffer of %d bytes cut short: %w", h.length, err)
	}
	in.deliver(b, int(h.count))
	return nil
}
