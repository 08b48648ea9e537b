// Package hdfs complements colinmarc/hdfs. It opens the connections for that library, and provides
// functions that the library lacks or implements differently: most calls of ClientProtocol, and
// reading.
//
//	Dialer       logs in at NameNodes and DataNodes, for the library and for NameNode
//	NameNode     files and directories, places of blocks, renames that replace nothing, delegation tokens
//	BlockReader  reads a block
//	FromConf     the options in a Hadoop configuration
//	TokenSource  chooses a process' token for a NameNode
//
// The library supports neither tokens nor proxy users. It ignores hadoop.rpc.protection and sends
// its calls unprotected. It waits for ever for a silent server, and takes an old answer for a new
// one after a failed read. It aborts the writing of a file when the NameNode fails over. It returns
// data with wrong checksums, and treats encrypted and striped files as plain ones. So the program
// gives it connections of a Dialer, and leaves its authentication and protection off:
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
// A Dialer has only the goroutines of its yarnrpc.Proxy. Paths and file handles are not part of
// this package: see internal/dfs.
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

// ErrDialerClosed says that the Dialer was closed.
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
	life     context.Context //nolint:containedctx // of the dialer, not of a call: Close ends it
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
	if o.Observe == nil {
		o.Observe = func(Transfer) {}
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

// NameNode returns a client that shares the connection of the library's calls.
func (d *Dialer) NameNode() *NameNode { return NewNameNode(d.proxy) }

// DialNameNode returns a connection to the NameNodes for the library. It ignores address, so the
// library needs only one address with any name. It does not connect yet. Each call goes to the
// active NameNode, with the tries of DialerOptions.Policy and the limits of RPC. The library does
// not notice fail-overs, even in the middle of a file. A connection renews leases every 20 s, and
// only if a file may be open for writing. A failed call does not break the connection.
//
// The library's errors wrap the *yarnrpc.CallError of a call without an answer, for example after a
// failed login. For a NameNode's exceptions the library has its own errors. For encrypted and
// striped files the error is ErrEncryptionZone or ErrErasureCoded.
func (d *Dialer) DialNameNode(_ context.Context, _, address string) (net.Conn, error) {
	if err := context.Cause(d.life); err != nil { //nolint:contextcheck // a connection lives as long as the dialer
		return nil, err
	}
	return newCallConn(d.life, d.transfer.caller(d.proxy), d.nodes, address), nil //nolint:contextcheck // see above
}

// DialDataNode connects to a DataNode's data transfer port. If DataTransfer requires a login by
// block tokens, the first operation waits until the login has succeeded. The connection passes on
// only bytes whose checksum is right (ErrChecksum). For five minutes after a DataNode has failed, new
// blocks are placed on others, if there are any.
func (d *Dialer) DialDataNode(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.openDataNode(ctx, network, address)
	if err != nil {
		if _, away := errors.AsType[connectError](err); away && ctx.Err() == nil && d.life.Err() == nil {
			d.nodes.note(address, true)
		}
		d.options.Observe(Transfer{Address: address, Write: true, Err: err})
		return nil, err
	}
	conn.answered = func(took time.Duration, err error) {
		d.options.Observe(Transfer{Address: address, Write: true, Took: took, Err: err})
	}
	return conn, nil
}

func (d *Dialer) openDataNode(ctx context.Context, network, address string) (*blockConn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.life, func() { cancel(ErrDialerClosed) })() //nolint:contextcheck // the dialer's end also ends this connect
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
	c := &conn{Conn: raw, dialer: d, address: address}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errors.Join(ErrDialerClosed, raw.Close())
	}
	d.open[c] = struct{}{}
	c.mu.Lock() // the timer may expire at once
	defer c.mu.Unlock()
	c.silence = time.AfterFunc(d.options.Silence, c.silent)
	return c, nil
}

// connectError says that the client could not connect to a DataNode. A later failure, such as a refused
// login, is the DataNode's answer.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

func (d *Dialer) forget(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, c)
}

// conn is a connection to a DataNode whose first failure is final: every later read and write returns
// the same error. If the DataNode ends the connection, the error is io.ErrUnexpectedEOF. The library
// would take io.EOF for the end of a block, but the block's last packet marks that.
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
	c.dialer.nodes.note(c.address, true)
	c.end(fmt.Errorf("no byte was transferred for %s: %w", c.dialer.options.Silence, os.ErrDeadlineExceeded))
}

// end closes the connection for a reason. The first reason stays.
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
