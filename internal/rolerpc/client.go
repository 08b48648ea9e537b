package rolerpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/liveness"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// errConnClosed says that this end has closed the connection.
var errConnClosed = errors.New("connection is closed")

// Client times.
const (
	// dialTimeout bounds the time until the other machine accepts the connection.
	dialTimeout = 5 * time.Second
	// connectTimeout bounds that and TLS. At an ApplicationMaster with strangers in its queue, this
	// worker has to wait for all that came before it. The queue holds 4,097 (Linux's
	// net.core.somaxconn), and 63 of them have their turn each 250 ms (package doorstep), which
	// takes 16.3 s. A worker that gave up sooner would start at the queue's end each time.
	connectTimeout = 30 * time.Second
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 2 * time.Second // callers wait longer themselves
)

// Conn is the dialing end: a TaskExecutor's only connection to its ApplicationMaster. It
// connects when a stream is opened, and again after a loss.
type Conn struct {
	address string
	grpc    *grpc.ClientConn
	logger  logrus.FieldLogger
	streams sync.WaitGroup

	mu     sync.Mutex // guards closed, and streams.Add against Close
	closed bool
}

// NewConn makes a Conn to "host:port". It sends nothing before the first Open.
func NewConn(address string, config Config) (*Conn, error) {
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return newConn(address, config, func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return liveness.Watch(conn, config.Unreachable), nil
	})
}

func newConn(address string, config Config, dial func(context.Context) (net.Conn, error)) (*Conn, error) {
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(credentials.NewTLS(config.TLS)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(maxFrame), grpc.MaxCallSendMsgSize(maxFrame)),
		grpc.WithReadBufferSize(noBuffer), grpc.WithWriteBufferSize(writeBuffer),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithIdleTimeout(0), // a connection without streams is kept
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return &Conn{address: address, grpc: conn, logger: config.Logger}, nil
}

// Open opens a stream to a role and returns when the role has accepted it. It connects first
// if necessary. The error is ErrUnknownTarget if there is no such role, ErrNotReady if it is being
// started, and errConnClosed after Close. ctx bounds only the opening. The handler may be called before Open returns.
func (c *Conn) Open(ctx context.Context, target string, h Handler) (*Stream, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, fmt.Errorf("open stream to %s at %s: %w", target, c.address, errConnClosed)
	}
	c.streams.Add(1) // until the stream has ended, or has failed to open
	c.mu.Unlock()

	// A caller that tries again wants an attempt now, not after gRPC's pause.
	if c.grpc.GetState() == connectivity.TransientFailure {
		c.grpc.ResetConnectBackoff()
	}
	lifetime, cancel := context.WithCancel(metadata.AppendToOutgoingContext(context.WithoutCancel(ctx), targetHeader, target))
	release := context.AfterFunc(ctx, cancel)
	w, from, err := c.dial(lifetime, cancel)
	if !release() { // ctx has ended the opening, or is about to end the stream
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		c.streams.Done()
		return nil, fmt.Errorf("open stream to %s at %s: %w", target, c.address, err)
	}
	stream := NewStream(ctx, from, target, w, c.logger)
	go func() {
		defer c.streams.Done()
		defer cancel()
		stream.Run(h)
	}()
	return stream, nil
}

// dial opens the gRPC stream and waits for the server's header, which says that the target has
// accepted it.
func (c *Conn) dial(ctx context.Context, cancel context.CancelFunc) (*clientWire, Peer, error) {
	desc := &grpc.StreamDesc{StreamName: methodName, ServerStreams: true, ClientStreams: true}
	stream, err := c.grpc.NewStream(ctx, desc, "/"+serviceName+"/"+methodName)
	if err != nil {
		return nil, Peer{}, refused(err)
	}
	header, err := stream.Header()
	if err == nil && header == nil { // refused: the status comes instead of a message
		var none []byte
		err = stream.RecvMsg(&none)
	}
	if err != nil {
		return nil, Peer{}, refused(err)
	}
	from, err := peerOf(stream.Context()) //nolint:contextcheck // gRPC's own, which knows the peer
	if err != nil {
		return nil, Peer{}, err
	}
	return &clientWire{stream: stream, cancel: cancel}, from, nil
}

// refused is the opposite of refusal.
func refused(err error) error {
	switch status.Code(err) {
	case codes.NotFound:
		return fmt.Errorf("%w: %s", ErrUnknownTarget, status.Convert(err).Message())
	case codes.Aborted:
		return fmt.Errorf("%w: %s", ErrNotReady, status.Convert(err).Message())
	default:
		return err
	}
}

// Close cuts the connection and waits for the streams' handlers. A handler must not call it.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	err := c.grpc.Close()
	c.streams.Wait()
	if err != nil && status.Code(err) != codes.Canceled { // closed before
		return fmt.Errorf("close connection to %s: %w", c.address, err)
	}
	return nil
}

// clientWire is a stream that this end opened.
type clientWire struct {
	stream grpc.ClientStream
	cancel context.CancelFunc
}

func (w *clientWire) Send(f Frame) error {
	data, err := EncodeFrame(f)
	if err != nil {
		return err
	}
	return w.stream.SendMsg(data)
}

func (w *clientWire) CloseSend() error { return w.stream.CloseSend() }

func (w *clientWire) Receive(kinds msg.Kinds) (Frame, error) {
	return receiveFrame(w.stream.RecvMsg, kinds)
}

func (w *clientWire) Shut() { w.cancel() }

// receiveFrame receives a frame of either end.
func receiveFrame(receive func(any) error, kinds msg.Kinds) (Frame, error) {
	var data []byte
	switch err := receive(&data); {
	case errors.Is(err, io.EOF):
		return Frame{}, ErrPeerGone
	case err != nil:
		return Frame{}, fmt.Errorf("%w: %w", ErrPeerGone, err)
	}
	return decodeApart(data, kinds)
}

// decodeApart is DecodeFrame in a goroutine of its own. Decoding needs three times the stack of a wait for the next
// frame. The stack of the waiting goroutine would grow to 16 KiB for the first message, and would stay so.
func decodeApart(data []byte, kinds msg.Kinds) (f Frame, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f, err = DecodeFrame(data, kinds)
	}()
	<-done
	return f, err
}
