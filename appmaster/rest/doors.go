package rest

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/spnego"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
)

// Proxy describes YARN's web proxy.
type Proxy struct {
	// Addresses are the proxy's, and REST answers plain HTTP only to them. Every process that can open
	// connections from one of them counts as the proxy, as for every ApplicationMaster of YARN
	// (AmIpFilter).
	Addresses []netip.Addr
	// Users says that the proxy knows its users by Kerberos (hadoop.http.authentication.type is kerberos),
	// and passes their names on (WebAppProxyServlet's cookie). Otherwise browsers claim the names, and REST
	// ignores them. The proxy itself checks no ACL.
	Users bool
	// Anybody is the name of users whom the proxy does not know (hadoop.http.staticuser.user). ACLs may let
	// this name view, as on YARN's own pages.
	Anybody string
	// Changes lets Users whom the ACLs name change something through the proxy (rest.proxy.changes.enable).
	// To a browser the pages of all applications have the proxy's origin. So each of these pages can do
	// everything that the user who opens it may do.
	Changes bool
	// Origins are the proxy's addresses in browsers, as host:port. Only pages of these origins may change
	// something through the proxy.
	Origins []string
}

// proxyUser is the cookie in which the proxy names the user, encoded as in a URL's query.
const proxyUser = "proxy-user"

// Negotiator accepts Kerberos tickets for REST (RFC 4559).
type Negotiator interface {
	// Accept returns the ticket in a token. The client has proven to hold it.
	Accept(token []byte) (spnego.Ticket, error)
	// Once remembers that a ticket lets a user in. It returns an error if the same proof did so before.
	Once(user string, t spnego.Ticket) error
}

// door returns the caller of a request, or an error that refuses the request. It may set headers of the
// answer.
type door func(header http.Header, r *http.Request) (caller, error)

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// behind passes on the requests that a door accepts.
func (s *Server) behind(enter door) http.Handler {
	if s.lobby {
		return http.HandlerFunc(s.turnAway)
	}
	mux := s.mux()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		c, err := enter(w.Header(), r)
		if on, _ := r.Context().Value(connectionKey{}).(*connection); on != nil {
			switch rights := s.config.Rights; {
			case err == nil && rights.any(c):
				on.prove(rights.all(c))
			case !on.refuse(r):
				w.Header().Set("Connection", "close")
			}
		}
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		if len(r.RequestURI) > maxRefusal && !s.config.Rights.all(c) {
			s.writeError(w, r, errLongTarget)
			return
		}
		w.Header()["Content-Type"] = nil // write sets it for our answers; http.Redirect writes no body if it is set
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// errLongTarget refuses a target that net/http might redirect: the header could be five times as long as
// the target, and no room counts it.
var errLongTarget = &refusal{http.StatusRequestURITooLong, fmt.Sprintf("path and query are longer than %d bytes, the limit for users who may not run programs here", maxRefusal)}

// maxRefused is how many requests of a connection are refused before the connection ends, as long as no
// user with a right has used it. A client that learns from a refusal how to authenticate needs one of them.
const maxRefused = 2

// connection is the state of a connection: the caller who has authenticated on it, at the TLS door. Its
// requests come one after another.
type connection struct {
	conn    net.Conn
	caller  *caller
	proved  bool // a user with a right has used it
	refused int  // requests refused before that
}

// prove notes a request by a user who has a right. all: he has all rights.
func (c *connection) prove(all bool) {
	admit(c.conn, all)
	if !c.proved {
		c.proved = true
		doorstep.Prove(c.conn)
	}
}

// refuse notes that a request is refused, and reports whether the connection may have more.
func (c *connection) refuse(r *http.Request) bool {
	if r.ContentLength != 0 { // net/http reads the rest of a short body before it answers
		doorstep.EndWork(c.conn)
	}
	c.refused++
	return c.proved || c.refused < maxRefused
}

type connectionKey struct{}

// withConnection is an http.Server's ConnContext.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{conn: conn})
}

