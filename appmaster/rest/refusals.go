package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// refusal is an error with its HTTP status.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

func badRequest(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// statusOf maps an error to its HTTP status.
func statusOf(err error) int {
	var refused *refusal
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &refused):
		return refused.status
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, jobgraph.ErrInvalid), errors.Is(err, config.ErrInvalid), errors.Is(err, launch.ErrResources), errors.Is(err, msg.ErrBadProgram), errors.Is(err, msg.ErrBadFile), errors.Is(err, msg.ErrBadInquiry), errors.Is(err, cachedfiles.ErrNotFound), errors.Is(err, io.ErrUnexpectedEOF):
		return http.StatusBadRequest
	case errors.Is(err, msg.ErrJobNotFound), errors.Is(err, msg.ErrVertexNotFound), errors.Is(err, msg.ErrSubtasksGone), errors.Is(err, msg.ErrResultNotFound), errors.Is(err, msg.ErrProgramNotFound), errors.Is(err, msg.ErrFileNotFound), errors.Is(err, msg.ErrDriverNotFound),
		errors.Is(err, msg.ErrWorkerNotFound), errors.Is(err, msg.ErrNotShown):
		return http.StatusNotFound
	case errors.Is(err, msg.ErrJobEnded), errors.Is(err, msg.ErrJobExists), errors.Is(err, msg.ErrDifferentJob), errors.Is(err, msg.ErrProgramInUse), errors.Is(err, msg.ErrDriverEnded), errors.Is(err, msg.ErrProfiling):
		return http.StatusConflict
	case errors.Is(err, msg.ErrJobTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, msg.ErrResultGone), errors.Is(err, msg.ErrJobWithdrawn):
		return http.StatusGone
	case errors.Is(err, msg.ErrNotReady), errors.Is(err, msg.ErrTooManyJobs), errors.Is(err, msg.ErrNoMemory), errors.Is(err, msg.ErrTooManyPrograms), errors.Is(err, msg.ErrTooManyFiles),
		errors.Is(err, msg.ErrWorkerSilent), errors.Is(err, msg.ErrTooManyInquiries),
		errors.Is(err, msg.ErrEnding), errors.Is(err, actor.ErrStopped), errors.Is(err, errNotLeading),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	s.write(w, r, s.failed(r, err), s.answer(r, view))
}

// maxRefusal is the largest text of a refusal, in bytes. JSON makes at most six bytes of each, so that the
// answer is small.
const maxRefusal = 600

// failed returns the answer for an error. Callers with all rights get the full text. Other callers get a
// short text, so that these answers are small, and neither wait for room nor take any.
func (s *Server) failed(r *http.Request, err error) reply {
	status := statusOf(err)
	logger := s.logger.WithFields(logrus.Fields{"method": r.Method, "path": r.URL.Path, "peer": r.RemoteAddr, "status": status, "err": err})
	if status == http.StatusInternalServerError {
		logger.Error("request failed")
	} else {
		logger.Debug("request refused")
	}
	text := err.Error()
	if len(text) > maxRefusal && !s.config.Rights.all(callerOf(r.Context())) {
		text = strings.ToValidUTF8(text[:maxRefusal], "")
	}
	failure := s.replyOf(r, status, restapi.FailureBody{Errors: []string{text}})
	if errors.Is(err, msg.ErrEnding) || errors.Is(err, actor.ErrStopped) {
		failure.header.Set(restapi.HeaderLeaving, "true")
	}
	return failure
}
