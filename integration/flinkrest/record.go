package main

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/flinkrest"
)

// job is a job about which the recording asks.
type job struct {
	of     string // the case
	values variables
}

// record sends all requests.
func (r *recorder) record(ctx context.Context) error {
	r.cluster(ctx, "a cluster without jobs")
	r.nothing(ctx)
	jar := r.programs(ctx)
	jobs := r.jobs(ctx, jar)
	r.cluster(ctx, "a cluster with jobs")
	r.processes(ctx, jobs[0].values)
	for _, j := range jobs {
		r.job(ctx, j)
	}
	running, endless := jobs[0].values, jobs[1].values
	r.unknown(ctx, running)
	r.metrics(ctx, running)
	r.refusals(ctx, jobs)
	r.triggers(ctx, running, endless)
	r.ends(ctx, jar)
	return r.err
}

// recordSwitchedOn sends the requests that a cluster answers differently with switchedOn.
func (r *recorder) recordSwitchedOn(ctx context.Context) error {
	var uploaded struct{ Filename string }
	r.ask(ctx, request{of: "a program", method: http.MethodPost, template: "/jars/upload", form: r.form("jarfile", "jobs.jar", r.flink.path("jobs.jar"))}, &uploaded)
	id := r.begin(ctx, uploaded.Filename[strings.LastIndex(uploaded.Filename, "/")+1:], "Jobs", "stream")
	r.untilStatus(ctx, id, "RUNNING")
	values := variables{"jobid": id}
	until(ctx, r, "/jobs/"+id, func(answer struct{ Vertices []vertexAnswer }) bool {
		for _, v := range answer.Vertices {
			values["vertexid"] = v.ID
		}
		return len(answer.Vertices) > 0 && !slices.ContainsFunc(answer.Vertices, func(v vertexAnswer) bool { return v.Status != "RUNNING" })
	})
	until(ctx, r, "/taskmanagers", func(answer struct{ TaskManagers []struct{ ID string } }) bool {
		values["taskmanagerid"] = answer.TaskManagers[0].ID
		return true
	})
	const of = "a job that runs, all switched on"
	const flames, requirements = "/jobs/:jobid/vertices/:vertexid/flamegraph", "/jobs/:jobid/resource-requirements"
	r.ask(ctx, request{of: "a job that runs, asked first, all switched on", method: http.MethodGet, template: flames, values: values}, nil)
	until(ctx, r, values.fill(flames), func(answer struct{ EndTimestamp int64 }) bool { return answer.EndTimestamp > 0 })
	r.ask(ctx, request{of: of, method: http.MethodGet, template: flames, values: values}, nil)
	wanted := map[string]any{}
	r.ask(ctx, request{of: of, method: http.MethodGet, template: requirements, values: values}, &wanted)
	r.ask(ctx, request{of: of, method: http.MethodPut, template: requirements, values: values, body: wanted}, nil)
	for _, template := range []string{requirements, "/jobs/:jobid"} {
		r.ask(ctx, request{of: "an unknown job, all switched on", method: http.MethodGet, template: template, values: values.with("jobid", flinkrest.NoID)}, nil)
	}
	r.ask(ctx, request{of: "an unknown job, all switched on", method: http.MethodPut, template: requirements, values: values.with("jobid", flinkrest.NoID), body: wanted}, nil)
	for _, path := range []string{"/jobmanager/profiler", "/taskmanagers/:taskmanagerid/profiler"} {
		const of = "a cluster with all switched on"
		r.ask(ctx, request{of: of + ", asked first", method: http.MethodGet, template: path, values: values}, nil)
		r.ask(ctx, request{of: of, method: http.MethodPost, template: path, values: values, body: map[string]any{"mode": "ITIMER", "duration": 1}}, nil)
		var file string
		until(ctx, r, values.fill(path), func(answer struct {
			List []struct{ Status, OutputFile string } `json:"profilingList"`
		},
		) bool {
			if len(answer.List) == 0 || answer.List[0].Status == "RUNNING" {
				return false
			}
			file = answer.List[0].OutputFile
			return true
		})
		r.ask(ctx, request{of: of, method: http.MethodGet, template: path, values: values}, nil)
		r.ask(ctx, request{of: of, method: http.MethodGet, template: path + "/:filename", values: values.with("filename", file)}, nil)
	}
	return r.err
}

