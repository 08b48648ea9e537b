package rest

import (
	"net/http"

	"github.com/bobbin-yarn/bobbin/internal/msg"
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
	return restapi.Attempts{Attempts: attemptsOf(list)}, nil
}

func attemptsOf(list []msg.AttemptDetails) []restapi.Attempt {
	answer := make([]restapi.Attempt, 0, len(list))
	for _, a := range list {
		answer = append(answer, restapi.Attempt{
			Attempt: a.Attempt, Container: a.Container, Node: a.Node, State: a.State,
			Started: millis(a.Started), Ended: millis(a.Ended),
			Diagnostics: a.Diagnostics[:min(len(a.Diagnostics), MaxDiagnostics)],
		})
	}
	return answer
}
