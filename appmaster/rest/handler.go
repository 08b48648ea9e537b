package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// route is one method of one path. Its handler parses the request, asks the gateway, and returns a value:
// raw is written unchanged, anything else as JSON.
type route struct {
	pattern string // of http.ServeMux
	access  access
	status  int // of success
	handle  func(*http.Request) (any, error)
	body    int64         // largest body that is read, in bytes; 0: the route needs no body
	held    bool          // the whole body is held in memory
	time    time.Duration // how long an answer may take beyond writeTime
	asks    bool          // the handler asks HDFS, which may be slow; the answer is small
}

// reads returns the route with a body of at most the given number of bytes, held in memory.
func (r route) reads(bytes int64) route {
	r.body, r.held = bytes, true
	return r
}

// passes returns the route with a body of at most the given number of bytes, passed on as it arrives.
func (r route) passes(bytes int64) route {
	r.body = bytes
	return r
}

// takes returns the route with more time for an answer.
func (r route) takes(d time.Duration) route {
	r.time = d
	return r
}

// raw is an answer that is not JSON.
type raw struct {
	contentType string
	header      http.Header
	body        []byte
}

// routes returns all routes, below "/" and "/v1/".
func (s *Server) routes() []route {
	const ok, accepted = http.StatusOK, http.StatusAccepted
	on := func(pattern string, access access, status int, handle func(*http.Request) (any, error)) route {
		return route{pattern: pattern, access: access, status: status, handle: handle}
	}
	return slices.Concat([]route{
		on("GET /overview", view, ok, s.overview),
		on("GET /config", view, ok, s.dashboard),
		on("GET /jobmanager/config", view, ok, s.clusterConfig),
		on("GET /jobmanager/environment", view, ok, s.environment),
		on("GET /blocklist", view, ok, s.blocklist),
		on("GET /attempts", view, ok, s.attempts),
		on("GET /datasets", view, ok, s.dataSets),
		on("DELETE /datasets/{dataset}", modify, accepted, s.deleteDataSet),
		on("GET /datasets/delete/{trigger}", view, ok, s.dataSetDeletion),
		on("DELETE /cluster", modify, ok, s.shutDown),
		on("GET /taskmanagers", view, ok, s.taskManagers),
		on("GET /slots", view, ok, s.slots),
		on("GET /{$}", view, ok, s.page),

		on("GET /jobs", view, ok, s.jobs),
		on("POST /jobs", run, accepted, s.submitJob).reads(int64(s.config.Room.Largest())),
		on("GET /jobs/overview", view, ok, s.jobsOverview),
		on("GET /jobs/metrics", view, ok, s.jobsMetrics),
		on("GET /jobs/{job}", view, ok, s.job),
		on("PATCH /jobs/{job}", modify, accepted, s.cancelJob),
		on("PUT /jobs/{job}", modify, accepted, s.cancelJob),             // YARN's proxy passes on only GET and PUT
		on("GET /jobs/{job}/yarn-cancel", modify, accepted, s.cancelJob), // for proxies that pass on only GET
		on("GET /jobs/{job}/yarn-stop", modify, accepted, s.stopJob),     // likewise
		on("GET /jobs/{job}/status", view, ok, s.jobStatus),
		on("GET /jobs/{job}/plan", view, ok, s.jobPlan),
		on("GET /jobs/{job}/config", view, ok, s.jobConfig),
		on("GET /jobs/{job}/jobmanager/config", view, ok, s.clusterConfig),
		on("GET /jobs/{job}/jobmanager/environment", view, ok, s.environment),
		on("GET /jobs/{job}/resource-requirements", view, ok, s.requirements),
		on("PUT /jobs/{job}/resource-requirements", modify, ok, s.newRequirements),
		on("GET /jobs/{job}/accumulators", view, ok, s.jobAccumulators),
		on("GET /jobs/{job}/exceptions", view, ok, s.jobExceptions),
		on("GET /jobs/{job}/execution-result", view, ok, s.executionResult),
		on("PATCH /jobs/{job}/clientHeartbeat", run, accepted, s.clientHeartbeat).reads(maxBody),
		on("PATCH /jobs/{job}/rescaling", modify, ok, s.rescaling),
		on("GET /jobs/{job}/rescaling/{trigger}", view, ok, s.rescaling),
		on("POST /jobs/{job}/stop", modify, accepted, s.stopUntilNow),
		on("POST /jobs/{job}/savepoints", modify, accepted, s.noSavepoints),
		on("GET /jobs/{job}/savepoints/{trigger}", view, ok, s.noSavepoints),
		on("POST /savepoint-disposal", modify, accepted, s.noSavepoints),
		on("GET /savepoint-disposal/{trigger}", view, ok, s.noSavepoints),
		on("GET /jobs/{job}/result", own, ok, s.result),
		on("GET /jobs/{job}/collect/{name}", own, ok, s.collect),

		on("GET /programs", view, ok, s.programs),
		on("POST /programs", run, ok, s.addProgram).passes(s.config.maxProgram()).takes(uploadTime),
		{pattern: "GET /files/{file}", access: run, status: ok, handle: s.file, asks: true},
		on("POST /files", run, ok, s.addFile).passes(s.config.maxProgram()).takes(uploadTime),
		on("GET /drivers", view, ok, s.drivers),
		on("DELETE /drivers/{driver}", run, ok, s.endDriver),
		on("GET /jars", view, ok, s.jars),
		on("POST /jars/upload", run, ok, s.uploadJar).passes(s.config.maxProgram()).takes(uploadTime),
	}, s.programRoutes("/programs/{program}"), s.programRoutes("/jars/{program}"))
}

