package historyserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
	on("/overview", s.overview)
	on("/jobs", s.jobs)
	on("/jobs/overview", s.jobsOverview)
	on("/jobs/{job}", s.stored)
	on("/jobs/{job}/{rest...}", s.stored)
	on("/jobs/{job}/status", s.status)
	on("/jobs/{job}/jobmanager/log-url", s.logURL)
	on("/jobs/{job}/taskmanagers/{worker}/log-url", s.logURL)
	mux.HandleFunc("GET /jobs/{job}/taskmanagers/{worker}/log", s.toLog)
	mux.HandleFunc("GET /v1/jobs/{job}/taskmanagers/{worker}/log", s.toLog)
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
		Version: s.config.Version, Revision: s.config.Revision, Features: restapi.DashboardFeatures{WebHistory: true, WebLogs: s.config.WorkerLog != ""},
	}, nil
}

func (s *Server) overview(*http.Request) (any, error) {
	o := restapi.ClusterOverview{Version: s.config.Version, Commit: s.config.Revision}
	for _, j := range s.newest() {
		o.Count(j.job.State)
	}
	return o, nil
}

func (s *Server) jobs(*http.Request) (any, error) {
	list := s.newest()
	answer := restapi.JobIDsWithStatus{Jobs: make([]restapi.JobIDWithStatus, len(list))}
	for i, j := range list {
		answer.Jobs[i] = restapi.JobIDWithStatus{ID: j.job.ID, Status: j.job.State}
	}
	return answer, nil
}

func (s *Server) jobsOverview(*http.Request) (any, error) {
	list := s.newest()
	jobs := make([]json.RawMessage, len(list))
	for i, j := range list {
		jobs[i] = j.text
	}
	return map[string][]json.RawMessage{"jobs": jobs}, nil
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

// logURL answers where the logs of a job are (Flink's GeneratedLogUrlHandler).
func (s *Server) logURL(r *http.Request) (any, error) {
	at, err := s.logAt(r)
	return restapi.LogURL{URL: at}, err
}

// toLog leads a browser to the log of a worker: the page links it. The live page has a log at the same name.
func (s *Server) toLog(w http.ResponseWriter, r *http.Request) {
	at, err := s.logAt(r)
	if err != nil {
		s.answer(w, r, func(*http.Request) (any, error) { return nil, err })
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, at, http.StatusFound) //nolint:gosec // the operator's URL; the names in it are escaped
}

// logAt is the URL of a log. The error is errNotHere if it is not configured.
func (s *Server) logAt(r *http.Request) (string, error) {
	h, err := s.job(r)
	if err != nil {
		return "", err
	}
	pattern, worker := s.config.MasterLog, r.PathValue("worker")
	if worker != "" {
		pattern = s.config.WorkerLog
	}
	if pattern == "" {
		return "", errNotHere
	}
	return strings.NewReplacer("<jobid>", string(h.source.job), "<tmid>", url.PathEscape(worker)).Replace(pattern), nil
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
