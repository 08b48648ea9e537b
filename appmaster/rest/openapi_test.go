package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// described is what the page says of a route beyond the route's own fields.
type described struct {
	summary string
	query   []string // parameters
	body    any      // of a request: a shape; nil: none
	answer  any      // a shape; nil: none that is JSON
	binary  string   // media type of a body or of an answer that is not JSON
}

// descriptions returns a description of every route.
func descriptions() map[string]described {
	all := map[string]described{
		"GET /overview":                          {summary: "Task managers, slots and jobs, in numbers", answer: restapi.ClusterOverview{}},
		"GET /config":                            {summary: "The configuration that Flink's dashboard requests first", answer: restapi.DashboardConfiguration{}},
		"GET /jobmanager/config":                 {summary: "The options that the cluster runs under, defaults among them; what may be secret is hidden", answer: []restapi.ConfigEntry{}},
		"GET /jobmanager/environment":            {summary: "The runtime of the ApplicationMaster's process", answer: restapi.EnvironmentInfo{}},
		"GET /jobs/{job}/jobmanager/environment": {summary: "The runtime of the ApplicationMaster's process, as /jobmanager/environment", answer: restapi.EnvironmentInfo{}},
		"GET /jobs/{job}/resource-requirements":  {summary: "The parallelism of each vertex", answer: map[string]restapi.VertexRequirements{}},
		"PUT /jobs/{job}/resource-requirements":  {summary: "Answered with 501: the parallelism of a running job cannot be changed yet", answer: restapi.Empty{}},
		"GET /blocklist":                         {summary: "The nodes that jobs have set aside, why, and until when", answer: restapi.Blocklist{}},
		"GET /access":                            {summary: "Who sends the request, and whether they may change something", answer: restapi.Access{}},
		"POST /access":                           {summary: "Let a browser in by a link: the header Authorization is Bobbin-Link with the key of the link, and the answer sets a cookie. With the cookie alone the browser may view; for all else it also sends the header X-Bobbin-CSRF with the answer's csrf", answer: restapi.Access{}},
		"DELETE /access":                         {summary: "End the browser's cookie", answer: restapi.Empty{}},
		"POST /access/links":                     {summary: "Make a link that lets one browser in, once, within a minute, with the sender's rights", answer: restapi.Link{}},
		"GET /open":                              {summary: "The page that a link opens; the key of the link is the fragment of its URL", binary: "text/html"},
		"GET /attempts":                          {summary: "When ApplicationMasters of this application have run, and why each has ended", answer: restapi.Attempts{}},
		"GET /datasets":                          {summary: "Always empty: no job keeps data beyond its end", answer: restapi.DataSets{}},
		"DELETE /datasets/{dataset}":             {summary: "Delete a dataset; there are none, so nothing is deleted", answer: restapi.TriggerResponse{}},
		"GET /datasets/delete/{trigger}":         {summary: "The state of a deletion", answer: restapi.AsynchronousResult{}},
		"PATCH /jobs/{job}/rescaling":            {summary: "Answered with 503, as in Flink", answer: restapi.TriggerResponse{}},
		"GET /jobs/{job}/rescaling/{trigger}":    {summary: "Answered with 503, as in Flink", answer: restapi.AsynchronousResult{}},
		"DELETE /cluster":                        {summary: "End the cluster, with the jobs that run", answer: restapi.Empty{}},
		"GET /taskmanagers":                      {summary: "The registered task managers", answer: restapi.TaskManagersInfo{}},
		"GET /metrics":                           {summary: "All metrics, in the text format of Prometheus", binary: "text/plain"},
		"GET /metrics/targets":                   {summary: "The task managers that show their metrics to Prometheus themselves, in the form of its http_sd_configs", answer: []restapi.ScrapeTarget{}},
		"GET /jobmanager/metrics":                {summary: "The metrics of the ApplicationMaster: their names, or the values of those in get", query: []string{"get"}, answer: []restapi.Metric{}},
		"GET /taskmanagers/metrics":              {summary: "The metrics of the task managers, or of those in taskmanagers: their names, or the numbers in agg of those in get", query: []string{"get", "agg", "taskmanagers"}, answer: []restapi.AggregatedMetric{}},
		"GET /taskmanagers/{worker}/metrics":     {summary: "The metrics of a task manager: their names, or the values of those in get", query: []string{"get"}, answer: []restapi.Metric{}},
		"GET /slots":                             {summary: "The slots, the requested containers, and the slots that jobs wait for", answer: restapi.Slots{}},
		"GET /{$}":                               {summary: "The page for people", binary: "text/html"},
		"GET /page/{file}":                       {summary: "A file of the page", binary: "text/javascript"},
		"GET /jobs":                              {summary: "Ids and states of all jobs", answer: restapi.JobIDsWithStatus{}},
		"POST /jobs":                             {summary: "Submit a planned job to a session that has its program", body: restapi.JobSubmission{}, answer: restapi.JobSubmitted{}},
		"GET /jobs/overview":                     {summary: "All jobs, a line each", answer: restapi.MultipleJobsDetails{}},
		"GET /jobs/metrics":                      {summary: "The metrics of the jobs that run, or of those in jobs: their names, or the numbers in agg of those in get", query: []string{"get", "agg", "jobs"}, answer: []restapi.AggregatedMetric{}},
		"GET /jobs/{job}":                        {summary: "A job with its vertices", answer: restapi.JobDetailsInfo{}},
		"GET /jobs/{job}/vertices":               {summary: "What the tasks of each vertex do now: splits, rates, shares of the time, and the subtask with the most work", answer: restapi.JobVertices{}},
		"GET /jobs/{job}/timeline":               {summary: "When the attempts of all subtasks entered their states, or of those of one vertex", query: []string{"vertex"}, answer: restapi.JobTimeline{}},
		"GET /jobs/{job}/metrics":                {summary: "The metrics of a job that runs: their names, or the values of those in get", query: []string{"get"}, answer: []restapi.Metric{}},
		"PATCH /jobs/{job}":                      {summary: "Cancel a job", query: []string{"mode"}, answer: restapi.Empty{}},
		"PUT /jobs/{job}":                        {summary: "Cancel a job, through YARN's proxy", query: []string{"mode"}, answer: restapi.Empty{}},
		"GET /jobs/{job}/yarn-cancel":            {summary: "Cancel a job, through a proxy that passes on only GET; needs Content-Type: application/json", answer: restapi.Empty{}},
		"GET /jobs/{job}/yarn-stop":              {summary: "Answered with 308, as in Flink, which has removed this", answer: restapi.Empty{}},
		"GET /jobs/{job}/status":                 {summary: "The state of a job", answer: restapi.JobStatusInfo{}},
		"GET /jobs/{job}/plan":                   {summary: "The plan of a job", answer: restapi.JobPlanInfo{}},
		"GET /application":                       {summary: "The application, its attempts, and its delegation tokens", answer: restapi.Application{}},
		"GET /start":                             {summary: "Where the time of the start of this ApplicationMaster went, from the client's command to the first running task", answer: []restapi.Span{}},
		"GET /jobs/{job}/start":                  {summary: "Where the time of the start of a job went, until its first task ran", answer: []restapi.Span{}},
		"GET /jobs/{job}/waiting":                {summary: "What a job waits for: reasons in words, with what a user can do", answer: restapi.JobWaiting{}},
		"GET /jobs/{job}/config":                 {summary: "The options of a job; what may be secret is hidden", answer: restapi.JobConfigInfo{}},
		"GET /jobs/{job}/jobmanager/config":      {summary: "The cluster's options, as /jobmanager/config", answer: []restapi.ConfigEntry{}},
		"GET /jobs/{job}/accumulators":           {summary: "The counters of the job, with what running tasks have counted so far", answer: restapi.JobAccumulators{}},
		"GET /jobs/{job}/exceptions":             {summary: "Why tasks of a job have failed, the newest first", query: []string{"maxExceptions"}, answer: restapi.JobExceptions{}},
		"GET /jobs/{job}/execution-result":       {summary: "How a job ended, in Flink's form", answer: restapi.ExecutionResult{}},
		"PATCH /jobs/{job}/clientHeartbeat":      {summary: "Say that the job's client is alive", body: restapi.ClientHeartbeat{}, answer: restapi.Empty{}},
		"POST /jobs/{job}/stop":                  {summary: "Answered with 501: savepoints are not supported yet", answer: restapi.Empty{}},
		"POST /jobs/{job}/savepoints":            {summary: "Answered with 501: savepoints are not supported yet", answer: restapi.Empty{}},
		"GET /jobs/{job}/savepoints/{trigger}":   {summary: "Answered with 501: savepoints are not supported yet", answer: restapi.Empty{}},
		"POST /savepoint-disposal":               {summary: "Answered with 501: savepoints are not supported yet", answer: restapi.Empty{}},
		"GET /savepoint-disposal/{trigger}":      {summary: "Answered with 501: savepoints are not supported yet", answer: restapi.Empty{}},
		"GET /jobs/{job}/result":                 {summary: "How a job ended, waiting for its end for up to 30 s", query: []string{"wait"}, answer: restapi.Result{}},
		"GET /jobs/{job}/collect/{name}":         {summary: "A page of what a job collects, waiting for its first record for up to 30 s; the headers Bobbin-Epoch, Bobbin-Next and Bobbin-End say how to continue", query: []string{"cursor", "wait"}, binary: "application/octet-stream"},
		"GET /programs":                          {summary: "The session's programs", answer: restapi.Programs{}},
		"POST /programs":                         {summary: "Upload a program; the body is not read if the session already has the program that sha256 names", query: []string{"name", "sha256"}, binary: "application/octet-stream", answer: restapi.Program{}},
		"GET /files/{file}":                      {summary: "A cached file for jobs to be submitted, by its SHA-256", answer: restapi.File{}},
		"POST /files":                            {summary: "Upload a cached file; the body is not read if the session already has the file that sha256 names. A job names the file by its hash in graph.files, and must come within ten minutes", query: []string{"name", "sha256"}, binary: "application/octet-stream", answer: restapi.File{}},
		"GET /drivers":                           {summary: "The programs that run beside the ApplicationMaster: those that /run has started, and those that plan", answer: restapi.Drivers{}},
		"DELETE /drivers/{driver}":               {summary: "End a program that runs beside the ApplicationMaster, and wait for its end; its jobs continue", answer: restapi.Empty{}},
		"GET /jars":                              {summary: "The session's programs, as Flink lists jars", answer: restapi.JarList{}},
		"POST /jars/upload":                      {summary: "Upload a program as a form with one file", binary: "multipart/form-data", answer: restapi.JarUploaded{}},
	}
	const vertex, none = "GET /jobs/{job}/vertices/{vertex}", "Answered with 404: no job has checkpoints yet"
	maps.Copy(all, map[string]described{
		vertex:                                            {summary: "A vertex of a job with the current attempts of its subtasks; with backpressure=true also the answer of the path backpressure", query: []string{"backpressure"}, answer: restapi.JobVertexDetails{}},
		vertex + "/accumulators":                          {summary: "The counters of a vertex", answer: restapi.VertexAccumulators{}},
		vertex + "/backpressure":                          {summary: "How much the subtasks wait for their consumers", answer: restapi.BackPressure{}},
		vertex + "/flamegraph":                            {summary: "What the tasks of a vertex do, as a flame graph: type is FULL, ON_CPU or OFF_CPU. endTimestamp is -1 while the first one is made, -2 unless rest.flamegraph.enabled, -3 if no task runs", query: []string{"type", "subtaskindex"}, answer: restapi.FlameGraph{}},
		vertex + "/jm-operator-metrics":                   {summary: "The metrics of a vertex that the ApplicationMaster itself knows: the splits of a source", query: []string{"get"}, answer: []restapi.Metric{}},
		vertex + "/subtasktimes":                          {summary: "When the subtasks of a vertex entered their states", answer: restapi.SubtaskTimes{}},
		vertex + "/taskmanagers":                          {summary: "The subtasks of a vertex by task manager", answer: restapi.VertexTaskManagers{}},
		vertex + "/metrics":                               {summary: "The metrics of the subtasks of a vertex, each after the subtask's index and a dot: their names, or the values of those in get", query: []string{"get"}, answer: []restapi.Metric{}},
		vertex + "/subtasks/metrics":                      {summary: "The metrics of the subtasks of a vertex, or of those in subtasks, such as 0,3-5: their names, or the numbers in agg of those in get", query: []string{"get", "agg", "subtasks"}, answer: []restapi.AggregatedMetric{}},
		vertex + "/subtasks/{subtask}/metrics":            {summary: "The metrics of a subtask: their names, or the values of those in get", query: []string{"get"}, answer: []restapi.Metric{}},
		vertex + "/watermarks":                            {summary: "Always empty: a batch job has no watermarks", answer: []restapi.Metric{}},
		vertex + "/subtasks/accumulators":                 {summary: "The counters of each subtask of a vertex, while the job runs", answer: restapi.SubtasksAccumulators{}},
		vertex + "/subtasks/{subtask}":                    {summary: "The current attempt of a subtask", answer: restapi.SubtaskAttempt{}},
		vertex + "/subtasks/{subtask}/attempts/{attempt}": {summary: "An attempt of a subtask; jobmanager.execution.attempts-history-size says how many earlier ones are kept", answer: restapi.SubtaskAttempt{}},

		vertex + "/subtasks/{subtask}/attempts/{attempt}/accumulators": {summary: "The counters of an attempt of a subtask, if it is the current one, while the job runs", answer: restapi.AttemptAccumulators{}},

		"GET /jobs/{job}/checkpoints":                                        {summary: none, answer: restapi.Empty{}},
		"GET /jobs/{job}/checkpoints/config":                                 {summary: none, answer: restapi.Empty{}},
		"GET /jobs/{job}/checkpoints/details/{checkpoint}":                   {summary: none, answer: restapi.Empty{}},
		"GET /jobs/{job}/checkpoints/details/{checkpoint}/subtasks/{vertex}": {summary: none, answer: restapi.Empty{}},
	})
	for _, path := range []string{"/programs/{program}", "/jars/{program}"} {
		maps.Copy(all, map[string]described{
			"GET " + path:            {summary: "A program that need not be uploaded", answer: restapi.Program{}},
			"DELETE " + path:         {summary: "Remove a program that no running job uses", answer: restapi.Empty{}},
			"GET " + path + "/plan":  {summary: "The plan of a program's first job; needs Content-Type: application/json without the owner's token", query: []string{"programArg", "program-args", "parallelism", "savepointPath"}, answer: restapi.JobPlanInfo{}},
			"POST " + path + "/plan": {summary: "The plan of a program's first job", query: []string{"programArg", "program-args", "parallelism", "savepointPath"}, body: restapi.RunRequest{}, answer: restapi.JobPlanInfo{}},
			"POST " + path + "/run":  {summary: "Run a program beside the ApplicationMaster; the answer names its first job", query: []string{"programArg", "program-args", "parallelism", "savepointPath"}, body: restapi.RunRequest{}, answer: restapi.RunAnswer{}},
		})
	}
	describeProcess(all, "/jobmanager", "the ApplicationMaster's process")
	describeProcess(all, "/taskmanagers/{worker}", "a worker's process")
	maps.Copy(all, map[string]described{
		"GET /taskmanagers/{worker}":                    {summary: "A task manager, with its occupied slots", answer: restapi.TaskManagerDetails{}},
		"GET /taskmanagers/{worker}/hosts":              {summary: "The task hosts of a task manager: the processes that run the tasks of jobs", answer: restapi.TaskHosts{}},
		"GET /jobs/{job}/jobmanager/log-url":            {summary: "Where the log of the ApplicationMaster is", answer: restapi.LogURL{}},
		"GET /jobs/{job}/taskmanagers/{worker}/log-url": {summary: "Where the log of a task manager is", answer: restapi.LogURL{}},
	})
	return all
}

