package rest

import (
	"net/http"
)

const withoutCheckpoints = "Checkpointing has not been enabled."

// noCheckpoints answers what Flink answers about the checkpoints of a job without them: all jobs of Bobbin read to the end of
// their input.
func (s *Server) noCheckpoints(r *http.Request) (any, error) {
	if r.PathValue("checkpoint") != "" {
		if _, err := index(r, "checkpoint"); err != nil {
			return nil, err
		}
	}
	if r.PathValue("vertex") != "" {
		if _, err := vertexID(r); err != nil {
			return nil, err
		}
	}
	if _, err := s.details(r); err != nil {
		return nil, err
	}
	return nil, &refusal{http.StatusNotFound, withoutCheckpoints}
}
