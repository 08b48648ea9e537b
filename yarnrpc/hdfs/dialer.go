// Package hdfs is what HDFS access needs beside colinmarc/hdfs: the connections that
// library is handed, and what it does not do, or does otherwise: most calls of ClientProtocol,
// and reading.
//
//	Dialer       logs in at NameNodes and DataNodes, for the library and for NameNode
//	NameNode     files and directories, where blocks lie, renames that replace nothing, delegation tokens
//	BlockReader  reads a block
//	FromConf     what a Hadoop configuration says of all that
//	TokenSource  which of a process' tokens is for a NameNode
//
// The library knows neither tokens nor proxy users, sends its calls in the clear
// whatever hadoop.rpc.protection says, never gives up on a silent server, takes an old
// answer for a new one after a read that failed, ends a file that is written when
// the NameNode fails over, passes on what does not fit its checksums, and takes encrypted
// and striped files for plain ones. So it gets connections from a Dialer, and its
// authentication and its protection stay off:
//
//	o, err := hdfs.FromConf(conf, "nameservice1", "alice")
//	o.RPC.Login = login // kerberos.FromCache, kerberos.FromKeytab
//	dialer := hdfs.NewDialer(o)
//	client, err := colinmarc.NewClient(colinmarc.ClientOptions{
//		Addresses:           []string{"nameservice1"},
//		User:                "alice",
//		NamenodeDialFunc:    dialer.DialNameNode,
//		DatanodeDialFunc:    dialer.DialDataNode,
//		UseDatanodeHostname: o.UseDatanodeHostname,
//	})
//
// A Dialer has the goroutines of its yarnrpc.Proxy. The package knows nothing of users'
// files: paths and file handles are internal/dfs's.
package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// ErrDialerClosed is the failure of connections after Dialer.Close.
var ErrDialerClosed = errors.New("HDFS access is closed")

// Defaults of DialerOptions.
const (
	defaultConnectTimeout = 20 * time.Second // ipc.client.connect.timeout
	defaultSilence        = 60 * time.Second // dfs.client.socket-timeout
	keepAlive             = 30 * time.Second
)

// Dialer opens the connections of one HDFS client: its methods are the
// NamenodeDialFunc and DatanodeDialFunc of hdfs.ClientOptions. It may be used
// from any goroutine.
type Dialer struct {
	options  DialerOptions
	proxy    *yarnrpc.Proxy // of the NameNodes
	transfer *transfer
	nodes    *dataNodes
	idle     idleConns
	life     context.Context //nolint:containedctx // of the dialer, not of a call: ends what runs when it is closed
	stop     context.CancelCauseFunc

	mu     sync.Mutex // guards what follows
	open   map[*conn]struct{}
	closed bool
}

// NewDialer makes a Dialer without connections.
func NewDialer(o DialerOptions) *Dialer {
	if o.RPC.ConnectTimeout == 0 {
		o.RPC.ConnectTimeout = defaultConnectTimeout
	}
	if o.Silence == 0 {
		o.Silence = defaultSilence
	}
	if o.Silence < 0 {
		o.Silence = math.MaxInt64
	}
	if o.RPC.Dial == nil {
		o.RPC.Dial = (&net.Dialer{KeepAlive: keepAlive}).DialContext
	}
	o.RPC.Protocol = yarnrpc.HDFSClientProtocol
	d := &Dialer{options: o, proxy: yarnrpc.NewProxy(o.Addresses, o.RPC, o.Policy), open: make(map[*conn]struct{})}
	d.transfer = newTransfer(o.DataTransfer, d.proxy)
	d.nodes = newDataNodes(o.UseDatanodeHostname)
	d.life, d.stop = context.WithCancelCause(context.Background())
	return d
}

// NameNode makes calls over the connection that the library's go over.
func (d *Dialer) NameNode() *NameNode { return NewNameNode(d.proxy) }

// DialNameNode gives what the library takes for a connection to a NameNode; which one is
// not asked, so that one address will do, of any name. Nothing is connected yet. Each
// call goes to the active NameNode, is tried as DialerOptions.Policy says, and bounded
// as RPC says: fail-overs do not show, in the middle of a file neither. Leases are
// renewed every 20 s, and by those alone who may have a file open for writing. A call
// that has failed leaves the connection as it was.
//
// The library's errors hold the *yarnrpc.CallError of a call without an answer, such as
// one of which the login failed; a NameNode's exceptions are errors of its own. Files
// that the library would read or write as garbage are ErrEncryptionZone or
// ErrErasureCoded.
func (d *Dialer) DialNameNode(_ context.Context, _, address string) (net.Conn, error) {
	if err := context.Cause(d.life); err != nil { //nolint:contextcheck // a connection lives as long as the dialer
		return nil, err
	}
	return newCallConn(d.life, d.transfer.caller(d.proxy), address), nil //nolint:contextcheck // see above
}

// DialDataNode connects to a DataNode's data transfer port. Where DataTransfer asks for a
// login by block tokens, the first operation is held back until it has succeeded. Of a block
// no byte is read that does not fit its checksum (ErrChecksum).
func (d *Dialer) DialDataNode(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.openDataNode(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

func (d *Dialer) openDataNode(ctx context.Context, network, address string) (*blockConn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.life, func() { cancel(ErrDialerClosed) })() //nolint:contextcheck // the dialer's end ends this connect, too
	return d.transfer.open(ctx, address, func() (net.Conn, error) { return d.dial(ctx, network, address) })
}

// Close ends all connections and refuses new ones. It may be called twice.
func (d *Dialer) Close() error {
	d.stop(ErrDialerClosed)
	d.idle.close()
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
	return d.proxy.Close()
}

func (d *Dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if limit := d.options.RPC.ConnectTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	raw, err := d.options.RPC.Dial(ctx, network, address)
	if err != nil {
		return nil, connectError{fmt.Errorf("connect to %s: %w", address, err)}
	}
	c := &conn{Conn: raw, dialer: d}
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

// connectError marks that a DataNode could not be connected to. What fails later, such as a login, is
// its answer.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

func (d *Dialer) forget(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, c)
}

// conn is a connection to a DataNode whose first failure is final: every later read
// and write gives that error again. Where the DataNode ends it, that is
// io.ErrUnexpectedEOF: the library takes io.EOF for the end of a block, whose last packet
// says so itself.
type conn struct {
	net.Conn
	dialer  *Dialer
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
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
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
	c.end(fmt.Errorf("no byte has moved in %s: %w", c.dialer.options.Silence, os.ErrDeadlineExceeded))
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
