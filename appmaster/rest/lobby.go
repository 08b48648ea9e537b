package rest

import (
	"crypto/tls"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/web"
)

// errNotLeading is what clients are told before an attempt leads.
var errNotLeading = errors.New("the ApplicationMaster is being replaced, or starts: it waits for HDFS or for YARN, and will answer")

// NewLobby makes a Server for the time before the ApplicationMaster leads. It gives everybody the page, which is a constant,
// and answers every other request with 503: the page says so and asks on, until the ApplicationMaster leads. The
// certificate of a lobby is not the application's, which is not known yet.
func NewLobby(secure *tls.Config, logger logrus.FieldLogger) *Server {
	s := New(Config{TLS: secure}, nil, logger)
	s.lobby = true
	return s
}

// receive is the handler of a lobby. It reads no body, and asks for no proof: the answers tell nothing of the cluster.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	if file, below := strings.CutPrefix(r.URL.Path, "/page/"); gets(r) && (below && file != "" || r.URL.Path == "/") {
		if below {
			r.SetPathValue("file", file)
		}
		if found, is := web.Find(r); is {
			maps.Copy(w.Header(), found.Header)
			w.WriteHeader(found.Status)
			_, _ = w.Write(found.Body) // net/http leaves the body of HEAD out, and an error is the reader's
			return
		}
	}
	w.Header().Set("Retry-After", "1") // by it clients know that their key is not lost, but to come: see clienttoam.ErrKeyLost
	s.writeError(w, r, errNotLeading)
}