// programRoutes returns the routes of one program, under Bobbin's name and under Flink's.
func (s *Server) programRoutes(path string) []route {
	return []route{
		{pattern: "GET " + path, access: view, status: http.StatusOK, handle: s.program, asks: true},
		{pattern: "DELETE " + path, access: run, status: http.StatusOK, handle: s.removeProgram},
		route{pattern: "GET " + path + "/plan", access: run, status: http.StatusOK, handle: s.planProgram}.takes(driverTime),
		route{pattern: "POST " + path + "/plan", access: run, status: http.StatusOK, handle: s.planProgram}.reads(maxBody).takes(driverTime),
		route{pattern: "POST " + path + "/run", access: run, status: http.StatusOK, handle: s.runProgram}.reads(maxBody).takes(driverTime),
	}
}

// mux routes requests to the handlers, each with its limits.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	for _, route := range s.routes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		h := s.bounded(route, s.handler(route))
		mux.Handle(method+" "+path, h)
		mux.Handle(method+" /v1"+path, h)
	}
	mux.Handle("/", s.bounded(route{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.writeError(w, r, &refusal{http.StatusNotFound, fmt.Sprintf("not found: %s %s", r.Method, r.URL.Path)})
	})))
	return mux
}

// looks reports whether a route's answer needs no waiting, and may be large.
func (r route) looks() bool { return r.access == view && r.body == 0 && r.time == 0 && !r.asks }

// reply is an answer in the form in which it is written.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// handler writes what a route's function returns.
func (s *Server) handler(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := s.answer(r, route.access)
		defer one.leave() // also if the handler panics
		if value, err := s.handle(route, r, one); err != nil {
			s.write(w, r, s.failed(r, err), one)
		} else {
			s.write(w, r, s.replyOf(r, route.status, value), one)
		}
	})
}