// asked is an http.Server's ConnState. When a request has arrived, REST has to find out who sent it, while
// net/http reads on to learn whether the client is still there. Until then a client waits only for a
// processor. A client without a right never waits for anything else.
func asked(conn net.Conn, state http.ConnState) {
	if state == http.StateActive {
		doorstep.BeginWork(conn)
	}
}

// secureDoor is the door for TLS. It accepts callers who authenticate by the owner's token, by YARN's
// token, which holds for the whole connection, or by a Kerberos ticket. A request's own proof takes
// precedence over that of its connection.
func (s *Server) secureDoor(header http.Header, r *http.Request) (caller, error) {
	sent := r.Header.Get("Authorization")
	scheme, credentials, _ := strings.Cut(sent, " ")
	known, _ := r.Context().Value(connectionKey{}).(*connection)
	switch {
	case sent == "" && known != nil && known.caller != nil:
		return *known.caller, nil
	case scheme == "Bearer" && s.config.Token.Matches(credentials):
		return caller{token: true}, nil
	case s.config.ClientToAM != nil && strings.EqualFold(scheme, clienttoam.Scheme):
		c, err := s.verifyClient(header, r.TLS, sent)
		if err == nil && known != nil {
			known.caller = &c
		}
		return c, err
	case s.config.Negotiator != nil && strings.EqualFold(scheme, "Negotiate"):
		return s.negotiate(header, credentials)
	}
	return caller{}, s.unauthorized(header, "send the cluster's token as \"Authorization: Bearer …\", or view the cluster through YARN's web proxy")
}

// unauthorized refuses a caller, and names the schemes by which he can authenticate.
func (s *Server) unauthorized(header http.Header, text string) error {
	schemes := []string{"Bearer"}
	if s.config.ClientToAM != nil {
		schemes = append(schemes, clienttoam.Scheme)
	}
	if s.config.Negotiator != nil {
		schemes = append(schemes, "Negotiate")
	}
	header["Www-Authenticate"] = schemes
	return &refusal{http.StatusUnauthorized, text}
}

func (s *Server) verifyClient(header http.Header, on *tls.ConnectionState, sent string) (caller, error) {
	name, answer, err := s.config.ClientToAM.Verify(sent, on)
	switch {
	case errors.Is(err, clienttoam.ErrNoKey):
		return caller{}, &refusal{http.StatusServiceUnavailable, err.Error()}
	case err != nil:
		return caller{}, s.unauthorized(header, err.Error())
	}
	header.Set(clienttoam.AnswerHeader, answer)
	c, err := s.named(name)
	c.viewer = true
	return c, err
}

func (s *Server) negotiate(header http.Header, credentials string) (caller, error) {
	token, err := base64.StdEncoding.DecodeString(credentials)
	if err != nil {
		return caller{}, s.unauthorized(header, "the token after Negotiate is not base64")
	}
	ticket, err := s.config.Negotiator.Accept(token)
	if err != nil {
		return caller{}, s.unauthorized(header, err.Error())
	}
	c, err := s.named(ticket.Client)
	c.ticket = !s.isOwner(ticket.Service)
	// A user without a right may be refused any number of times. He must not fill memory that others need.
	if err == nil && s.config.Rights.any(c) {
		if err := s.config.Negotiator.Once(c.name, ticket); err != nil {
			return caller{}, s.unauthorized(header, err.Error())
		}
	}
	if len(ticket.Answer) > 0 {
		header.Set("Www-Authenticate", "Negotiate "+base64.StdEncoding.EncodeToString(ticket.Answer))
	}
	return c, err
}

// isOwner reports whether a principal is the application's owner on this cluster. The holder of that
// principal's key can act as the owner anyway.
func (s *Server) isOwner(principal string) bool {
	c, err := s.named(principal)
	return err == nil && s.config.Rights.owns(c.name)
}