// cluster requests the paths without variables.
func (r *recorder) cluster(ctx context.Context, of string) {
	for _, known := range r.known.Paths {
		method, template, _ := strings.Cut(known, " ")
		if method == http.MethodGet && !strings.Contains(template, ":") {
			r.ask(ctx, request{of: of, method: method, template: template}, nil)
		}
	}
}

// nothing requests unknown paths.
func (r *recorder) nothing(ctx context.Context) {
	r.ask(ctx, request{of: "an unknown path", method: http.MethodGet, template: "/nowhere"}, nil)
	r.ask(ctx, request{of: "the version in front", method: http.MethodGet, template: "/v1/overview"}, nil)
	r.ask(ctx, request{of: "a method that the path lacks", method: http.MethodPost, template: "/overview"}, nil)
	r.ask(ctx, request{of: "a method that the path lacks", method: http.MethodDelete, template: "/jobs"}, nil)
}

// programs uploads the programs' jar, plans a program, and returns the jar's id.
func (r *recorder) programs(ctx context.Context) (id string) {
	upload := func(of, name string) (filename string) {
		var answer struct{ Filename string }
		r.ask(ctx, request{of: of, method: http.MethodPost, template: "/jars/upload", form: r.form("jarfile", name, r.flink.path("jobs.jar"))}, &answer)
		return answer.Filename[strings.LastIndex(answer.Filename, "/")+1:]
	}
	id = upload("a program", "jobs.jar")
	upload("a file that is no program", "jobs.txt")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, query := range []struct{ of, id, query string }{
			{"a program", id, "?entry-class=Jobs&programArg=batch"},
			{"an unknown program", flinkrest.NoProgram, "?entry-class=Jobs"},
			{"a program that breaks", id, "?entry-class=Jobs"},
		} {
			r.ask(ctx, request{of: query.of, method: method, template: "/jars/:jarid/plan", values: variables{"jarid": query.id}, query: query.query}, nil)
		}
	}
	for of, id := range map[string]string{"an unknown program": flinkrest.NoProgram, "a program that breaks": id} {
		r.ask(ctx, request{of: of, method: http.MethodPost, template: "/jars/:jarid/run", values: variables{"jarid": id}, body: map[string]string{"entryClass": "Jobs"}}, nil)
	}
	return id
}

// form returns a form with a file.
func (r *recorder) form(field, name, path string) *form {
	content, err := os.ReadFile(path)
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	if err == nil && field == "file" {
		err = parts.WriteField("request", `{"jobGraphFileName":"`+name+`","jobJarFileNames":[],"jobArtifactFileNames":[]}`)
	}
	part, failed := parts.CreateFormFile(field, name)
	if err == nil && failed == nil {
		_, err = part.Write(content)
	}
	for _, failed := range []error{err, failed, parts.Close()} {
		if failed != nil && r.err == nil {
			r.err = failed
		}
	}
	return &form{parts.FormDataContentType(), body.Bytes()}
}

// begin runs a program as a job.
func (r *recorder) begin(ctx context.Context, jar, class string, args ...string) (id string) {
	var answer struct{ JobID string }
	body := map[string]any{"entryClass": class, "programArgsList": args, "parallelism": 2}
	r.ask(ctx, request{of: "a program", method: http.MethodPost, template: "/jars/:jarid/run", values: variables{"jarid": jar}, body: body}, &answer)
	return answer.JobID
}

// until waits until a path's answer is the wanted one. It records nothing.
func until[T any](ctx context.Context, r *recorder, path string, is func(T) bool) {
	if r.err != nil {
		return
	}
	r.err = r.flink.poll(ctx, path, func() (bool, error) {
		var answer T
		status, err := r.flink.get(ctx, path, &answer)
		return err == nil && status == http.StatusOK && is(answer), nil
	})
}

type statusAnswer struct{ Status string }

func (r *recorder) untilStatus(ctx context.Context, job, status string) {
	until(ctx, r, "/jobs/"+job+"/status", func(answer statusAnswer) bool { return answer.Status == status })
}

type vertexAnswer struct {
	ID      string
	Status  string
	Metrics struct {
		Records int `json:"write-records"`
	}
}

