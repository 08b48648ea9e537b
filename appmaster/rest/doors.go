package rest

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/spnego"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

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
		return http.HandlerFunc(s.receive)
	}
	mux := s.mux()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("X-Frame-Options", "DENY") // a page around ours could move the user's clicks to our buttons
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

// secureDoor is the door for TLS. It accepts callers who authenticate by the owner's token, by the token
// of programs that view, by YARN's token, which holds for the whole connection, by a Kerberos ticket, by a link, or
// by a browser's cookie. A request's own Authorization takes precedence over the proof of its connection, and that
// over a cookie.
func (s *Server) secureDoor(header http.Header, r *http.Request) (caller, error) {
	sent := r.Header.Get("Authorization")
	scheme, credentials, _ := strings.Cut(sent, " ")
	known, _ := r.Context().Value(connectionKey{}).(*connection)
	switch {
	case sent == "" && known != nil && known.caller != nil:
		return *known.caller, nil
	case scheme == "Bearer" && s.config.Token.Matches(credentials):
		return caller{token: true}, nil
	case scheme == "Bearer" && s.config.Viewer.Matches(credentials):
		return caller{viewer: true}, nil
	case s.config.ClientToAM != nil && strings.EqualFold(scheme, clienttoam.Scheme):
		c, err := s.verifyClient(header, r.TLS, sent)
		if err == nil && known != nil {
			known.caller = &c
		}
		return c, err
	case s.config.Negotiator != nil && strings.EqualFold(scheme, "Negotiate"):
		return s.negotiate(header, credentials)
	case strings.EqualFold(scheme, restapi.SchemeLink):
		return s.enter(r, credentials)
	case sent == "":
		if c, found := s.browsers.find(r, r.Header.Get(restapi.HeaderCSRF), time.Now()); found {
			return c, nil
		}
		if isOpenPage(r) {
			return caller{stranger: true}, nil
		}
	}
	return caller{}, s.unauthorized(header, fmt.Sprintf("send the cluster's token as \"Authorization: Bearer …\", open the page in a browser with %s, or view the cluster through YARN's web proxy", s.command()))
}

// enter accepts the key of a link for POST /access, which lets the browser in. The refusals name no scheme: a browser must not ask
// the user for a password.
func (s *Server) enter(r *http.Request, key string) (caller, error) {
	if r.Method != http.MethodPost || strings.TrimPrefix(r.URL.Path, "/v1") != "/access" {
		return caller{}, &refusal{http.StatusForbidden, "the key of a link is only for POST /access"}
	}
	if err := s.checkSite(r); err != nil {
		return caller{}, err
	}
	sent := digestOf(key)
	c, err := s.browsers.look(sent, time.Now())
	if err != nil {
		return caller{}, &refusal{http.StatusForbidden, err.Error()}
	}
	c.link = sent
	return c, nil
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
