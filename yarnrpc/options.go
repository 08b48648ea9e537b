package yarnrpc

import (
	"context"
	"log/slog"
	"net"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Caller makes calls of one protocol. The typed clients are built on it.
type Caller interface {
	// Call sends request and waits for the answer, which it decodes into response. The error is a
	// *RemoteError if the server answered with an exception, and otherwise a *CallError. Any
	// number of goroutines may call it.
	Call(ctx context.Context, method string, request, response proto.Message) error
}

// Options of a Conn or Proxy. Only Protocol is required. A duration of 0 means Hadoop's default; a
// negative duration switches the limit off.
type Options struct {
	// Protocol is the wire name, such as ApplicationClientProtocol.
	Protocol string
	// Auth is used for each new connection.
	Auth
	// LoginRetries bounds the further logins of a call after a server has refused a ticket of
	// Login (ipc.client.connect.max.retries.on.sasl, 5). Each further login uses a new ticket and
	// follows a random wait of up to 5 s. If there are several addresses, all are tried before
	// each wait.
	LoginRetries int
	// Dial opens connections. Nil: TCP with keep-alive.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ConnectTimeout bounds dialling and authentication together
	// (ipc.client.connect.timeout, 20 s).
	ConnectTimeout time.Duration
	// PingInterval is the longest silence of a server that owes an answer. Then a ping tests the
	// connection (ipc.ping.interval, 60 s).
	PingInterval time.Duration
	// MaxIdle is the time after which an unused connection closes itself
	// (ipc.client.connection.maxidletime, 10 s).
	MaxIdle time.Duration
	// RPCTimeout bounds each try of a call, beside its context
	// (ipc.client.rpc-timeout.ms, 120 s).
	RPCTimeout time.Duration
	// MaxResponse bounds the frames that servers send, in bytes
	// (ipc.maximum.response.length). 0: 128 MiB.
	MaxResponse int
	// MaxCalls bounds the calls that wait for answers on a connection. Further calls wait until
	// there is room. 0: 100.
	MaxCalls int
	// Opened is called for each new connection, before its first call, with the identities proved
	// and the protection of the calls. It must not block. It may be nil.
	Opened func(address string, s Security)
	// Observe is called at the end of each try of a call, by the calling goroutine. Use it for
	// metrics, traces and logs of calls. It must not block. Nil costs nothing.
	Observe func(Try)
	// Connect makes the connections of the typed clients, in place of a Proxy, which it replaces with
	// its retries: for simulations. Nil: a Proxy.
	Connect func(addresses []string, o Options, p Policy) Connection
	// Logger logs connections at debug level and retries at warning level. Nil: nothing is logged.
	Logger *slog.Logger
}

// withDefaults replaces zero values by the defaults. Durations that switch a limit off stay
// negative.
func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value *time.Duration
		zero  time.Duration
	}{
		{&o.ConnectTimeout, 20 * time.Second},
		{&o.PingInterval, 60 * time.Second},
		{&o.MaxIdle, 10 * time.Second},
		{&o.RPCTimeout, 120 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = wire.MaxFrame
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = 100
	}
	if o.LoginRetries == 0 {
		o.LoginRetries = 5
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext // keep-alive every 15 s is its default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