// jobs runs one job in each state. The first two keep running.
func (r *recorder) jobs(ctx context.Context, jar string) []job {
	running, endless := r.begin(ctx, jar, "Jobs", "batch"), r.begin(ctx, jar, "Jobs", "stream")
	finished := r.begin(ctx, jar, "WordCount", r.flink.path("text"), r.flink.path("counts"))
	failed, canceled := r.begin(ctx, jar, "Jobs", "fails"), r.begin(ctx, jar, "Jobs", "batch")
	r.untilStatus(ctx, canceled, "RUNNING")
	r.cancel(ctx, "a job that runs", canceled, "")
	r.untilStatus(ctx, canceled, "CANCELED")
	r.untilStatus(ctx, finished, "FINISHED")
	r.untilStatus(ctx, failed, "FAILED")
	var worker struct{ TaskManagers []struct{ ID string } }
	until(ctx, r, "/taskmanagers", func(answer struct{ TaskManagers []struct{ ID string } }) bool {
		worker = answer
		return len(answer.TaskManagers) == 1
	})
	var jobs []job
	for _, j := range []struct{ of, id string }{
		{"a job that runs", running},
		{"a job without end", endless},
		{"a job that is finished", finished},
		{"a job that has failed", failed},
		{"a job that is canceled", canceled},
	} {
		values := variables{"jobid": j.id, "subtaskindex": "0", "attempt": "0", "checkpointid": "1", "triggerid": flinkrest.NoID, "operatorid": flinkrest.NoID}
		until(ctx, r, "/jobs/"+j.id, func(answer struct{ Vertices []vertexAnswer }) bool {
			if len(answer.Vertices) == 0 {
				return false
			}
			first := answer.Vertices[0]
			values["vertexid"], values["last"] = first.ID, answer.Vertices[len(answer.Vertices)-1].ID
			return first.Status != "RUNNING" || first.Metrics.Records > 0
		})
		if r.err == nil {
			values["taskmanagerid"] = worker.TaskManagers[0].ID
		}
		jobs = append(jobs, job{j.of, values})
	}
	return jobs
}

func (r *recorder) cancel(ctx context.Context, of, id, query string) {
	r.ask(ctx, request{of: of, method: http.MethodPatch, template: "/jobs/:jobid", values: variables{"jobid": id}, query: query}, nil)
}

// templates returns the templates of a method with this beginning, except those that look at operations or change
// something.
func (r *recorder) templates(begin string) (found []string) {
	for _, known := range r.known.Paths {
		template, is := strings.CutPrefix(known, http.MethodGet+" ")
		if is && strings.HasPrefix(template, begin) && !strings.Contains(template, ":triggerid") && !strings.Contains(template, "/yarn-") {
			found = append(found, template)
		}
	}
	return found
}

// job sends all requests about a job.
func (r *recorder) job(ctx context.Context, j job) {
	endless, failed := strings.HasSuffix(j.of, "without end"), strings.HasSuffix(j.of, "failed")
	if endless {
		until(ctx, r, j.values.fill("/jobs/:jobid/checkpoints"), func(answer struct {
			Counts struct{ Completed int }
			Latest struct{ Completed struct{ ID int } }
		},
		) bool {
			j.values["checkpointid"] = fmt.Sprint(answer.Latest.Completed.ID)
			return answer.Counts.Completed > 2
		})
	}
	if strings.HasSuffix(j.of, "runs") || endless {
		at := j.values.fill("/jobs/:jobid/vertices/:vertexid/backpressure")
		r.ask(ctx, request{of: j.of + ", asked first", method: http.MethodGet, template: "/jobs/:jobid/vertices/:vertexid/backpressure", values: j.values}, nil)
		until(ctx, r, at, func(answer statusAnswer) bool { return answer.Status == "ok" })
		until(ctx, r, j.values.fill("/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/metrics"), func(answer []any) bool { return len(answer) > 0 })
	}
	for _, template := range r.templates("/jobs/:jobid") {
		r.ask(ctx, request{of: j.of, method: http.MethodGet, template: template, values: j.values}, nil)
		if strings.Contains(template, ":vertexid") && !failed && !strings.HasSuffix(j.of, "canceled") {
			r.ask(ctx, request{of: j.of + ", its last vertex", method: http.MethodGet, template: template, values: j.values.with("vertexid", j.values["last"])}, nil)
		}
	}
	if failed {
		r.ask(ctx, request{of: j.of + ", one exception", method: http.MethodGet, template: "/jobs/:jobid/exceptions", values: j.values, query: "?maxExceptions=1"}, nil)
	}
}

