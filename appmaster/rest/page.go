package rest

import (
	"net/http"

	"github.com/bobbin-yarn/bobbin/web"
)

// page answers GET / with the page for people, and GET /page/{file} with its script and style. All its links are
// relative, so that it works below /proxy/<application>/. Its facts come from the other paths.
func (s *Server) page(r *http.Request) (any, error) {
	found, is := web.Find(r)
	if !is {
		return nil, &refusal{http.StatusNotFound, "the page has no file " + r.PathValue("file")}
	}
	return reply{found.Status, found.Header, found.Body}, nil
}
