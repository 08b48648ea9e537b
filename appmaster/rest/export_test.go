package rest

import "net/http"

// Unguarded is the door for the owner without its check, for tests of the handlers behind it.
func (s *Server) Unguarded() http.Handler {
	return s.behind(func(http.Header, *http.Request) (caller, error) { return caller{token: true}, nil })
}

func (s *Server) secure() http.Handler { return s.behind(s.secureDoor) }

func (s *Server) proxied() http.Handler { return s.behind(s.proxyDoor) }