// processes sends the requests about the JobManager and the TaskManager.
func (r *recorder) processes(ctx context.Context, values variables) {
	values = values.with("filename", "flink.log")
	for _, template := range slices.Concat(r.templates("/jobmanager/"), r.templates("/taskmanagers/:")) {
		if strings.Contains(template, ":") {
			r.ask(ctx, request{of: "a cluster with jobs", method: http.MethodGet, template: template, values: values}, nil)
		}
		if strings.Contains(template, ":filename") {
			r.ask(ctx, request{of: "an unknown file", method: http.MethodGet, template: template, values: values.with("filename", flinkrest.NoName)}, nil)
		}
		if strings.Contains(template, ":taskmanagerid") {
			r.ask(ctx, request{of: "an unknown task manager", method: http.MethodGet, template: template, values: values.with("taskmanagerid", flinkrest.NoName)}, nil)
		}
	}
	for _, template := range []string{"/jobmanager/log", "/jobmanager/stdout"} { // which Flink serves as files
		r.ask(ctx, request{of: "a cluster with jobs", method: http.MethodGet, template: template}, nil)
	}
	for _, template := range []string{"/jobmanager/profiler", "/taskmanagers/:taskmanagerid/profiler"} {
		r.ask(ctx, request{of: "a cluster with jobs", method: http.MethodPost, template: template, values: values, body: map[string]any{"mode": "CPU", "duration": 1}}, nil)
	}
}

// unknown requests things that a job does not have.
func (r *recorder) unknown(ctx context.Context, values variables) {
	for _, template := range r.templates("/jobs/:jobid") {
		for _, wrong := range []struct{ of, variable, value string }{
			{"an unknown job", "jobid", flinkrest.NoID},
			{"a job id that is none", "jobid", flinkrest.Malformed},
			{"an unknown vertex", "vertexid", flinkrest.NoID},
			{"a vertex id that is none", "vertexid", flinkrest.Malformed},
			{"an unknown subtask", "subtaskindex", flinkrest.NoNumber},
			{"a subtask that is none", "subtaskindex", flinkrest.Malformed},
			{"an unknown attempt", "attempt", flinkrest.NoNumber},
			{"an attempt that is none", "attempt", flinkrest.Malformed},
			{"an unknown checkpoint", "checkpointid", flinkrest.NoNumber},
			{"a checkpoint that is none", "checkpointid", flinkrest.Malformed},
			{"an unknown task manager", "taskmanagerid", flinkrest.NoName},
		} {
			if strings.Contains(template+"/", ":"+wrong.variable+"/") {
				r.ask(ctx, request{of: wrong.of, method: http.MethodGet, template: template, values: values.with(wrong.variable, wrong.value)}, nil)
			}
		}
	}
	r.ask(ctx, request{of: "a limit that is none", method: http.MethodGet, template: "/jobs/:jobid/exceptions", values: values, query: "?maxExceptions=" + flinkrest.Malformed}, nil)
}

// metrics requests the values of two of the metrics that a path lists.
func (r *recorder) metrics(ctx context.Context, values variables) {
	for _, known := range r.known.Paths {
		template, is := strings.CutPrefix(known, http.MethodGet+" ")
		if !is || !strings.HasSuffix(template, "metrics") || r.err != nil {
			continue
		}
		var listed []struct{ ID string }
		if _, r.err = r.flink.get(ctx, values.fill(template), &listed); r.err != nil {
			return
		}
		var names []string
		for _, metric := range listed[:min(2, len(listed))] {
			names = append(names, url.QueryEscape(metric.ID))
		}
		query := "?get=" + strings.Join(names, ",")
		r.ask(ctx, request{of: "values of metrics", method: http.MethodGet, template: template, values: values, query: query}, nil)
		r.ask(ctx, request{of: "an unknown metric", method: http.MethodGet, template: template, values: values, query: "?get=nothing"}, nil)
		if template == "/jobs/metrics" || template == "/taskmanagers/metrics" || strings.HasSuffix(template, "subtasks/metrics") {
			r.ask(ctx, request{of: "some sums of metrics", method: http.MethodGet, template: template, values: values, query: query + "&agg=min,max"}, nil)
			r.ask(ctx, request{of: "a sum that is none", method: http.MethodGet, template: template, values: values, query: query + "&agg=" + flinkrest.Malformed}, nil)
		}
	}
}

