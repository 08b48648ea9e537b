package rolerpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/liveness"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// The one gRPC method, and the header that names the target.
const (
	serviceName  = "bobbin.RoleService"
	methodName   = "Stream"
	targetHeader = "bobbin-target"
)

// The sizes of a connection's buffers, in bytes. gRPC's default of 32 KiB for each would be most of an idle
// connection's memory. TLS has the bytes of a record in a buffer anyway, so another one for reading saves no system
// call. Connections share their buffers for writing.
const (
	noBuffer    = 0
	writeBuffer = 8 << 10
	// window is the number of bytes that a peer may send on a stream before this end reads them. A longer message gets
	// the rest of its room when the stream begins to read it. If gRPC chose the window, it would send a ping after each
	// message to measure the connection, and buffer up to 16 MiB of a fast peer.
	window = 64 << 10
)

const (
	// never is the interval of gRPC's own pings. They would detect a process that does not answer,
	// which is the roles' task: see the package comment. Without this setting gRPC sends pings
	// after two hours.
	never = time.Duration(math.MaxInt64)
	// handshakeTimeout is how long a peer may take to prove its identity. doorstep bounds the
	// resources that it can use until then.
	handshakeTimeout = 20 * time.Second
	// maxStreams bounds the streams of one connection: one for the
	// ResourceManager and one for each job with a slot there.
	maxStreams = 1024
	// maxHeaders bounds the headers of one stream, in bytes: the target, and gRPC's own. gRPC's default is 16 MiB.
	maxHeaders = 4 << 10
)

// Config holds the options of either end of a connection.
type Config struct {
	// TLS is Credentials.ServerTLS or ClientTLS. They check the peer's role.
	TLS *tls.Config
	// Unreachable is the time after which a peer is lost if its machine acknowledges
	// nothing (config.Unreachable). 0: never.
	Unreachable time.Duration
	// Dial connects NewConn's Conn. nil: TCP. Tests in a bubble have no sockets.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Logger logrus.FieldLogger
}

// Server is the listening end: the ApplicationMaster's.
type Server struct {
	mux         *Mux
	grpc        *grpc.Server
	unreachable time.Duration
	logger      logrus.FieldLogger
}

// NewServer makes a server whose streams go to the roles in mux.
func NewServer(config Config, mux *Mux) *Server {
	s := &Server{mux: mux, unreachable: config.Unreachable, logger: config.Logger}
	s.grpc = grpc.NewServer(
		grpc.Creds(proving{credentials.NewTLS(config.TLS)}),
		grpc.ForceServerCodecV2(rawCodec{}),
		grpc.MaxRecvMsgSize(maxWorkerFrame), grpc.MaxSendMsgSize(maxFrame),
		grpc.ReadBufferSize(noBuffer), grpc.WriteBufferSize(writeBuffer),
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaders), grpc.HeaderTableSize(0), // a connection has few streams
		grpc.WaitForHandlers(true),
		grpc.InTapHandle(endable),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: never}),
	)
	s.grpc.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: methodName, ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error { return s.serve(stream) },
		}},
	}, s)
	return s
}

// Serve accepts connections until Close, and then returns nil. It closes the listener.
func (s *Server) Serve(listener net.Listener) error {
	if err := s.grpc.Serve(doorstep.New(liveness.Listener{Listener: listener, After: s.unreachable})); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve roles on %s: %w", listener.Addr(), err)
	}
	return nil
}

// proving tells doorstep which peers have proven their identities.
type proving struct {
	credentials.TransportCredentials
}

func (p proving) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := p.TransportCredentials.ServerHandshake(conn)
	if err == nil {
		doorstep.Prove(conn)
	}
	return secured, info, err
}

// Clone returns a proving too.
func (p proving) Clone() credentials.TransportCredentials {
	return proving{p.TransportCredentials.Clone()}
}

// Close cuts all connections and waits for the handlers. A handler must not call it.
// Roles with messages to send must close their streams first.
func (s *Server) Close() { s.grpc.Stop() }

// endKey is the key of the function that ends a stream's context.
type endKey struct{}

// endable lets this end end a stream while calls of it are blocked. gRPC ends a server's stream only when serve
// returns.
func endable(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithCancel(ctx) // gRPC ends the outer one
	return context.WithValue(ctx, endKey{}, cancel), nil
}

// serve runs one stream.
func (s *Server) serve(transport grpc.ServerStream) error {
	from, err := peerOf(transport.Context())
	if err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	target := targetOf(transport.Context())
	end, _ := transport.Context().Value(endKey{}).(context.CancelFunc)
	stream := NewStream(context.Background(), from, target, &serverWire{stream: transport, end: end}, s.logger)
	handler, err := s.mux.Accept(stream)
	if err != nil {
		return refusal(err)
	}
	if err := transport.SendHeader(metadata.MD{}); err != nil {
		stream.end(fmt.Errorf("accept stream: %w", err))
	}
	stream.Run(handler)
	return nil
}

// refusal gives a refusal its code. gRPC itself uses none of them.
func refusal(err error) error {
	code := codes.FailedPrecondition
	switch {
	case errors.Is(err, ErrUnknownTarget):
		code = codes.NotFound
	case errors.Is(err, ErrNotReady):
		code = codes.Aborted
	}
	return status.Error(code, err.Error())
}

// peerOf returns the other end of a stream.
func peerOf(ctx context.Context) (Peer, error) {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return Peer{}, fmt.Errorf("stream without a peer: %w", pki.ErrIdentity)
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return Peer{}, fmt.Errorf("stream of %s without TLS: %w", from.Addr, pki.ErrIdentity)
	}
	identity, err := pki.PeerIdentity(info.State)
	if err != nil {
		return Peer{}, fmt.Errorf("stream of %s: %w", from.Addr, err)
	}
	return Peer{Identity: identity, Address: from.Addr.String()}, nil
}

// targetOf returns the target that the peer asked for, or "".
func targetOf(ctx context.Context) string {
	if values := metadata.ValueFromIncomingContext(ctx, targetHeader); len(values) == 1 {
		return values[0]
	}
	return ""
}

// serverWire is a stream that a peer opened.
type serverWire struct {
	stream grpc.ServerStream
	end    context.CancelFunc // unblocks both directions: the gRPC handler returns
}

func (w *serverWire) Send(f Frame) error {
	data, err := EncodeFrame(f)
	if err != nil {
		return err
	}
	return w.stream.SendMsg(data)
}

// CloseSend ends both directions: gRPC has no half-closed server streams. gRPC sends the queued
// messages before the stream's end.
func (w *serverWire) CloseSend() error {
	w.Shut()
	return nil
}

func (w *serverWire) Receive(kinds msg.Kinds) (Frame, error) {
	f, err := receiveFrame(w.stream.RecvMsg, kinds)
	if status.Code(err) == codes.ResourceExhausted { // gRPC has read no more than the message's length
		err = fmt.Errorf("%w, %d bytes: %s", errTooLong, msg.MaxWorkerMessage, status.Convert(err).Message())
	}
	return f, err
}

func (w *serverWire) Shut() { w.end() }
