package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/flinkrest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	finishedID = ids.JobID("44444444444444444444444444444444")
	canceledID = ids.JobID("55555555555555555555555555555555")
)

// flinkGateway is a cluster with a job in each of the states that were recorded, or with none.
type flinkGateway struct {
	fakeGateway
	idle bool
}

func (g *flinkGateway) Jobs(ctx context.Context) ([]msg.JobOverview, error) {
	if g.idle {
		return nil, nil
	}
	return g.fakeGateway.Jobs(ctx)
}

func (g *flinkGateway) JobDetails(ctx context.Context, job ids.JobID) (msg.JobDetails, error) {
	if job != finishedID && job != canceledID {
		return g.fakeGateway.JobDetails(ctx, job)
	}
	d, err := g.fakeGateway.JobDetails(ctx, failedID)
	d.ID, d.Root, d.Exceptions, d.TaskFailures, d.Status = job, nil, nil, nil, msg.JobFinished
	if job == canceledID {
		d.Status = msg.JobCanceled
	}
	d.Timestamps = map[msg.JobStatus]time.Time{msg.JobInitializing: d.Start, msg.JobCreated: d.Start, msg.JobRunning: d.Start, d.Status: d.End}
	return d, err
}

func (g *flinkGateway) VertexSubtasks(ctx context.Context, job ids.JobID, vertex string) (msg.VertexSubtasks, error) {
	if job == finishedID || job == canceledID {
		job = failedID
	}
	return g.fakeGateway.VertexSubtasks(ctx, job, vertex)
}

func (g *flinkGateway) CancelJob(ctx context.Context, job ids.JobID) error {
	switch d, err := g.JobDetails(ctx, job); {
	case err != nil:
		return err
	case d.Status == msg.JobCanceled:
		return nil // as the Dispatcher does
	case d.Status.GloballyTerminal():
		return g.fakeGateway.CancelJob(ctx, failedID)
	}
	return g.fakeGateway.CancelJob(ctx, job)
}

func (g *flinkGateway) ClientSeen(ctx context.Context, job ids.JobID) error {
	_, err := g.JobDetails(ctx, job)
	return err
}

// flinkAsk sets up the case of one of Flink's answers, and returns our answer; false: Bobbin has no such
// case.
func flinkAsk(t *testing.T, e *flinkrest.Endpoint, a flinkrest.Answer) (*httptest.ResponseRecorder, bool) {
	t.Helper()
	subject, part, _ := strings.Cut(a.Case, ", ")
	if subject == "a job that runs" && part == "its last vertex" { // Flink does not know its parallelism yet
		return nil, false
	}
	values := map[string]string{
		"vertexid": runningVertex, "subtaskindex": "0", "attempt": "0", "checkpointid": "1", "operatorid": strings.Repeat("a", 32),
		"datasetid": string(emptyID), "taskmanagerid": "container_1_0001_01_000002", "filename": "taskmanager.log",
		"jarid": wordcountID, flinkrest.NoProgram: unknownID,
	}
	if subject != "a job that runs" && strings.HasPrefix(subject, "a job that ") {
		values["vertexid"] = failedVertex
	}
	gateway, session := &flinkGateway{fakeGateway: fakeGateway{start: time.Now()}}, &fakeSession{}
	switch subject {
	case "a job without end", "a file that is no program": // there are no streams, and any file can be a program
		return nil, false
	case "a cluster without jobs":
		gateway.idle = true
	case "a job that is finished":
		values["jobid"] = string(finishedID)
	case "a job that has failed":
		values["jobid"] = string(failedID)
	case "a job that is canceled":
		values["jobid"] = string(canceledID)
	case "a program that breaks":
		session.err = msg.ErrBadProgram
		values["jobid"] = string(runningID)
	case "an unknown program":
		session.err = msg.ErrProgramNotFound
	default:
		values["jobid"] = string(runningID)
	}
	server := newServer(gateway)
	server.config.Session = session
	if strings.Contains(a.Case, "all switched on") {
		var err error
		if server.config.Options, err = testOptions().With(config.Layer{Source: "test", Values: map[string]string{
			config.RESTProfiling.Name(): "true", config.RESTFlames.Name(): "true",
		}}); err != nil {
			t.Fatal(err)
		}
		server.config.Processes = &fakeProcesses{content: "line 1\n", flames: someFlames, started: strings.HasSuffix(a.Case, "asked first")}
	}
	values["triggerid"] = server.operations.triggered(dataSetDeletion, nil).ID
	path, is := e.Replay(a, values)
	if !is {
		t.Errorf("%s %s (%s): %s cannot be asked for", e.Method, e.Path, a.Case, a.Request)
		return nil, false
	}
	contentType, body := "application/json", string(a.Sent)
	switch {
	case a.Case == "a body that is none":
		body = "{"
	case e.Path == "/jobs" && e.Method == http.MethodPost: // Flink's is Java
		body = `{"program": {"sha256": "` + wordcountID + `"}}`
	case e.Path == "/jars/upload":
		contentType, body = "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"jarfile\"; filename=\"wordcount\"\r\n\r\nELF\r\n--x--\r\n"
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(e.Method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	server.Unguarded().ServeHTTP(w, r)
	return w, true
}

// TestAnswersAreAsFlinks compares each answer with that of a real Flink to the same request. It would catch
// a path, a status, a field or a type that differs from Flink's and is not in flinkrest/missing.txt or
// deliberate.txt, an entry there that is not true any more, and a path or a field of ours that is not in
// flinkrest/ours.txt.
func TestAnswersAreAsFlinks(t *testing.T) {
	t.Parallel()
	corpus, err := flinkrest.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	c := flinkrest.NewComparison(corpus)
	routes := newServer(&fakeGateway{}).routes()
	for _, r := range routes {
		c.Beyond(splitPattern(r.pattern))
	}
	for i := range corpus.Endpoints {
		e := &corpus.Endpoints[i]
		built := slices.ContainsFunc(routes, func(r route) bool {
			method, path := splitPattern(r.pattern)
			return method == e.Method && flinkrest.Same(path) == flinkrest.Same(strings.TrimPrefix(e.Path, "/v1"))
		})
		if !built && corpus.Known(e.Method, e.Path) {
			c.Missing(e)
			continue
		}
		compared := 0
		for _, a := range e.Answers {
			w, is := flinkAsk(t, e, a)
			if !is {
				continue
			}
			if err := c.Add(e, a.Case, flinkrest.Got{Status: w.Code, Type: w.Header().Get("Content-Type"), Body: w.Body.Bytes()}); err != nil {
				t.Error(err)
			}
			compared++
		}
		if compared == 0 {
			t.Errorf("%s %s: none of its cases is compared", e.Method, e.Path)
		}
	}
	lists, err := flinkrest.KnownLists()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range c.Faults(lists) {
		t.Error(fault)
	}
	for _, entry := range c.Unseen(lists) {
		t.Errorf("nothing was asked that would show whether this is still so: %s", entry)
	}
}

func splitPattern(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	return method, path
}
