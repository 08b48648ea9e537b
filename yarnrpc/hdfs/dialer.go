// Package hdfs is what HDFS access needs beside colinmarc/hdfs: the connections
// that library is handed, and the ClientProtocol calls it does not make.
//
// The library never gives up on a silent server and goes on using a connection
// whose read has failed, on which it would take an old answer for a new one.
// Its connections therefore come from a Dialer, which bounds their silence and
// makes their first failure final. The package starts no goroutine, and knows
// nothing of users' files: paths, retries and file handles are internal/dfs's.
package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// ErrDialerClosed is the failure of connections after Dialer.Close.
var ErrDialerClosed = errors.New("HDFS access is closed")

// Defaults of DialerOptions.
const (
	defaultConnectTimeout = 20 * time.Second // ipc.client.connect.timeout
	defaultSilence        = 60 * time.Second // dfs.client.socket-timeout
	keepAlive             = 30 * time.Second
)

// DialerOptions configure a Dialer. The zero value is ready to use.
type DialerOptions struct {
	// ConnectTimeout bounds one TCP connect; 20 s by default, as Hadoop's
	// ipc.client.connect.timeout.
	ConnectTimeout time.Duration
	// Silence ends a connection over which no byte has moved for so long; 60 s
	// by default, as dfs.client.socket-timeout. A NameNode connection is never
	// idle, as the library renews its lease each second; a DataNode connection
	// is when its consumer pauses, and is then opened anew.
	Silence time.Duration
	// DataTransfer is how connections to DataNodes are protected.
	DataTransfer DataTransfer
	// Dial replaces the TCP dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dialer opens the connections of one HDFS client: its methods are the
// NamenodeDialFunc and DatanodeDialFunc of hdfs.ClientOptions. It may be used
// from any goroutine.
type Dialer struct {
	options DialerOptions
	life    context.Context //nolint:containedctx // of the dialer, not of a call: ends connects that run when it is closed
	stop    context.CancelFunc

	transfer *transfer

	mu          sync.Mutex // guards what follows
	open        map[*conn]struct{}
	closed      bool
	unreachable error // why the last connect to a NameNode failed; nil after one that did not
}

// NewDialer makes a Dialer without connections.
func NewDialer(o DialerOptions) *Dialer {
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.Silence == 0 {
		o.Silence = defaultSilence
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{KeepAlive: keepAlive}).DialContext
	}
	d := &Dialer{options: o, transfer: newTransfer(o.DataTransfer, nil), open: make(map[*conn]struct{})}
	d.life, d.stop = context.WithCancel(context.Background())
	return d
}

// DialNameNode connects to a NameNode's RPC port.
func (d *Dialer) DialNameNode(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.dial(ctx, network, address)
	d.mu.Lock()
	d.unreachable = err
	d.mu.Unlock()
	return c, err
}

// DialDataNode connects to a DataNode's data transfer port. Where DataTransfer asks for a
// login by block tokens, the first operation is held back until it has succeeded.
func (d *Dialer) DialDataNode(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)() //nolint:contextcheck // the dialer's end ends this connect, too
	return d.transfer.open(ctx, address, func() (net.Conn, error) { return d.dial(ctx, network, address) })
}

// Unreachable is why the last connect to a NameNode failed, nil when it did
// not: the library passes such errors on as text alone.
func (d *Dialer) Unreachable() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unreachable
}

// Close ends all connections and refuses new ones. It may be called twice.
func (d *Dialer) Close() {
	d.stop()
	d.mu.Lock()
	d.closed = true
	open := make([]*conn, 0, len(d.open))
	for c := range d.open {
		open = append(open, c)
	}
	d.mu.Unlock()
	for _, c := range open {
		c.end(ErrDialerClosed)
	}
}

func (d *Dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.options.ConnectTimeout)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)() //nolint:contextcheck // the dialer's end ends this connect, too
	raw, err := d.options.Dial(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	c := &conn{Conn: raw, dialer: d, address: address}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errors.Join(ErrDialerClosed, raw.Close())
	}
	d.open[c] = struct{}{}
	c.mu.Lock() // it may go off at once
	defer c.mu.Unlock()
	c.silence = time.AfterFunc(d.options.Silence, c.silent)
	return c, nil
}

func (d *Dialer) forget(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, c)
}

// conn is a connection whose first failure is final: every later read and
// write gives that error again.
type conn struct {
	net.Conn
	dialer  *Dialer
	address string
	silence *time.Timer

	mu     sync.Mutex // guards reason and silence; taken after the dialer's
	reason error      // why it ended; nil while it lives
}

// Read reads what has arrived.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.moved(n, err)
}

// Write sends all of b or fails.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.moved(n, err)
}

// Close ends the connection. Closing twice is no error: the library closes
// connections that have failed.
func (c *conn) Close() error {
	c.end(net.ErrClosed)
	return nil
}

func (c *conn) moved(n int, err error) error {
	if err != nil {
		c.end(err)
		return c.ended()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && c.reason == nil {
		c.silence.Reset(c.dialer.options.Silence)
	}
	return nil
}

func (c *conn) silent() {
	c.end(fmt.Errorf("no byte to or from %s in %s: %w", c.address, c.dialer.options.Silence, os.ErrDeadlineExceeded))
}

// end closes the connection for a reason, the first of which stays.
func (c *conn) end(reason error) {
	c.mu.Lock()
	first := c.reason == nil
	if first {
		c.reason = reason
		c.silence.Stop() // for good: nothing sets it again once there is a reason
	}
	c.mu.Unlock()
	if first {
		c.dialer.forget(c)
		c.Conn.Close()
	}
}

func (c *conn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}
