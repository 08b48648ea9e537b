package historyserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/web"
)

// handler answers REST's paths about jobs, below "/" and "/v1/". Flink's HistoryServer has no other ones either.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	on := func(path string, answer func(*http.Request) (any, error)) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, answer) })
		mux.Handle("GET "+path, h)
		mux.Handle("GET /v1"+path, h)
	}
	on("/config", s.dashboard)
	for _, path := range []string{"/overview", "/jobs", overviewPath} {
		on(path, s.ofLists(path))
	}
	on("/jobs/{job}", s.stored)
	on("/jobs/{job}/{rest...}", s.stored)
	on("/jobs/{job}/status", s.status)
	on("/jobs/{job}/jobmanager/log-url", s.logURL)
	on("/jobs/{job}/taskmanagers/{worker}/log-url", s.logURL)
	for _, path := range []string{"/jobs/{job}/taskmanagers/{worker}/log", "/jobs/{job}/jobmanager/log"} {
		mux.HandleFunc("GET "+path, s.toLog)
		mux.HandleFunc("GET /v1"+path, s.toLog)
	}
	for _, path := range []string{"/{$}", "/page/{file}"} {
		mux.HandleFunc("GET "+path, s.page)
		mux.HandleFunc("GET /v1"+path, s.page)
	}
	mux.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, func(*http.Request) (any, error) { return nil, errNotHere })
	}))
	return mux
}

// errNotHere says that there is no such answer.
var errNotHere = errors.New("no such answer")

// notFound is what Flink's HistoryServer says then.
const notFound = "File not found."

func (s *Server) answer(w http.ResponseWriter, r *http.Request, answer func(*http.Request) (any, error)) {
	value, err := answer(r)
	status := http.StatusOK
	switch {
	case errors.Is(err, errNotHere), errors.Is(err, fs.ErrNotExist):
		status, value = http.StatusNotFound, restapi.FailureBody{Errors: []string{notFound}}
	case err != nil:
		s.logger.WithField("path", r.URL.Path).WithError(err).Error("request failed")
		status, value = http.StatusInternalServerError, restapi.FailureBody{Errors: []string{"the answer cannot be read"}}
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	switch value := value.(type) {
	case packed:
		defer value.Close()
		s.write(w, r, status, "application/json; charset=UTF-8", value.Size(), value)
	default:
		var body bytes.Buffer
		encoder := json.NewEncoder(&body)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			s.logger.WithField("path", r.URL.Path).WithError(err).Error("an answer cannot be encoded")
			status = http.StatusInternalServerError
		}
		s.write(w, r, status, "application/json; charset=UTF-8", int64(body.Len()), &body)
	}
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, kind string, length int64, body io.Reader) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(status)
	if _, err := io.Copy(w, body); err != nil {
		s.logger.WithField("path", r.URL.Path).WithError(err).Debug("client closed the connection, or did not read the answer")
	}
}

func (s *Server) newest() []overview {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.list()
}

func (s *Server) dashboard(*http.Request) (any, error) {
	name, offset := time.Now().Zone()
	return restapi.DashboardConfiguration{
		RefreshInterval: s.config.WebInterval.Milliseconds(), TimezoneName: name, TimezoneOffset: (time.Duration(offset) * time.Second).Milliseconds(),
		Version: s.config.Version, Revision: s.config.Revision, Features: restapi.DashboardFeatures{
			WebHistory: true, WebLogs: s.config.WorkerLog != "", WebMasterLogs: s.config.MasterLog != "" || s.config.LogPages != "" || s.config.LogFiles != "",
		},
	}, nil
}

// job reads the path's job, which must be known.
func (s *Server) job(r *http.Request) (held, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, is := s.core.held[ids.JobID(r.PathValue("job"))]
	if !is {
		return held{}, errNotHere
	}
	return h, nil
}

func (s *Server) status(r *http.Request) (any, error) {
	h, err := s.job(r)
	return restapi.JobStatusInfo{Status: h.overview.job.State}, err
}

// stored answers what the archive of a job has.
func (s *Server) stored(r *http.Request) (any, error) {
	h, err := s.job(r)
	if err != nil {
		return nil, err
	}
	path := "/jobs/" + string(h.source.job)
	if rest := r.PathValue("rest"); rest != "" {
		path += "/" + rest
	}
	return openPacked(s.pack(h.source.job), path)
}

// page answers the page for people, and its files: the one that the ApplicationMaster has.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	found, is := web.Find(r)
	if !is {
		s.answer(w, r, func(*http.Request) (any, error) { return nil, errNotHere })
		return
	}
	maps.Copy(w.Header(), found.Header)
	s.write(w, r, found.Status, found.Header.Get("Content-Type"), int64(len(found.Body)), bytes.NewReader(found.Body))
}
