package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// route is one method of one path. Its handler parses the request, asks the
// gateway, and gives a value: raw is written as it is, anything else as JSON.
type route struct {
	pattern string // of http.ServeMux
	access  access
	status  int // of success
	handle  func(*http.Request) (any, error)
}

// raw is an answer that is not JSON.
type raw struct {
	contentType string
	header      http.Header
	body        []byte
}

// routes lists everything that is answered, below "/" and "/v1/".
func (s *Server) routes() []route {
	const ok, accepted = http.StatusOK, http.StatusAccepted
	return []route{
		{"GET /overview", view, ok, s.overview},
		{"GET /config", view, ok, s.dashboard},
		{"GET /taskmanagers", view, ok, s.taskManagers},
		{"GET /jobs", view, ok, s.jobs},
		{"GET /jobs/overview", view, ok, s.jobsOverview},
		{"GET /jobs/{job}", view, ok, s.job},
		{"GET /jobs/{job}/status", view, ok, s.jobStatus},
		{"GET /jobs/{job}/exceptions", view, ok, s.jobExceptions},
		{"GET /jobs/{job}/execution-result", view, ok, s.executionResult},
		{"PATCH /jobs/{job}", modify, accepted, s.cancelJob},
		{"PUT /jobs/{job}", modify, accepted, s.cancelJob}, // YARN's proxy passes no other method on but GET
		{"DELETE /cluster", modify, ok, s.shutDown},
		{"GET /jobs/{job}/result", own, ok, s.result},
		{"GET /jobs/{job}/collect/{name}", own, ok, s.collect},
		{"GET /{$}", view, ok, s.page},
	}
}

// mux routes requests to the handlers of those routes that their caller has the
// right to.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	for _, route := range s.routes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		h := s.handler(route.status, func(r *http.Request) (any, error) {
			c := callerOf(r.Context())
			if err := s.permit(r, c, route.access); err != nil {
				return nil, err
			}
			if route.access != view {
				s.logger.WithFields(logrus.Fields{"method": r.Method, "path": r.URL.Path, "caller": c.String()}).Debug("request is permitted")
			}
			return route.handle(r)
		})
		mux.Handle(method+" "+path, h)
		mux.Handle(method+" /v1"+path, h)
	}
	mux.Handle("/", s.handler(http.StatusOK, func(r *http.Request) (any, error) {
		return nil, &refusal{http.StatusNotFound, fmt.Sprintf("not found: %s %s", r.Method, r.URL.Path)}
	}))
	return mux
}

// handler writes what a route's function gives.
func (s *Server) handler(status int, handle func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := handle(r)
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		if plain, is := answer.(raw); is {
			maps.Copy(w.Header(), plain.header)
			s.write(w, r, status, plain.contentType, plain.body)
			return
		}
		s.writeJSON(w, r, status, answer)
	})
}

func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, status int, answer any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)                   // names have arrows in them, and no browser takes this for a page
	if err := encoder.Encode(answer); err != nil { // a value of ours that has no JSON form
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"errors":["answer cannot be written"]}`)
		s.logger.WithFields(logrus.Fields{"path": r.URL.Path, "err": err}).Error("answer cannot be written")
	}
	s.write(w, r, status, "application/json; charset=UTF-8", body.Bytes())
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		s.logger.WithFields(logrus.Fields{"path": r.URL.Path, "err": err}).Debug("client broke off")
	}
}

// refusal is an error whose status is decided where it arises.
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
	switch {
	case errors.As(err, &refused):
		return refused.status
	case errors.Is(err, msg.ErrJobNotFound), errors.Is(err, msg.ErrResultNotFound):
		return http.StatusNotFound
	case errors.Is(err, msg.ErrJobEnded), errors.Is(err, msg.ErrJobExists):
		return http.StatusConflict
	case errors.Is(err, msg.ErrResultGone):
		return http.StatusGone
	case errors.Is(err, msg.ErrNotReady), errors.Is(err, actor.ErrStopped),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// failureBody is Flink's ErrorResponseBody.
type failureBody struct {
	Errors []string `json:"errors"`
}

func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	logger := s.logger.WithFields(logrus.Fields{"method": r.Method, "path": r.URL.Path, "peer": r.RemoteAddr, "status": status, "err": err})
	if status == http.StatusInternalServerError {
		logger.Error("request failed")
	} else {
		logger.Debug("request refused")
	}
	s.writeJSON(w, r, status, failureBody{Errors: []string{err.Error()}})
}
