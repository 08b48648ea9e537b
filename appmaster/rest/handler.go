package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// access says who may use a route.
type access int

const (
	view  access = iota + 1 // looks and changes nothing
	owner                   // changes something, or gives the user's data away
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
		{"PATCH /jobs/{job}", owner, accepted, s.cancelJob},
		{"DELETE /cluster", owner, ok, s.shutDown},
		{"GET /jobs/{job}/result", owner, ok, s.result},
		{"GET /jobs/{job}/collect/{name}", owner, ok, s.collect},
		{"GET /{$}", view, ok, s.page},
	}
}

// ownerDoor answers who shows the token, and everything.
func (s *Server) ownerDoor() http.Handler {
	mux := s.mux(func(r route) func(*http.Request) (any, error) { return r.handle })
	return s.guarded(mux, func(r *http.Request) error {
		sent, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer || !s.config.Token.Matches(sent) {
			return &refusal{http.StatusUnauthorized, "send the cluster's token as \"Authorization: Bearer …\", or look at the cluster through YARN's web proxy"}
		}
		return nil
	})
}

// proxyDoor answers YARN's proxy, with views.
func (s *Server) proxyDoor() http.Handler {
	mux := s.mux(func(r route) func(*http.Request) (any, error) {
		if r.access == view {
			return r.handle
		}
		return func(*http.Request) (any, error) {
			return nil, &refusal{http.StatusForbidden, "YARN's web proxy shows the cluster only: use the bobbin command to change it or to fetch results"}
		}
	})
	return s.guarded(mux, func(r *http.Request) error {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !slices.Contains(s.config.Proxies, from.Addr().Unmap()) {
			return &refusal{http.StatusForbidden, fmt.Sprintf("plain HTTP is answered to YARN's web proxy only, not to %s: open the application's tracking URL, or use https with the cluster's token", from.Addr().Unmap())}
		}
		return nil
	})
}

// guarded lets requests through that a check allows.
func (s *Server) guarded(h http.Handler, check func(*http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if err := check(r); err != nil {
			if r.TLS != nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			s.writeError(w, r, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// mux routes requests to the handlers that pick gives for each route.
func (s *Server) mux(pick func(route) func(*http.Request) (any, error)) http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		h := s.handler(r.status, pick(r))
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