// describeProcess describes the routes of one process.
func describeProcess(all map[string]described, path, of string) {
	file := []string{"offset", "file"}
	const more = "; with offset its rest, or its last bytes if offset is below 0. The headers Bobbin-Next and Bobbin-File say how to go on"
	host := []string{"host"}
	maps.Copy(all, map[string]described{
		"GET " + path + "/logs":            {summary: "The log files of " + of, answer: restapi.LogList{}},
		"GET " + path + "/logs/{file}":     {summary: "A log file of " + of + more, query: file, binary: "text/plain"},
		"GET " + path + "/log":             {summary: "The log of " + of + more, query: file, binary: "text/plain"},
		"GET " + path + "/stdout":          {summary: "The standard output of " + of + more, query: file, binary: "text/plain"},
		"GET " + path + "/thread-dump":     {summary: "The goroutines of " + of + ", 512 KiB of stacks at most", query: host, answer: restapi.ThreadDump{}},
		"GET " + path + "/flamegraph":      {summary: "Where " + of + " spends processor time (kind=cpu), or who has allocated its heap (kind=heap), as a flame graph; 404 unless rest.profiling.enabled", query: []string{"kind", "host"}, answer: restapi.FlameGraph{}},
		"GET " + path + "/profiler":        {summary: "The last profiles of " + of + "; 404 unless rest.profiling.enabled", query: host, answer: restapi.ProfilingList{}},
		"POST " + path + "/profiler":       {summary: "Take a profile of " + of + ": CPU, ALLOC (the heap) or LOCK", query: host, body: restapi.ProfilingRequest{}, answer: restapi.ProfilingInfo{}},
		"GET " + path + "/profiler/{file}": {summary: "A profile of " + of + ", for go tool pprof", query: host, binary: "application/octet-stream"},
	})
}

