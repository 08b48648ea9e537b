package rest

import (
	"net/http"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// MaxDiagnostics bounds what GET /attempts tells of the end of one attempt, in bytes.
const MaxDiagnostics = 4 << 10

// attempts answers GET /attempts: when ApplicationMasters of this application have run, and why each has ended.
func (s *Server) attempts(r *http.Request) (any, error) {
	list, err := s.gateway.Attempts(r.Context())
	if err != nil {
		return nil, err
	}
	answer := restapi.Attempts{Attempts: make([]restapi.Attempt, 0, len(list))}
	for _, a := range list {
		answer.Attempts = append(answer.Attempts, restapi.Attempt{
			Attempt: a.Attempt, Container: a.Container, Node: a.Node, State: a.State,
			Started: millis(a.Started), Ended: millis(a.Ended),
			Diagnostics: a.Diagnostics[:min(len(a.Diagnostics), MaxDiagnostics)],
		})
	}
	return answer, nil
}
