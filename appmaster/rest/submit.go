package rest

import (
	"net/http"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// session returns the part of the cluster that accepts jobs and programs.
func (s *Server) session() (Session, error) {
	if s.config.Session == nil {
		return nil, &refusal{http.StatusNotFound, "this cluster is not a session, and takes no jobs or programs: start a session with bobbin session start"}
	}
	return s.config.Session, nil
}

func (s *Server) submitJob(r *http.Request) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	var body restapi.JobSubmission
	if err := s.readJSON(r, &body); err != nil {
		return nil, err
	}
	if body.Job == "" {
		body.Job = ids.JobID(ids.Random())
	}
	if _, err := parseJobID(string(body.Job)); err != nil {
		return nil, err
	}
	if _, err := parseProgram(body.Program.SHA256); err != nil {
		return nil, err
	}
	if body.ClientHeartbeatTimeout < 0 {
		return nil, badRequest("clientHeartbeatTimeout must not be negative: it is %d", body.ClientHeartbeatTimeout)
	}
	if err := session.SubmitJob(r.Context(), body); err != nil {
		return nil, err
	}
	return restapi.JobSubmitted{JobURL: "/jobs/" + string(body.Job)}, nil
}

// clientHeartbeat keeps alive a job that ends with its client.
func (s *Server) clientHeartbeat(r *http.Request) (any, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	var body restapi.ClientHeartbeat
	if err := s.readJSON(r, &body); err != nil {
		return nil, err
	}
	return restapi.Empty{}, s.gateway.ClientSeen(r.Context(), id)
}

// stopUntilNow refuses a request to stop a job with a savepoint.
func (s *Server) stopUntilNow(r *http.Request) (any, error) {
	if _, err := jobID(r); err != nil {
		return nil, err
	}
	return nil, notYet("a job cannot be stopped with a savepoint yet: cancel it")
}

func (s *Server) noSavepoints(r *http.Request) (any, error) {
	if err := identified(r); err != nil {
		return nil, err
	}
	return nil, notYet("savepoints are not supported yet")
}

func notYet(text string) error { return &refusal{http.StatusNotImplemented, text} }