// TestThePageIsTheCode would catch a path, a status, a right or a field of JSON that docs/openapi.yaml
// lacks or describes wrongly. With -rewrite it writes the page.
func TestThePageIsTheCode(t *testing.T) {
	t.Parallel()
	page := document(t)
	file := filepath.Join("..", "..", "docs", "openapi.yaml")
	if *rewrite {
		if err := os.WriteFile(file, page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(have), "\n"), strings.Split(string(page), "\n")); diff != "" {
		t.Errorf("docs/openapi.yaml is out of date (-have +want; run with -rewrite):\n%s", diff)
	}
}

// TestAnswersAreOfTheirShapes would catch a field in an answer that the page does not have.
func TestAnswersAreOfTheirShapes(t *testing.T) {
	t.Parallel()
	s := newServer(&fakeGateway{})
	s.config.Session = &fakeSession{}
	described := descriptions()
	replace := strings.NewReplacer("{job}", string(failedID), "{program}", wordcountID, "{file}", wordcountID, "{name}", "top", "{trigger}", "1", "{driver}", string(emptyID), "{worker}", workerID, "{vertex}", failedVertex, "{subtask}", "1", "{attempt}", "0", "{$}", "")
	for _, route := range s.routes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		if method != "GET" || route.access == modify || route.access == inspect {
			continue
		}
		d := described[route.pattern]
		if d.binary != "" || strings.HasPrefix(d.summary, "Answered with ") || strings.Contains(path, "{trigger}") {
			continue // other tests check them
		}
		answer := askSession(s.config.Session, method, replace.Replace(path), "", nil)
		if answer.Code != route.status {
			t.Errorf("%s: status %d: %s", route.pattern, answer.Code, answer.Body)
			continue
		}
		into := reflect.New(reflect.TypeOf(d.answer)).Interface()
		decoder := json.NewDecoder(answer.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil {
			t.Errorf("%s: %v", route.pattern, err)
		}
	}
}