// named returns the caller for a principal, with the cluster's short name for it.
func (s *Server) named(principal string) (caller, error) {
	if s.config.ShortName == nil {
		return caller{name: principal}, nil
	}
	name, err := s.config.ShortName(principal)
	if err != nil {
		return caller{}, &refusal{http.StatusForbidden, err.Error()}
	}
	return caller{name: name}, nil
}

// proxyDoor is the door for YARN's proxy.
func (s *Server) proxyDoor(_ http.Header, r *http.Request) (caller, error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.Contains(s.config.Proxy.Addresses, from.Addr().Unmap()) {
		return caller{}, &refusal{http.StatusForbidden, fmt.Sprintf("only YARN's web proxy may use plain HTTP, not %s: open the application's tracking URL, or use https with the cluster's token", from.Addr().Unmap())}
	}
	if !s.config.Proxy.Changes && !gets(r) {
		return caller{}, errViewsOnly
	}
	if s.config.Proxy.Users {
		return caller{proxied: true, name: toldUser(r)}, nil
	}
	return caller{proxied: true, name: s.config.Proxy.Anybody}, nil
}

// errViewsOnly refuses a change through the proxy.
var errViewsOnly = &refusal{http.StatusForbidden, fmt.Sprintf("through YARN's web proxy you can only view the cluster, because to a browser the pages of all applications are one site: use the bobbin command to change the cluster or to fetch results, or see %s", config.RESTProxyChanges)}

// gets reports whether a link, a picture or a script of another site can cause the request without
// permission.
func gets(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// toldUser returns the user that the proxy names; "" if it names none, or more than one.
func toldUser(r *http.Request) string {
	told := r.CookiesNamed(proxyUser)
	if len(told) != 1 {
		return ""
	}
	name, err := url.QueryUnescape(told[0].Value)
	if err != nil {
		return ""
	}
	return name
}

// checkOrigin refuses requests that the page of another site can cause: for changes, for running programs,
// and for data of the owner.
//
// The proxy passes on only "Origin" and "Content-Type" of the headers that browsers set. If changes through
// it are allowed, they come by PUT with the proxy's origin, or by a GET that no page of another site can
// cause. Everything else through the proxy must be a view.
func (s *Server) checkOrigin(r *http.Request, c caller, need access) error {
	origin := r.Header.Get("Origin")
	get := gets(r)
	if get && need != own && !c.token && !declared(r) {
		return &refusal{http.StatusForbidden, "this GET changes or runs something, and needs the header \"Content-Type: application/json\", which pages of other sites cannot send: add the header, or use POST, or PUT or PATCH on the job"}
	}
	link := get && need == modify
	if c.proxied {
		own := slices.ContainsFunc(s.config.Proxy.Origins, func(own string) bool { return sameHost(origin, own) })
		switch {
		case !s.config.Proxy.Changes || !s.config.Proxy.Users || r.Method != http.MethodPut && !link:
			return errViewsOnly
		case !own && (origin != "" || !link): // browsers send no Origin with a GET to the same site
			return &refusal{http.StatusForbidden, fmt.Sprintf("only pages of YARN's web proxy may change the cluster, not pages of %q", origin)}
		}
		return nil
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "" && site != "same-origin" && site != "none" || origin != "" && !sameHost(origin, r.Host) {
		return &refusal{http.StatusForbidden, fmt.Sprintf("pages of other sites may not send this request: this page is from %q", origin)}
	}
	return nil
}

// declared reports whether a request has a header that browsers send for a page of another site only with
// the server's permission (Fetch, CORS-safelisted request-header).
func declared(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// sameHost reports whether an origin is the server at host:port, or at host with the default port of the
// origin's scheme.
func sameHost(origin, server string) bool {
	from, err := url.Parse(origin)
	if err != nil || from.Host == "" {
		return false
	}
	if strings.EqualFold(from.Host, server) {
		return true
	}
	port, usual := map[string]string{"http": "80", "https": "443"}[from.Scheme]
	return usual && from.Port() == "" && strings.EqualFold(net.JoinHostPort(from.Hostname(), port), server)
}
