package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/launch"
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
	asks    bool          // the handler asks HDFS or YARN, which may be slow; the answer is small
	// inquires says that the handler asks a process about itself, which may be stopped. The answer may be large.
	inquires bool
	disk     bool // the process reads the answer from its disk, which may hang: see inquiring
	streams  bool // likewise, and the answer is a stream
	// samples takes the place of handle for a flame graph. It asks processes for all who want to know at the time: see joined.
	samples func(context.Context, wantedFlames) (any, error)
	shared  bool // the answer is the same for all callers, and may be that of a moment ago: see recent
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

// looksUp returns the route for a handler that asks HDFS or YARN.
func (r route) looksUp() route {
	r.asks = true
	return r
}

// shares returns the route with answers for all who ask for the same within a moment.
func (r route) shares() route {
	r.shared = true
	return r
}

// routes returns all routes, below "/" and "/v1/".
func (s *Server) routes() []route {
	const ok, accepted = http.StatusOK, http.StatusAccepted
	on := func(pattern string, access access, status int, handle func(*http.Request) (any, error)) route {
		return route{pattern: pattern, access: access, status: status, handle: handle}
	}
	return slices.Concat([]route{
		on("GET /overview", view, ok, s.overview).shares(),
		on("GET /config", view, ok, s.dashboard).shares(),
		on("GET /jobmanager/config", view, ok, s.clusterConfig).shares(),
		on("GET /jobmanager/environment", view, ok, s.environment).shares(),
		on("GET /jobmanager/metrics", view, ok, s.masterMetrics).shares(),
		on("GET /metrics", view, ok, s.prometheus),
		on("GET /metrics/targets", view, ok, s.scrapeTargets),
		on("GET /blocklist", view, ok, s.blocklist).shares(),
		on("GET /access", view, ok, s.access), // of the caller: not shared
		on("POST /access", view, ok, s.admitBrowser),
		on("DELETE /access", view, ok, s.leave),
		on("POST /access/links", modify, ok, s.offerLink),
		on("GET /open", anyone, ok, s.open),
		on("GET /attempts", view, ok, s.attempts).looksUp().shares(),
		on("GET /application", view, ok, s.application).looksUp().shares(),
		on("GET /start", view, ok, s.start).looksUp().shares(),
		on("GET /datasets", view, ok, s.dataSets),
		on("DELETE /datasets/{dataset}", modify, accepted, s.deleteDataSet),
		on("GET /datasets/delete/{trigger}", view, ok, s.dataSetDeletion),
		on("DELETE /cluster", modify, ok, s.shutDown),
		on("GET /taskmanagers", view, ok, s.taskManagers).shares(),
		on("GET /taskmanagers/metrics", view, ok, s.workersMetrics).shares(),
		on("GET /taskmanagers/{worker}/metrics", view, ok, s.workerMetrics).shares(),
		on("GET /slots", view, ok, s.slots).shares(),
		on("GET /{$}", view, ok, s.page),
		on("GET /page/{file}", view, ok, s.page),

		on("GET /jobs", view, ok, s.jobs),
		on("POST /jobs", run, accepted, s.submitJob).reads(int64(s.config.Room.Largest())),
		on("GET /jobs/overview", view, ok, s.jobsOverview).shares(),
		on("GET /jobs/metrics", view, ok, s.jobsMetrics).shares(),
		on("GET /jobs/{job}", view, ok, s.job).shares(),
		on("GET /jobs/{job}/vertices", view, ok, s.jobVertices).shares(),
		on("GET /jobs/{job}/timeline", view, ok, s.jobTimeline).shares(),
		on("GET /jobs/{job}/metrics", view, ok, s.jobMetrics).shares(),
		on("GET /jobs/{job}/vertices/{vertex}/metrics", view, ok, s.vertexMetrics).shares(),
		on("GET /jobs/{job}/vertices/{vertex}/subtasks/metrics", view, ok, s.subtasksMetrics).shares(),
		on("GET /jobs/{job}/vertices/{vertex}/subtasks/{subtask}/metrics", view, ok, s.subtaskMetrics).shares(),
		on("PATCH /jobs/{job}", modify, accepted, s.cancelJob),
		on("PUT /jobs/{job}", modify, accepted, s.cancelJob),             // YARN's proxy passes on only GET and PUT
		on("GET /jobs/{job}/yarn-cancel", modify, accepted, s.cancelJob), // for proxies that pass on only GET
		on("GET /jobs/{job}/yarn-stop", modify, accepted, s.stopJob),     // likewise
		on("GET /jobs/{job}/status", view, ok, s.jobStatus),
		on("GET /jobs/{job}/plan", view, ok, s.jobPlan).shares(),
		on("GET /jobs/{job}/start", view, ok, s.jobStart).shares(),
		on("GET /jobs/{job}/waiting", view, ok, s.waiting).shares(),
		on("GET /jobs/{job}/config", view, ok, s.jobConfig).shares(),
		on("GET /jobs/{job}/jobmanager/config", view, ok, s.clusterConfig),
		on("GET /jobs/{job}/jobmanager/environment", view, ok, s.environment),
		on("GET /jobs/{job}/resource-requirements", view, ok, s.requirements),
		on("PUT /jobs/{job}/resource-requirements", modify, ok, s.newRequirements),
		on("GET /jobs/{job}/accumulators", view, ok, s.jobAccumulators).shares(),
		on("GET /jobs/{job}/exceptions", view, ok, s.jobExceptions).shares(),
		on("GET /jobs/{job}/execution-result", view, ok, s.executionResult),
		on("GET /jobs/{job}/checkpoints", view, ok, s.noCheckpoints),
		on("GET /jobs/{job}/checkpoints/config", view, ok, s.noCheckpoints),
		on("GET /jobs/{job}/checkpoints/details/{checkpoint}", view, ok, s.noCheckpoints),
		on("GET /jobs/{job}/checkpoints/details/{checkpoint}/subtasks/{vertex}", view, ok, s.noCheckpoints),
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

		on("GET /programs", view, ok, s.programs).shares(),
		on("POST /programs", run, ok, s.addProgram).passes(s.config.maxProgram()).takes(uploadTime),
		{pattern: "GET /files/{file}", access: run, status: ok, handle: s.file, asks: true},
		on("POST /files", run, ok, s.addFile).passes(s.config.maxProgram()).takes(uploadTime),
		on("GET /drivers", view, ok, s.drivers).shares(),
		on("DELETE /drivers/{driver}", run, ok, s.endDriver),
		on("GET /jars", view, ok, s.jars),
		on("POST /jars/upload", run, ok, s.uploadJar).passes(s.config.maxProgram()).takes(uploadTime),
		on("GET /taskmanagers/{worker}", view, ok, s.taskManager).shares(),
		{pattern: "GET /jobs/{job}/vertices/{vertex}/flamegraph", access: inspect, status: ok, samples: s.vertexFlameGraph},
		{pattern: "GET /taskmanagers/{worker}/hosts", access: view, status: ok, handle: s.taskHosts, inquires: true, shared: true},
		on("GET /jobs/{job}/jobmanager/log-url", view, ok, s.logURL),
		on("GET /jobs/{job}/taskmanagers/{worker}/log-url", view, ok, s.logURL),
	}, s.vertexRoutes("/jobs/{job}/vertices/{vertex}"), s.programRoutes("/programs/{program}"), s.programRoutes("/jars/{program}"),
		s.processRoutes("/jobmanager", launch.MasterLog), s.processRoutes("/taskmanagers/{worker}", launch.WorkerLog))
}