// openAPI is the page, in the order in which people read it.
type (
	openAPI struct {
		OpenAPI    string                    `yaml:"openapi"`
		Info       information               `yaml:"info"`
		Servers    []any                     `yaml:"servers"`
		Paths      map[string]map[string]any `yaml:"paths"`
		Components map[string]any            `yaml:"components"`
	}
	information struct {
		Title       string `yaml:"title"`
		Version     string `yaml:"version"`
		Description string `yaml:"description"`
	}
)

// document writes the page from the routes and their descriptions.
func document(t *testing.T) []byte {
	t.Helper()
	server := newServer(&fakeGateway{})
	told := descriptions()
	shapes := make(schemas)
	paths := map[string]map[string]any{}
	for _, route := range server.routes() {
		d, known := told[route.pattern]
		if !known {
			t.Errorf("%s is not described", route.pattern)
		}
		delete(told, route.pattern)
		method, path, _ := strings.Cut(route.pattern, " ")
		path = strings.Replace(path, "{$}", "", 1)
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(method)] = operationOf(route, d, path, shapes)
	}
	for pattern := range told {
		t.Errorf("%s is described, and there is no such path", pattern)
	}
	content := openAPI{
		OpenAPI: "3.0.3",
		Info: information{
			Title: "REST endpoint of a Bobbin cluster", Version: "v1",
			Description: "Flink's monitoring paths in Flink's JSON, and a few of Bobbin's own. Each path exists with and without /v1.\n" +
				"Each path needs a right: view (yarn.view.acls), modify (yarn.modify.acls), own (the owner alone), run (the owner, and users whom a session's yarn.modify.acls names), none (no proof of identity). docs/security.md says who has which right.\n" +
				"Errors are {\"errors\": [\"text\"]}. Times are in ms.\n",
		},
		Servers:    []any{map[string]any{"url": "/v1"}, map[string]any{"url": "/"}},
		Paths:      paths,
		Components: map[string]any{"schemas": shapes},
	}
	var page bytes.Buffer
	page.WriteString("# Written by the test of appmaster/rest: go test ./appmaster/rest -run ThePage -rewrite\n")
	encoder := yaml.NewEncoder(&page)
	encoder.SetIndent(2)
	if err := encoder.Encode(content); err != nil {
		t.Fatal(err)
	}
	return page.Bytes()
}