// refusals requests changes that Flink refuses.
func (r *recorder) refusals(ctx context.Context, jobs []job) {
	running := jobs[0].values
	for _, j := range jobs[2:] {
		r.cancel(ctx, j.of, j.values["jobid"], "")
	}
	target := "file://" + r.flink.path("savepoints")
	cases := []struct {
		of string
		id string
	}{{"an unknown job", flinkrest.NoID}, {"a job id that is none", flinkrest.Malformed}}
	for _, c := range cases {
		r.cancel(ctx, c.of, c.id, "")
		for _, change := range []struct {
			method, template string
			body             any
		}{
			{http.MethodPost, "/jobs/:jobid/stop", map[string]any{"drain": false, "targetDirectory": target}},
			{http.MethodPost, "/jobs/:jobid/savepoints", map[string]any{"cancel-job": false, "target-directory": target}},
			{http.MethodGet, "/jobs/:jobid/savepoints/:triggerid", nil},
			{http.MethodPost, "/jobs/:jobid/checkpoints", map[string]any{}},
			{http.MethodGet, "/jobs/:jobid/checkpoints/:triggerid", nil},
			{http.MethodPatch, "/jobs/:jobid/rescaling", nil},
			{http.MethodGet, "/jobs/:jobid/rescaling/:triggerid", nil},
			{http.MethodPatch, "/jobs/:jobid/clientHeartbeat", heartbeat()},
			{http.MethodPut, "/jobs/:jobid/resource-requirements", oneSlot(running)},
			{http.MethodPost, "/jobs/:jobid/coordinators/:operatorid", map[string]string{"serializedCoordinationRequest": ""}},
			{http.MethodGet, "/jobs/:jobid/yarn-cancel", nil},
			{http.MethodGet, "/jobs/:jobid/yarn-stop", nil},
		} {
			r.ask(ctx, request{of: c.of, method: change.method, template: change.template, values: running.with("jobid", c.id), query: parallelism(change.template), body: change.body}, nil)
		}
	}
	r.cancel(ctx, "a way to end that is none", running["jobid"], "?mode="+flinkrest.Malformed)
	r.cancel(ctx, "a way to end that is past", running["jobid"], "?mode=stop")
	r.ask(ctx, request{of: "a job that runs", method: http.MethodGet, template: "/jobs/:jobid/yarn-stop", values: running}, nil)
	for _, template := range []string{
		"/jobs/:jobid/savepoints/:triggerid", "/jobs/:jobid/checkpoints/:triggerid", "/jobs/:jobid/rescaling/:triggerid",
		"/savepoint-disposal/:triggerid", "/datasets/delete/:triggerid",
	} {
		r.ask(ctx, request{of: "an unknown operation", method: http.MethodGet, template: template, values: running}, nil)
		r.ask(ctx, request{of: "an operation that is none", method: http.MethodGet, template: template, values: running.with("triggerid", flinkrest.Malformed)}, nil)
	}
	r.ask(ctx, request{of: "a body that is none", method: http.MethodPost, template: "/jobs/:jobid/savepoints", values: running, form: &form{"application/json", []byte("{")}}, nil)
	r.ask(ctx, request{of: "a body that is none", method: http.MethodPost, template: "/savepoint-disposal", form: &form{"application/json", []byte("{")}}, nil)
}

func heartbeat() any {
	return map[string]int64{"expiredTimestamp": time.Now().Add(time.Minute).UnixMilli()}
}

// oneSlot requests a parallelism of 1.
func oneSlot(values variables) any {
	return map[string]any{values["vertexid"]: map[string]any{"parallelism": map[string]int{"lowerBound": 1, "upperBound": 1}}}
}

func parallelism(template string) string {
	if strings.HasSuffix(template, "/rescaling") {
		return "?parallelism=1"
	}
	return ""
}

