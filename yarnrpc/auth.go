package yarnrpc

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

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

// Auth says who a client is, how it proves that, and what proof and protection it asks of
// servers. The zero value trusts the network, as Hadoop does by default.
type Auth struct {
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
	// Server is who servers must be where Login logs in; see ServerFrom. The zero value
	// trusts none.
	Server kerberos.Server
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
}

// tokenFor chooses the token for a connection; nil: there is none. It is ErrNoLogin where
// servers must not be told a mere name and there is nothing else to show.
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
		return nil, fmt.Errorf("authenticate: %w, and hadoop.security.authentication is kerberos: run kinit, name a keytab, or pass a token on", ErrNoLogin)
	}
	return token, nil
}
