package rest

import (
	"crypto/tls"
	"errors"
	"net/http"

	"github.com/sirupsen/logrus"
)

// errNotLeading is what clients are told before an attempt leads.
var errNotLeading = errors.New("the ApplicationMaster is being replaced, or starts: it waits for HDFS or for YARN, and will answer")

// NewLobby makes a Server that answers every request with 503, for the time before the ApplicationMaster leads. Its
// certificate is not the application's, which is not known yet.
func NewLobby(secure *tls.Config, logger logrus.FieldLogger) *Server {
	s := New(Config{TLS: secure}, nil, logger)
	s.lobby = true
	return s
}

// turnAway is the handler of a lobby. It reads no body, and asks for no proof: the answer tells nothing of the cluster.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "1") // by it clients know that their key is not lost, but to come: see clienttoam.ErrKeyLost
	s.writeError(w, r, errNotLeading)
}