// triggers requests changes that Flink makes.
func (r *recorder) triggers(ctx context.Context, running, endless variables) {
	change := func(of, method, template string, values variables, body any) (trigger string) {
		var answer struct {
			ID string `json:"request-id"`
		}
		r.ask(ctx, request{of: of, method: method, template: template, values: values, query: parallelism(template), body: body}, &answer)
		return answer.ID
	}
	completes := func(of, template string, values variables, trigger string) {
		values = values.with("triggerid", trigger)
		until(ctx, r, values.fill(template), func(answer struct{ Status struct{ ID string } }) bool { return answer.Status.ID == "COMPLETED" })
		r.ask(ctx, request{of: of, method: http.MethodGet, template: template, values: values}, nil)
	}
	const runs, goes = "a job that runs", "a job without end"
	const post = http.MethodPost
	const savepoints, savepoint = "/jobs/:jobid/savepoints", "/jobs/:jobid/savepoints/:triggerid"
	target := "file://" + r.flink.path("savepoints")
	for _, j := range []struct {
		of     string
		values variables
	}{{runs, running}, {goes, endless}} {
		change(j.of, http.MethodPatch, "/jobs/:jobid/clientHeartbeat", j.values, heartbeat())
		change(j.of, http.MethodPatch, "/jobs/:jobid/rescaling", j.values, nil)
		change(j.of, http.MethodPut, "/jobs/:jobid/resource-requirements", j.values, oneSlot(j.values))
		change(j.of, post, "/jobs/:jobid/coordinators/:operatorid", j.values, map[string]string{"serializedCoordinationRequest": ""})
		completes(j.of, "/jobs/:jobid/checkpoints/:triggerid", j.values, change(j.of, post, "/jobs/:jobid/checkpoints", j.values, map[string]string{"checkpointType": "FULL"}))
		completes(j.of, savepoint, j.values, change(j.of, post, savepoints, j.values, map[string]any{"cancel-job": false, "target-directory": target}))
	}
	r.ask(ctx, request{of: goes + ", with a savepoint", method: http.MethodGet, template: "/jobs/:jobid/checkpoints", values: endless}, nil)
	completes("a savepoint that there is not", "/savepoint-disposal/:triggerid", endless,
		change("a savepoint that there is not", post, "/savepoint-disposal", nil, map[string]string{"savepoint-path": target + "/none"}))
	completes("a dataset that there is not", "/datasets/delete/:triggerid", endless,
		change("a dataset that there is not", http.MethodDelete, "/datasets/:datasetid", variables{"datasetid": flinkrest.NoID}, nil))
	completes(runs+", to be stopped", savepoint, running, change(runs, post, "/jobs/:jobid/stop", running, map[string]any{"drain": false, "targetDirectory": target}))
	completes(goes+", to be stopped", savepoint, endless, change(goes, post, "/jobs/:jobid/stop", endless, map[string]any{"drain": false, "targetDirectory": target}))
	r.untilStatus(ctx, endless["jobid"], "FINISHED")
	change("a job that is finished", post, "/jobs/:jobid/stop", endless, map[string]any{"drain": false, "targetDirectory": target})
}

// ends submits a job like Flink's client, ends the job as through YARN's proxy, and ends the cluster.
func (r *recorder) ends(ctx context.Context, jar string) {
	if r.err != nil {
		return
	}
	graph := r.flink.path("graph")
	if out, err := r.flink.command(ctx, nil, "Jobs", "graph", graph).CombinedOutput(); err != nil {
		r.err = fmt.Errorf("write a graph: %w\n%s", err, out)
		return
	}
	r.ask(ctx, request{of: "a job", method: http.MethodPost, template: "/jobs", form: r.form("file", "graph", graph)}, nil)
	r.ask(ctx, request{of: "a body that is none", method: http.MethodPost, template: "/jobs", form: &form{"application/json", []byte("{")}}, nil)
	id := r.begin(ctx, jar, "Jobs", "batch")
	r.untilStatus(ctx, id, "RUNNING")
	r.ask(ctx, request{of: "a job that runs", method: http.MethodGet, template: "/jobs/:jobid/yarn-cancel", values: variables{"jobid": id}}, nil)
	r.untilStatus(ctx, id, "CANCELED")
	r.ask(ctx, request{of: "a program", method: http.MethodDelete, template: "/jars/:jarid", values: variables{"jarid": jar}}, nil)
	r.ask(ctx, request{of: "an unknown program", method: http.MethodDelete, template: "/jars/:jarid", values: variables{"jarid": flinkrest.NoProgram}}, nil)
	r.ask(ctx, request{of: "a cluster with jobs", method: http.MethodDelete, template: "/cluster"}, nil)
}
