package yarnrpc

import (
	"context"
	"crypto/rand"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Conn is a connection to one server. Any number of goroutines may call through it at
// once. The server chooses the order of the answers. An unused Conn closes itself after
// Options.MaxIdle. A broken Conn stays broken; a Proxy makes a new one.
type Conn struct {
	address    string
	o          Options
	log        *slog.Logger
	identity   *identity
	conn       net.Conn    // below protection
	protection *protection // nil: none

	calls  sync.Pool     // of *pendingCall, between calls
	room   chan struct{} // holds one for each call that waits for its answer
	queued chan struct{} // to the writer: there is something to write; capacity 1
	ended  chan struct{} // closed with err set, by end
	gone   chan struct{} // closed when no goroutine is left

	// Of the reader: the received bytes, the unwrapped bytes, and whether the server has
	// answered a call.
	inbox, unwrapped wire.Inbox
	answered         bool
	// Of the writer: a batch of frames, and its protected form.
	frames, wrapped []byte

	mu       sync.Mutex // guards what follows
	pending  map[int32]*pendingCall
	outgoing []*pendingCall // pending calls of which nothing has been written
	ping     bool           // a ping is to be written
	err      error          // why the connection takes no more calls
	writeErr error          // why the writer has stopped; the reader then ends the connection
	retired  bool           // the Conn ends when the last pending call has its answer
	heard    time.Time      // when the last answer came
	pinged   time.Time      // when the last ping was due
	used     time.Time      // when the last pending call ended
}

// identity numbers the calls of a client. Servers with a retry cache recognize a call by
// client and number, over all connections and tries.
type identity struct {
	client [wire.ClientIDLength]byte
	last   atomic.Uint32
}

func newIdentity() *identity {
	id := &identity{}
	rand.Read(id.client[:]) // never fails
	return id
}

// call numbers a new call, from 0 up. Negative numbers mean other frames.
func (id *identity) call(protocol, method string) wire.Call {
	return wire.Call{
		ID:       int32(id.last.Add(1) & math.MaxInt32),
		ClientID: id.client[:],
		Protocol: protocol,
		Method:   method,
	}
}

// newConn makes a Conn on conn, whose handshake is done and has agreed on protection;
// nil: none.
func newConn(conn net.Conn, protection *protection, address string, o Options, id *identity) *Conn {
	now := time.Now()
	c := &Conn{
		address:    address,
		o:          o,
		log:        o.Logger.With("address", address),
		identity:   id,
		conn:       conn,
		protection: protection,
		room:       make(chan struct{}, o.MaxCalls),
		queued:     make(chan struct{}, 1),
		ended:      make(chan struct{}),
		gone:       make(chan struct{}),
		inbox:      wire.Inbox{Limit: o.MaxResponse},
		unwrapped:  wire.Inbox{Limit: o.MaxResponse},
		pending:    make(map[int32]*pendingCall),
		heard:      now,
		used:       now,
	}
	if protection != nil { // servers put each answer into one wrapper
		c.inbox.Limit = min(o.MaxResponse, math.MaxInt32-wrapping) + wrapping
	}
	var tasks sync.WaitGroup
	tasks.Go(c.keep)
	tasks.Go(c.write)
	go func() { // ends with the connection, as the others do
		defer close(c.gone)
		c.read()
		tasks.Wait()
	}()
	c.log.Debug("connection opened")
	return c
}

// Call makes a call. See Caller.
func (c *Conn) Call(ctx context.Context, method string, request, response proto.Message) error {
	return c.call(ctx, c.identity.call(c.o.Protocol, method), request, response)
}

// Close ends the connection and the calls on it, and waits for its goroutines.
func (c *Conn) Close() error {
	c.end(ErrClosed, true)
	<-c.gone
	return nil
}

// finished reports whether the goroutines have ended.
func (c *Conn) finished() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.ended }

// Err returns the reason why the connection takes no more calls. It is nil while the
// connection takes calls.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed()
}

// closed returns the reason why no call can be added; nil: calls can be added. c.mu is
// held.
func (c *Conn) closed() error {
	if c.err == nil && c.retired {
		return ErrClosed
	}
	return c.err
}

// retire ends the connection when the pending calls have their answers.
func (c *Conn) retire() {
	c.mu.Lock()
	c.retired = true
	empty := len(c.pending) == 0
	c.mu.Unlock()
	if empty {
		c.end(ErrClosed, false)
	}
}

// end makes the connection refuse new calls, and fails the pending calls with cause.
// executed says that the server may have executed those that were sent. end also runs in
// callers, so it does not block: keep closes the network connection.
func (c *Conn) end(cause error, executed bool) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = cause
	orphans := c.pending
	c.pending, c.outgoing = nil, nil
	c.mu.Unlock()

	close(c.ended)
	for _, call := range orphans {
		call.outcome <- outcome{err: cause, maybeSent: executed && call.sent}
	}
	c.log.Debug("connection ended", "calls", len(orphans), "error", cause)
}
