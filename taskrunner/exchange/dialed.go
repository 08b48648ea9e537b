package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/liveness"
	"github.com/bobbin-yarn/bobbin/internal/pause"
)

const (
	// dialTimeout bounds the time to connect to another host and prove the identity, 30 s. A longer
	// Config.RequestTimeout replaces it. When thousands of hosts start at once, the first packets
	// get lost, and unknown peers wait for their turn.
	dialTimeout = 30 * time.Second
	// Pauses between attempts to reach a host that closes connections double, from firstPause to
	// longestPause.
	firstPause   = 20 * time.Millisecond
	longestPause = 640 * time.Millisecond
	// idleTime is the time after which a host closes a connection that no channel uses, 10 s, and half of it later at most. It never
	// uses such a connection again, because the other end may have closed it. A new one costs both ends some milliseconds, and an idle
	// one memory of a worker that may serve thousands of hosts.
	idleTime = 10 * time.Second
)

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
		err = l.serve(conn, func(r *intake) error {
			return readFrames(r, func(h header) error { return l.handle(h, r) })
		})
		stop()
	}
	log.WithError(err).Debug("connection to producers' host ended")
	l.exchange.disconnected(l)
	l.fail(l.exchange.lost(l.host, l.address, err))
}

// dial connects to the other host, which then knows this one. It tries again if a connection ends
// before the answer: the other end accepts a limited number of unknown peers at a time, and
// disconnects the slow ones. If all attempts fail so for Config.RequestTimeout, dial takes the
// other end for no host of this job, unless it has proved that it is one.
func (l *dialedLink) dial(ctx context.Context) (net.Conn, error) {
	timeout := l.exchange.config.RequestTimeout
	strange := time.Now().Add(timeout) // until then all connections may end so
	most := max(dialTimeout, timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it was not reached within %s", most))
	defer cancel()
	ours := false
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		conn, proved, err := l.connect(ctx)
		ours = ours || proved
		if err == nil || !cutOff(err) || !ours && time.Now().Add(wait).After(strange) || pause.For(ctx, wait) != nil {
			if err != nil && ctx.Err() != nil { // the deadline is the cause
				err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
			return conn, err
		}
	}
}

// connect makes one attempt. proved tells whether the other end has shown the certificate of a host
// of the job, even if the attempt fails.
func (l *dialedLink) connect(ctx context.Context) (_ net.Conn, proved bool, _ error) {
	plain, err := l.exchange.config.Dial(ctx, "tcp", l.address)
	if err != nil {
		return nil, false, err
	}
	var conn net.Conn = &batch{Conn: liveness.Watch(plain, l.exchange.config.Unreachable)}
	stop := context.AfterFunc(ctx, func() { plain.Close() }) // this also ends TLS over it
	defer stop()
	if config := l.exchange.config.ClientTLS; config != nil {
		secured := tls.Client(conn, config)
		if conn, err = secured, secured.HandshakeContext(ctx); err != nil {
			err = fmt.Errorf("establish TLS: %w", err)
		}
		proved = err == nil
	}
	if err == nil {
		err = greet(conn, l.exchange.greeting(l.host))
	}
	if err == nil && !l.establish() {
		err = ErrClosed
	}
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, proved, err
	}
	return conn, proved, nil
}

// cutOff tells whether the other end closed the connection.
func cutOff(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

func (l *dialedLink) handle(h header, r *intake) error {
	in, err := l.channel(h.channel)
	if err != nil {
		return err
	}
	switch h.kind {
	case frameData:
		return receive(in, h, r)
	case frameEnd:
		return in.finish(nil)
	case frameFail, frameLost:
		text, err := r.small(h)
		if err != nil {
			return err
		}
		why := said(string(text))
		if h.kind == frameLost {
			return in.finish(&PartitionLostError{Partition: in.channel.producer.Partition, Host: l.host, Address: l.address, Err: why})
		}
		return in.finish(&PeerLostError{Host: l.host, Address: l.address, Err: why})
	default:
		return errDirection
	}
}

// receive reads a buffer's payload into the memory reserved by its credit.
func receive(in *incoming, h header, r *intake) error {
	b, err := in.expect()
	if err != nil {
		return err
	}
	if b == nil {
		_, err := r.Discard(h.length)
		return err
	}
	if err := r.payload(b, h); err != nil {
		in.abandon(b)
		return err
	}
	in.deliver(b, int(h.count))
	return nil
}
