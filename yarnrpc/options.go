package yarnrpc

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Caller makes calls of one protocol. It is what the typed clients are built on.
type Caller interface {
	// Call sends request and waits for the answer, which it decodes into response.
	// The error is a *RemoteError, where the server answered with an exception, or a
	// *CallError. Any number of goroutines may call.
	Call(ctx context.Context, method string, request, response proto.Message) error
}

// UserInformation says who speaks on a connection, to a server that trusts its clients.
// A server where a Login logs in knows who speaks: it is told Effective only where Real
// is set, as the user for whom the Login's principal acts (hadoop.proxyuser.*).
type UserInformation struct {
	Effective string
	Real      string // who acts for Effective, if somebody else
}

// Login gets Kerberos tickets. kerberos.Login is one.
type Login interface {
	// RealmOf is the realm of a host's services.
	RealmOf(host string) string
	// Ticket gives a ticket for a service, named as primary/host@REALM. Any number of
	// goroutines may call.
	Ticket(ctx context.Context, service string) (*sasl.Ticket, error)
	// Forget drops the ticket for a service that refused it.
	Forget(service string)
}

// Options of a Conn or Proxy. The zero value of each but Protocol has a meaning;
// durations of 0 are Hadoop's defaults, negative ones switch off.
type Options struct {
	// Protocol is the wire name, such as ApplicationClientProtocol.
	Protocol string
	// User is told to servers that trust their clients.
	User UserInformation
	// Token is asked for the token of each new connection, so that one which was
	// rolled over serves from the next connection on; ctx ends when the connection is
	// wanted no more, or ConnectTimeout is over. Nil, or a nil token: none, and Login
	// serves, or else the server is told User, unless RequireLogin.
	Token func(ctx context.Context, address string) (*creds.Token, error)
	// Login logs in with Kerberos at servers that want it and for which there is no
	// token. Nil: no Kerberos.
	Login Login
	// LoginRetries bounds the further logins of a call where a server refused the one with
	// a ticket of Login's: each is with a new ticket, and after a wait of up to 5 s, at
	// random (ipc.client.connect.max.retries.on.sasl, 5). Of several addresses, all are
	// tried before each wait.
	LoginRetries int
	// ServerPrincipal is who servers must be where Login logs in, as configurations
	// say it: primary/host@REALM, where _HOST stands for the server's own host
	// (yarn.resourcemanager.principal and its like). Empty: none is trusted.
	ServerPrincipal string
	// ServerPrincipalPattern is a glob that takes the place of ServerPrincipal if it
	// is set (the same name with .pattern). See kerberos.CheckServer.
	ServerPrincipalPattern string
	// ServerPrincipalProperty is the property that has ServerPrincipal, for errors. Empty: none
	// is known.
	ServerPrincipalProperty string
	// QOPs are the qualities of protection that will do with a token or Login, best
	// first (hadoop.rpc.protection). None: authentication alone.
	QOPs []sasl.QOP
	// RequireLogin says that the cluster wants a login of everybody
	// (hadoop.security.authentication is kerberos). Where there is neither a token nor a
	// Login then, a connection fails with ErrNoLogin before anything is sent, as the
	// server would prove nothing and the calls would go in the clear.
	RequireLogin bool
	// AllowSimpleFallback accepts a server that wants no login, though there is a
	// token or Login, and does without a login in spite of RequireLogin
	// (ipc.client.fallback-to-simple-auth-allowed). Java's clients accept it wherever
	// hadoop.security.authentication is simple, too, whatever tokens they have; here
	// the option alone decides.
	AllowSimpleFallback bool
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
	Logger logrus.FieldLogger
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
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		o.Logger = silent
	}
	return o
}
