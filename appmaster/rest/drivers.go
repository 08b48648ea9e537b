package rest

import (
	"net/http"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Driver is a program that runs beside the master.
type Driver struct {
	ID      string    `json:"id"`      // of this run, 32 hex digits
	Program string    `json:"program"` // SHA-256, lower-case hex
	Name    string    `json:"name"`
	Started int64     `json:"started"`           // ms since 1970
	Memory  int64     `json:"memory"`            // bytes that its processes hold
	Jobs    int       `json:"jobs"`              // that it has submitted
	LastJob ids.JobID `json:"lastJob,omitempty"` // of these
}

// Drivers is the answer to GET /drivers.
type Drivers struct {
	Drivers []Driver `json:"drivers"`
}

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
	answer := Drivers{Drivers: make([]Driver, 0, len(list))}
	for _, d := range list {
		answer.Drivers = append(answer.Drivers, Driver{
			ID: d.ID, Program: d.Program.SHA256, Name: d.Program.Name, Started: d.Started.UnixMilli(),
			Memory: int64(d.MemoryMB) << 20, Jobs: d.Jobs, LastJob: d.LastJob,
		})
	}
	return answer, nil
}

// endDriver answers DELETE /drivers/{driver}, when the program has ended.
func (s *Server) endDriver(r *http.Request) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	id := r.PathValue("driver")
	if !isID(id) {
		return nil, badRequest("%q is no program that runs: it has 32 hex digits, as GET /drivers tells", id)
	}
	return empty{}, session.EndDriver(r.Context(), id)
}
