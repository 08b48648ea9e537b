// Package rpctest has a server of Hadoop RPC for tests. It speaks the real protocol over TCP or
// any net.Conn, and answers calls with a function of the test. It knows no YARN or HDFS
// protocol; the function makes it a ResourceManager or NodeManager.
//
// A Server has a goroutine for its listener, one for each connection and one for each call;
// Close waits for all. Only tests import the package, and yarnfake and hdfsfake, which are for
// tests.
package rpctest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Handler answers one call. An error reaches the client as the Java exception from Exception or
// Fatal, other errors as an IOException. Without answer and error the client gets nothing.
type Handler func(call *Call) (proto.Message, error)

// Call is a call as a Handler sees it.
type Call struct {
	wire.Request
	// User is the user of the connection. With a token it is the token's identifier.
	User string
	// Token says that a token logged the connection in.
	Token bool
	// Conn is the connection, for handlers that break it.
	Conn net.Conn
	// Gone is closed when nothing more can come over the connection.
	Gone <-chan struct{}
}

// Server answers calls. Set it up before the first connection.
type Server struct {
	Handler Handler
	// Passwords returns the password of a token by its identifier, and makes the server require
	// a token. Nil: the server trusts user names.
	Passwords func(identifier []byte) (password []byte, err error)
	// Trusts makes a server with Passwords also accept clients without a token.
	Trusts bool
	// QOPs are the offered qualities of protection. None: only authentication.
	QOPs []sasl.QOP

	listener net.Listener
	tasks    sync.WaitGroup

	mu     sync.Mutex // guards what follows
	conns  map[net.Conn]bool
	closed bool
	paused chan struct{} // closed by Resume; nil: not paused
	pings  int
	logins int
}

// test is the part of testing.TB that Listen needs. Users of yarnfake, which imports this
// package, need not link package testing.
type test interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Fatal(...any)
}

// Listen starts the server on a free port of the loopback address and closes it when
// the test t ends.
func (s *Server) Listen(t test) (address string) {
	t.Helper()
	address, err := s.ListenLoopback(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return address
}

// ListenLoopback starts the server on a free port of the loopback address; its owner closes it.
func (s *Server) ListenLoopback(ctx context.Context) (address string, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for hadoop rpc: %w", err)
	}
	s.listener = listener
	s.tasks.Go(func() { s.Accept(listener) })
	return listener.Addr().String(), nil
}

// Accept serves the connections of a listener until it is closed. After Close it closes new connections.
func (s *Server) Accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.Serve(conn)
	}
}

// Serve answers on conn in a goroutine of its own, and closes it at the end.
func (s *Server) Serve(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		conn.Close()
		return
	}
	if s.conns == nil {
		s.conns = make(map[net.Conn]bool)
	}
	s.conns[conn] = true
	s.tasks.Go(func() {
		(&session{server: s, conn: conn, gone: make(chan struct{})}).run()
		conn.Close() // the client has left or was refused
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	})
}

// Close ends all connections and waits for the handlers.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if s.listener != nil {
		s.listener.Close() // closing twice is fine
	}
	s.Disconnect()
	s.Resume()
	s.tasks.Wait()
}

// Disconnect ends the open connections, as a restart of the server does.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		conn.Close() // closing twice is fine
	}
}

// Pause makes the server answer nothing until Resume, like a process after SIGSTOP. It still
// accepts connections, and what arrives waits.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == nil && !s.closed {
		s.paused = make(chan struct{})
	}
}

// Resume makes a paused server handle everything that has arrived meanwhile.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused != nil {
		close(s.paused)
		s.paused = nil
	}
}

// await waits while the server is paused.
func (s *Server) await() {
	s.mu.Lock()
	paused := s.paused
	s.mu.Unlock()
	if paused != nil {
		<-paused
	}
}

// Pings returns the number of pings so far.
func (s *Server) Pings() int { return s.count(&s.pings) }

// Logins returns the number of connections that have sent their context.
func (s *Server) Logins() int { return s.count(&s.logins) }

// Open returns the number of open connections.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) count(n *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *n
}

func (s *Server) add(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

// exception is an error that is a Java exception.
type exception struct{ failure wire.Failure }

func (e *exception) Error() string { return e.failure.Class + ": " + e.failure.Message }

// Exception makes an error that reaches the client as a Java exception.
func Exception(class, message string) error {
	return &exception{wire.Failure{Class: class, Message: message, Detail: "ERROR_APPLICATION"}}
}

// NoSuchMethod makes the error for a call that the server does not have.
func NoSuchMethod(call *Call) error {
	return &exception{wire.Failure{
		Class:   "org.apache.hadoop.ipc.RpcNoSuchMethodException",
		Message: "Unknown method " + call.Call.Method + " called on " + call.Call.Protocol + " protocol.",
		Detail:  "ERROR_NO_SUCH_METHOD",
	}}
}

// With decodes a call's request and handles it.
func With[T any, P interface {
	*T
	proto.Message
}](call *Call, handle func(P) (proto.Message, error)) (proto.Message, error) {
	request := P(new(T))
	if err := call.Decode(request); err != nil {
		return nil, err
	}
	return handle(request)
}

// NoSuchProtocol makes the error for a call of a protocol that the server does not speak.
func NoSuchProtocol(call *Call) error {
	return &exception{wire.Failure{
		Class:   "org.apache.hadoop.ipc.RpcNoSuchProtocolException",
		Message: "Unknown protocol: " + call.Call.Protocol,
		Detail:  "ERROR_NO_SUCH_PROTOCOL",
	}}
}

// Fatal makes an error after which the server closes the connection.
func Fatal(class, message string) error {
	return &exception{wire.Failure{
		Class: class, Message: message, Fatal: true,
		Detail: "FATAL_UNAUTHORIZED",
	}}
}

func failureOf(err error) *wire.Failure {
	if e, ok := errors.AsType[*exception](err); ok {
		return &e.failure
	}
	return &wire.Failure{Class: "java.io.IOException", Message: err.Error()}
}
