package rest

import (
	"net/http"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// drivers answers GET /drivers.
func (s *Server) drivers(r *http.Request) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	list, err := session.Drivers(r.Context())
	if err != nil {
		return nil, err
	}
	answer := restapi.Drivers{Drivers: make([]restapi.Driver, 0, len(list))}
	for _, d := range list {
		answer.Drivers = append(answer.Drivers, restapi.Driver{
			ID: d.ID, Program: d.Program.SHA256, Name: d.Program.Name, Started: d.Started.UnixMilli(),
			Memory: int64(d.MemoryMB) << 20, Jobs: d.Jobs, LastJob: d.LastJob,
		})
	}
	return answer, nil
}

// endDriver answers DELETE /drivers/{driver} when the program has ended.
func (s *Server) endDriver(r *http.Request) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	id := r.PathValue("driver")
	if !isID(id) {
		return nil, badRequest("%q is not the id of a running program: the id has 32 hex digits, and GET /drivers lists the ids", id)
	}
	return restapi.Empty{}, session.EndDriver(r.Context(), id)
}