// handle checks the caller's right first, so that a caller without the right waits for nothing.
func (s *Server) handle(route route, r *http.Request, one *answer) (any, error) {
	c := callerOf(r.Context())
	if err := s.permit(r, c, route.access); err != nil {
		return nil, err
	}
	if err := s.fits(route, r); err != nil {
		return nil, err
	}
	switch {
	case route.held:
		leave, err := enter(s.config.Room, r, route.body)
		if err != nil {
			return nil, err
		}
		defer leave()
	case route.asks:
		if err := one.lookUp(r.Context()); err != nil {
			return nil, err
		}
	case route.looks():
		if err := one.await(r.Context()); err != nil {
			return nil, err
		}
	}
	if route.access != view {
		s.logger.WithFields(logrus.Fields{"method": r.Method, "path": r.URL.Path, "caller": c.String()}).Debug("request is permitted")
	}
	return route.handle(r)
}

func (s *Server) replyOf(r *http.Request, status int, value any) reply {
	if plain, is := value.(raw); is {
		header := http.Header{"Content-Type": {plain.contentType}}
		maps.Copy(header, plain.header)
		return reply{status, header, plain.body}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)                  // names contain arrows, and the content type keeps browsers from reading it as a page
	if err := encoder.Encode(value); err != nil { // the value has no JSON form
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"errors":["answer cannot be encoded as JSON"]}`)
		s.logger.WithFields(logrus.Fields{"path": r.URL.Path, "err": err}).Error("answer cannot be encoded as JSON")
	}
	return reply{status, http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, body.Bytes()}
}

// answer makes the answer to a request. It does not wait, and writes nothing.
func (s *Server) answer(r *http.Request, access access) *answer {
	switch {
	case !s.config.Rights.all(callerOf(r.Context())):
		return &answer{room: s.answers.some}
	case access == own:
		return &answer{room: s.answers.results}
	}
	return &answer{room: s.answers.all}
}

// write writes an answer. A large answer counts against its room until the reader has it.
func (s *Server) write(w http.ResponseWriter, r *http.Request, told reply, one *answer) {
	if len(told.body) <= smallAnswer {
		one.leave()
	} else if err := one.enter(r.Context(), cap(told.body), cutter(w)); err != nil {
		s.writeError(w, r, err)
		return
	}
	maps.Copy(w.Header(), told.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(told.body)))
	w.WriteHeader(told.status)
	for part := range slices.Chunk(told.body, answerPart) {
		if _, err := w.Write(part); err != nil {
			s.logger.WithFields(logrus.Fields{"path": r.URL.Path, "err": err}).Debug("client closed the connection, or did not read the answer")
			return
		}
		one.progress()
	}
}

// cutter returns a function that ends the connection of an answer.
func cutter(w http.ResponseWriter) func() {
	control := http.NewResponseController(w)
	return func() { _ = control.SetWriteDeadline(time.Now()) }
}

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
	case errors.Is(err, jobgraph.ErrInvalid), errors.Is(err, config.ErrInvalid), errors.Is(err, launch.ErrResources), errors.Is(err, msg.ErrBadProgram), errors.Is(err, msg.ErrBadFile), errors.Is(err, cachedfiles.ErrNotFound), errors.Is(err, io.ErrUnexpectedEOF):
		return http.StatusBadRequest
	case errors.Is(err, msg.ErrJobNotFound), errors.Is(err, msg.ErrResultNotFound), errors.Is(err, msg.ErrProgramNotFound), errors.Is(err, msg.ErrFileNotFound), errors.Is(err, msg.ErrDriverNotFound):
		return http.StatusNotFound
	case errors.Is(err, msg.ErrJobEnded), errors.Is(err, msg.ErrJobExists), errors.Is(err, msg.ErrDifferentJob), errors.Is(err, msg.ErrProgramInUse), errors.Is(err, msg.ErrDriverEnded):
		return http.StatusConflict
	case errors.Is(err, msg.ErrJobTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, msg.ErrResultGone), errors.Is(err, msg.ErrJobWithdrawn):
		return http.StatusGone
	case errors.Is(err, msg.ErrNotReady), errors.Is(err, msg.ErrTooManyJobs), errors.Is(err, msg.ErrNoMemory), errors.Is(err, msg.ErrTooManyPrograms), errors.Is(err, msg.ErrTooManyFiles),
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
