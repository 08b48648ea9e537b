package sessions

import (
	"cmp"
	"net/http"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/flinkrest"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// isNotBuilt reports whether an answer says that the path does not exist, or takes it for another
// path.
func isNotBuilt(e *flinkrest.Endpoint, answer bobbintest.Answer) bool {
	return strings.Contains(answer.Body, `"not found: GET `) || !strings.Contains(e.Path, ":jobid") && strings.Contains(answer.Body, "is not a job id")
}

// asFlinks sends a session, which has a job in each of three states, the recorded requests to a
// real Flink that only look, and compares the answers. The test of appmaster/rest checks the
// entries of lists that are empty here. vertices has the first vertex of each job. With proxied, the requests pass YARN's proxy, which
// adds a character set to plain text and shows no profiles. The session makes no flame graphs (rest.flamegraph.enabled): the test of
// appmaster/rest compares them.
func asFlinks(t *testing.T, jobs, vertices map[string]string, proxied bool, ask func(path string) (bobbintest.Answer, error)) {
	t.Helper()
	corpus, err := flinkrest.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	subjects := map[string]string{ // jobs, by the case of the recording
		"a job that runs": jobs["RUNNING"], "a job that is finished": jobs["FINISHED"], "a job that has failed": jobs["FAILED"],
		"an unknown job": jobs["RUNNING"], "a job id that is none": jobs["RUNNING"], "a limit that is none": jobs["RUNNING"],
		"a cluster with jobs": "", "an unknown path": "", "the version in front": "",
	}
	c := flinkrest.NewComparison(corpus)
	compared := 0
	for i := range corpus.Endpoints {
		e := &corpus.Endpoints[i]
		if e.Method != http.MethodGet || strings.Contains(e.Path, "/yarn-") { // these requests would end the job
			continue
		}
		for _, a := range e.Answers {
			subject, _, _ := strings.Cut(a.Case, ", ")
			job, is := subjects[subject]
			if !is || strings.HasSuffix(a.Case, ", its last vertex") { // its parallelism was not known yet
				continue
			}
			if proxied && strings.HasSuffix(e.Path, "/profiler") || strings.HasSuffix(e.Path, "/flamegraph") {
				continue
			}
			values := map[string]string{"vertexid": cmp.Or(vertices[job], flinkrest.NoID), "subtaskindex": "0", "attempt": "0", "checkpointid": "1"}
			if job != "" {
				values["jobid"] = job
			}
			path, is := e.Replay(a, values)
			if !is {
				continue
			}
			answer, err := ask(path)
			if err != nil {
				t.Fatal(err)
			}
			if proxied && strings.HasPrefix(answer.Type, "text/plain") {
				answer.Type = "text/plain"
			}
			if corpus.Known(e.Method, e.Path) && isNotBuilt(e, answer) {
				c.Missing(e)
				break
			}
			if err := c.Add(e, a.Case, flinkrest.Got{Status: answer.Status, Type: answer.Type, Body: []byte(answer.Body)}); err != nil {
				t.Error(err)
			}
			compared++
		}
	}
	lists, err := flinkrest.KnownLists()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range c.Faults(lists) {
		t.Error(fault)
	}
	if compared < 50 {
		t.Errorf("only %d answers are compared", compared)
	}
}
