package rest

import "net/http"

// Unguarded is the owner's door without its check, for tests of what lies
// behind it.
func (s *Server) Unguarded() http.Handler {
	return s.mux(func(r route) func(*http.Request) (any, error) { return r.handle })
}
