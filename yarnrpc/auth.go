package yarnrpc

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// UserInformation is the user of a connection to a server that trusts its clients. With a
// Login the server knows the user from the login. Then the client sends Effective only if
// Real is set. Effective is the user for whom the Login's principal acts
// (hadoop.proxyuser.*).
type UserInformation struct {
	Effective string
	Real      string // the user who acts for Effective, if another
}

// Login gets Kerberos tickets. kerberos.Login is one.
type Login interface {
	// RealmOf returns the realm of a host's services.
	RealmOf(host string) string
	// Ticket returns a ticket for a service, named as primary/host@REALM. Any number of
	// goroutines may call it.
	Ticket(ctx context.Context, service string) (*sasl.Ticket, error)
	// Forget drops the ticket for a service that refused it.
	Forget(service string)
}

// Auth is the identity of a client, its proof, and the proof and protection that it
// demands of servers. The zero value trusts the network, as Hadoop does by default.
type Auth struct {
	// User is sent to servers that trust their clients.
	User UserInformation
	// Token returns the token for a new connection. It is called for each connection, so
	// the first one after a roll-over uses the new token. ctx ends when the connection is
	// no longer wanted, or after ConnectTimeout. If Token is nil or returns nil, the
	// client uses Login. Without a Login it sends User, unless RequireLogin is set.
	Token func(ctx context.Context, address string) (*creds.Token, error)
	// Login logs in with Kerberos if the server wants a login and there is no token for
	// it. Nil: no Kerberos.
	Login Login
	// Server says which principals Login accepts as servers; see ServerFrom. The zero
	// value accepts none.
	Server kerberos.Server
	// QOPs are the acceptable qualities of protection with a token or Login, best first
	// (hadoop.rpc.protection). None: only authentication.
	QOPs []sasl.QOP
	// RequireLogin says that the cluster wants a login from every client
	// (hadoop.security.authentication is kerberos). Without a token and a Login, a
	// connection then fails with ErrNoLogin before anything is sent. Otherwise the server
	// would prove nothing, and the calls would not be encrypted.
	RequireLogin bool
	// AllowSimpleFallback accepts a server that wants no login although the client has a
	// token or Login. It also lets a client without both connect in spite of RequireLogin
	// (ipc.client.fallback-to-simple-auth-allowed). Java's clients also accept such
	// servers if hadoop.security.authentication is simple, even with a token. Here only
	// this option decides.
	AllowSimpleFallback bool
}

// tokenFor chooses the token for a connection; nil: none. The error is ErrNoLogin if the
// cluster requires a login, the client has neither a token nor a Login, and
// AllowSimpleFallback is not set.
func (a *Auth) tokenFor(ctx context.Context, address string) (token *creds.Token, err error) {
	if a.Token != nil {
		if token, err = a.Token(ctx, address); err != nil {
			if ctx.Err() != nil {
				err = contextError(ctx)
			}
			return nil, fmt.Errorf("choose token: %w", err)
		}
	}
	if a.RequireLogin && !a.AllowSimpleFallback && token == nil && a.Login == nil {
		return nil, fmt.Errorf("authenticate: %w, but hadoop.security.authentication is kerberos: run kinit, set a keytab, or pass on a token", ErrNoLogin)
	}
	return token, nil
}