var variable = regexp.MustCompile(`\{(\w+)\}`)

func operationOf(r route, d described, path string, shapes schemas) map[string]any {
	right := map[access]string{view: "view", modify: "modify", inspect: "modify", own: "own", run: "run", anyone: "none"}[r.access]
	o := map[string]any{"summary": d.summary, "x-right": right}
	var parameters []any
	for _, match := range variable.FindAllStringSubmatch(path, -1) {
		parameters = append(parameters, map[string]any{"name": match[1], "in": "path", "required": true, "schema": text()})
	}
	for _, name := range d.query {
		schema := text()
		if name == "parallelism" || name == "maxExceptions" || name == "offset" {
			schema = map[string]any{"type": "integer"}
		}
		parameters = append(parameters, map[string]any{"name": name, "in": "query", "schema": schema})
	}
	if parameters != nil {
		o["parameters"] = parameters
	}
	answer := map[string]any{"description": "success"}
	binary := map[string]any{d.binary: map[string]any{"schema": map[string]any{"type": "string", "format": "binary"}}}
	switch {
	case d.answer != nil:
		answer["content"] = map[string]any{"application/json": map[string]any{"schema": shapes.of(reflect.TypeOf(d.answer))}}
	case d.binary != "":
		answer["content"] = binary
	}
	switch {
	case d.body != nil:
		o["requestBody"] = map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": shapes.of(reflect.TypeOf(d.body))}}}
	case d.binary != "" && d.answer != nil:
		o["requestBody"] = map[string]any{"content": binary}
	}
	refusal := map[string]any{"description": "refused", "content": map[string]any{"application/json": map[string]any{"schema": shapes.of(reflect.TypeFor[restapi.FailureBody]())}}}
	o["responses"] = map[string]any{strconv.Itoa(r.status): answer, "default": refusal}
	return o
}

