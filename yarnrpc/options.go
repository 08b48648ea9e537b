package yarnrpc

import (
	"context"
	"log/slog"
	"net"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Caller makes calls of one protocol. It is what the typed clients are built on.
type Caller interface {
	// Call sends request and waits for the answer, which it decodes into response.
	// The error is a *RemoteError, where the server answered with an exception, or a
	// *CallError. Any number of goroutines may call.
	Call(ctx context.Context, method string, request, response proto.Message) error
}

// Options of a Conn or Proxy. The zero value of each but Protocol has a meaning;
// durations of 0 are Hadoop's defaults, negative ones switch off.
type Options struct {
	// Protocol is the wire name, such as ApplicationClientProtocol.
	Protocol string
	// Auth is shown on each new connection.
	Auth
	// LoginRetries bounds the further logins of a call where a server refused the one with
	// a ticket of Login's: each is with a new ticket, and after a wait of up to 5 s, at
	// random (ipc.client.connect.max.retries.on.sasl, 5). Of several addresses, all are
	// tried before each wait.
	LoginRetries int
	// Dial opens connections. Nil: TCP with keep-alive.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ConnectTimeout bounds dialling and authentication together
	// (ipc.client.connect.timeout, 20 s).
	ConnectTimeout time.Duration
	// PingInterval is how long a server that owes an answer may be silent before a
	// ping finds out whether the connection is alive (ipc.ping.interval, 60 s).
	PingInterval time.Duration
	// MaxIdle closes a connection that nobody has used for so long
	// (ipc.client.connection.maxidletime, 10 s).
	MaxIdle time.Duration
	// RPCTimeout bounds each try of a call, beside its context
	// (ipc.client.rpc-timeout.ms, 120 s).
	RPCTimeout time.Duration
	// MaxResponse bounds the frames that servers send, in bytes
	// (ipc.maximum.response.length). 0: 128 MiB.
	MaxResponse int
	// MaxCalls bounds the calls that wait for answers on a connection; more wait
	// for room. 0: 100.
	MaxCalls int
	// Opened is told of each new connection, before its first call: who proved what, and
	// what protects the calls. It must not block. Nil: nobody is told.
	Opened func(address string, s Security)
	// Observe is told of each try of a call when it has ended, by the goroutine that
	// called: for metrics, traces and logs of calls. It must not block. Nil: nobody is
	// told, and nothing is spent on it.
	Observe func(Try)
	// Logger gets connections at debug level and retries at warning level. Nil: nothing is logged.
	Logger *slog.Logger
}

// withDefaults replaces what is 0. Durations that are off stay negative.
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
