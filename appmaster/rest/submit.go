package rest

import (
	"math"
	"net/http"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// JobSubmission is the body of POST /jobs: a planned job of a program that the session
// has.
type JobSubmission struct {
	Job     ids.JobID         `json:"jobId,omitempty"` // "": the session gives it one
	Graph   jobgraph.JobGraph `json:"graph"`
	Program ProgramID         `json:"program"`
	// Attached says that a client comes for what the job collects. Without it nothing is
	// kept of that.
	Attached bool `json:"attached"`
	// ClientHeartbeatTimeout is how long the client may be silent before the job is
	// cancelled, in ms; 0: for ever.
	ClientHeartbeatTimeout int64 `json:"clientHeartbeatTimeout,omitempty"`
}

// ClientTimeout is how long the client may be silent; 0: for ever.
func (j JobSubmission) ClientTimeout() time.Duration { return milliseconds(j.ClientHeartbeatTimeout) }

// milliseconds is a duration as JSON has it, within what a Duration can hold.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// ProgramID names a program.
type ProgramID struct {
	Name   string `json:"name,omitempty"` // for people
	SHA256 string `json:"sha256"`         // lower-case hex
}

// JobSubmitted is the answer to POST /jobs; Flink's JobSubmitResponseBody.
type JobSubmitted struct {
	JobURL string `json:"jobUrl"` // path of the job
}

// ClientHeartbeat is the body of PATCH /jobs/{job}/clientHeartbeat; Flink's
// JobClientHeartbeatRequestBody.
type ClientHeartbeat struct {
	// ExpiredTimestamp is until when the job may go on by the client's clock, in ms since
	// 1970. The session counts the submission's time by its own instead.
	ExpiredTimestamp int64 `json:"expiredTimestamp"`
}

// session is the part of the cluster that takes jobs and programs.
func (s *Server) session() (Session, error) {
	if s.config.Session == nil {
		return nil, &refusal{http.StatusNotFound, "this cluster is no session, and takes no jobs and programs: start one with bobbin session start"}
	}
	return s.config.Session, nil
}

func (s *Server) submitJob(r *http.Request) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	var body JobSubmission
	text, err := readText(r)
	if err != nil {
		return nil, err
	}
	if err := fitsDecoded(text); err != nil {
		return nil, err
	}
	if err := decodeJSON(text, &body); err != nil {
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
		return nil, badRequest("clientHeartbeatTimeout must not be negative, as %d", body.ClientHeartbeatTimeout)
	}
	if err := session.SubmitJob(r.Context(), body); err != nil {
		return nil, err
	}
	return JobSubmitted{JobURL: "/jobs/" + string(body.Job)}, nil
}

// clientHeartbeat keeps a job going that ends with its client.
func (s *Server) clientHeartbeat(r *http.Request) (any, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	var body ClientHeartbeat
	if err := readJSON(r, &body); err != nil {
		return nil, err
	}
	return empty{}, s.gateway.ClientSeen(r.Context(), id)
}

// stopUntilNow answers who wants a job to end with a savepoint.
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
	return nil, notYet("there are no savepoints yet")
}

func notYet(text string) error { return &refusal{http.StatusNotImplemented, text} }