// schemas are the shapes by their names.
type schemas map[string]any

func text() map[string]any { return map[string]any{"type": "string"} }

// of is the schema of a type, as encoding/json writes it.
func (s schemas) of(t reflect.Type) any {
	switch t.Kind() {
	case reflect.Pointer:
		schema := s.of(t.Elem())
		if plain, is := schema.(map[string]any); is && plain["$ref"] == nil {
			plain["nullable"] = true
		}
		return schema
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer", "format": "int64"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return text()
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Slice:
		switch t {
		case reflect.TypeFor[json.RawMessage]():
			return map[string]any{} // anything
		case reflect.TypeFor[[]byte]():
			return map[string]any{"type": "string", "format": "byte"}
		}
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	default:
		panic(fmt.Sprintf("no schema for %s", t))
	}
}

// object is the schema of a struct, by reference where it has a name.
func (s schemas) object(t reflect.Type) any {
	if t.PkgPath() == "time" {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	name := strings.ToUpper(t.Name()[:min(1, len(t.Name()))]) + t.Name()[min(1, len(t.Name())):]
	if name == "" {
		return map[string]any{"type": "object"}
	}
	reference := map[string]any{"$ref": "#/components/schemas/" + name}
	if s[name] != nil {
		return reference
	}
	properties := map[string]any{}
	schema := map[string]any{"type": "object"}
	s[name] = schema
	var required []string
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue // its fields follow
		}
		field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties[field] = s.of(f.Type)
		if options != "omitempty" {
			required = append(required, field)
		}
	}
	if len(properties) > 0 {
		schema["properties"] = properties
	}
	if slices.Sort(required); len(required) > 0 {
		schema["required"] = required
	}
	return reference
}