// vertexRoutes returns the routes of one vertex of a job.
func (s *Server) vertexRoutes(path string) (routes []route) {
	for _, r := range []route{
		{pattern: "", handle: s.vertex},
		{pattern: "/accumulators", handle: s.vertexAccumulators},
		{pattern: "/backpressure", handle: s.backPressure},
		{pattern: "/jm-operator-metrics", handle: s.coordinatorMetrics},
		{pattern: "/subtasktimes", handle: s.subtaskTimes},
		{pattern: "/taskmanagers", handle: s.vertexTaskManagers},
		{pattern: "/watermarks", handle: s.watermarks},
		{pattern: "/subtasks/accumulators", handle: s.subtasksAccumulators},
		{pattern: "/subtasks/{subtask}", handle: s.subtask},
		{pattern: "/subtasks/{subtask}/attempts/{attempt}", handle: s.subtask},
		{pattern: "/subtasks/{subtask}/attempts/{attempt}/accumulators", handle: s.attemptAccumulators},
	} {
		r.pattern, r.access, r.status = "GET "+path+r.pattern, view, http.StatusOK
		routes = append(routes, r.shares())
	}
	return routes
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
func (r route) looks() bool {
	return r.access == view && strings.HasPrefix(r.pattern, "GET ") && r.body == 0 && r.time == 0 && !r.asks && !r.inquires && !r.streams && r.samples == nil
}

// handler writes what a route's function returns.
func (s *Server) handler(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := s.answer(r, route.access)
		defer one.leave() // also if the handler panics
		value, err := s.handle(route, r, one, cutter(w))
		if err != nil {
			one.vacate()
			s.write(w, r, s.failed(r, err), one)
			return
		}
		if parts, is := value.(*stream); is {
			s.stream(w, r, route.status, parts, one)
			return
		}
		s.write(w, r, s.replyOf(r, route.status, value), one)
	})
}

// handle checks the caller's right first, so that a caller without the right waits for nothing. cut ends the connection.
func (s *Server) handle(route route, r *http.Request, one *answer, cut func()) (any, error) {
	c := callerOf(r.Context())
	if err := s.permit(r, c, route.access); err != nil {
		return nil, err
	}
	if err := s.fits(route, r); err != nil {
		return nil, err
	}
	key, age, shares := recentKey(r)
	asked := time.Now()
	if shares = shares && route.shared; shares {
		if told, found := s.recent.find(key, age, asked, asked); found {
			return told, nil // it needs no place: nothing is composed
		}
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
	case route.inquires:
		if err := one.inquire(r.Context(), r.PathValue("worker"), route.disk); err != nil {
			return nil, err
		}
	case route.streams:
		if err := one.enter(r.Context(), streamRoom, cut); err != nil {
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
	if route.samples != nil {
		return s.joinSampling(route, r, one)
	}
	if shares {
		return s.recent.answer(one, key, age, asked, func() (reply, error) {
			value, err := route.handle(r)
			if err != nil {
				return reply{}, err
			}
			return s.replyOf(r, route.status, value), nil
		})
	}
	return route.handle(r)
}

// joinSampling answers with a flame graph, which is sampled once for all who ask for the same at the time.
func (s *Server) joinSampling(route route, r *http.Request, one *answer) (any, error) {
	wanted, err := flameRequest(r)
	if err != nil {
		return nil, err
	}
	return s.joined.answer(r.Context(), joinedKey{one.room, wanted}, func(ctx context.Context) (reply, error) {
		if err := one.sample(ctx, wanted.job); err != nil {
			return reply{}, err
		}
		value, err := route.samples(ctx, wanted)
		if err != nil {
			return reply{}, err
		}
		return s.replyOf(r, route.status, value), nil
	})
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
