package sessions

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// curling is a user with curl and a session's token.
type curling struct {
	*bobbintest.User
	base   string
	header string // the file with the token
}

func curls(t *testing.T, u *bobbintest.User, m *bobbintest.Master) curling {
	t.Helper()
	header := filepath.Join(t.TempDir(), "header")
	if err := os.WriteFile(header, []byte("Authorization: Bearer "+m.Access.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return curling{u, "https://" + m.Access.Address, header}
}

// curl runs curl for a path, checks the status, and decodes the answer.
func (c curling) curl(t *testing.T, status int, answer any, path string, args ...string) {
	t.Helper()
	own := []string{"-sS", "--insecure", "-H", "@" + c.header, "-w", `\n%{http_code}`, c.base + path}
	got := c.StartProgram(t, "curl", append(own, args...)...).Wait(t)
	body, code, _ := strings.Cut(got.Stdout, "\n")
	if strings.TrimSpace(code) != strconv.Itoa(status) {
		t.Fatalf("%s: want status %d: %s", path, status, got)
	}
	if err := json.Unmarshal([]byte(strings.TrimSpace(body)), answer); err != nil {
		t.Fatalf("%s: %v: %s", path, err, got)
	}
}

// TestProgramsAreRunByCurl does what Flink's pages describe for jars. It would catch an upload form
// of curl or of Flink's clients that is not accepted, an id that another request does not know, and
// a program beside the master that fails without an error, or ends the session.
func TestProgramsAreRunByCurl(t *testing.T) {
	t.Parallel()
	u, _ := person(t)
	id := start(t, u)
	c := curls(t, u, u.Master(t, id))
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\nor not\nto do\n")
	sieve := suite.Unseen(t, "several", "sieve")

	var uploaded struct{ Filename, Status string }
	c.curl(t, 200, &uploaded, "/jars/upload", "-X", "POST", "-H", "Expect:", "-F", "jarfile=@"+sieve)
	jar := uploaded.Filename[strings.LastIndex(uploaded.Filename, "/")+1:]
	var program struct{ ID, Name string }
	c.curl(t, 200, &program, "/v1/programs?name=sieve", "--data-binary", "@"+sieve, "-H", "Content-Type: application/octet-stream")
	if uploaded.Status != "success" || program.ID != jar || program.Name != "sieve" {
		t.Errorf("uploaded %+v, and then %+v", uploaded, program)
	}
	var list struct {
		Files []struct{ ID, Name string }
	}
	c.curl(t, 200, &list, "/jars")
	if len(list.Files) != 1 || list.Files[0].ID != jar {
		t.Errorf("listed are %+v", list)
	}
	var run struct{ JobID string }
	c.curl(t, 200, &run, "/jars/"+jar+"/run", "--json", `{"programArgsList": ["`+dir+`/lines", "`+dir+`/sifted", "to"], "parallelism": 1}`)
	wait.For(t, "the job is FINISHED", func() (bool, error) {
		var job struct{ Status string }
		c.curl(t, 200, &job, "/jobs/"+run.JobID+"/status")
		return job.Status == "FINISHED", nil
	})
	if diff := cmp.Diff([]string{"to be", "to do"}, u.Output(t, dir+"/sifted-1")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}

	var faulty struct{ Filename string }
	c.curl(t, 200, &faulty, "/jars/upload", "-F", "jarfile=@"+suite.Program(t, "faulty"))
	bad := faulty.Filename[strings.LastIndex(faulty.Filename, "/")+1:]
	for mode, want := range map[string]string{"plan-panic": "the plan is cursed", "driver-exit": "last words of the driver", "no-execute": "no job was executed"} {
		var refused struct{ Errors []string }
		c.curl(t, 400, &refused, "/jars/"+bad+"/run", "--json", `{"programArgsList": ["`+mode+`", "`+dir+`/lines", "`+dir+`/none"]}`)
		if len(refused.Errors) != 1 || !strings.Contains(refused.Errors[0], want) {
			t.Errorf("%s: %q is without %q", mode, refused.Errors, want)
		}
	}
	c.curl(t, 200, &struct{}{}, "/jars/"+jar, "-X", "DELETE")
	c.curl(t, 404, &struct{}{}, "/jars/"+jar+"/run", "-X", "POST")
	if app := u.App(t, id); app.State != "RUNNING" {
		t.Errorf("the session is %s: %s", app.State, app.Diagnostics)
	}
}

// statusTold matches the status of an answer that the page documents for all answers of a path.
var statusTold = regexp.MustCompile(`^Answered with (\d+)`)

// TestRESTIsWhatItsPageSays sends the requests of docs/openapi.yaml to a session with a job in each
// of three states, directly and through YARN's web proxy. It would catch a path whose JSON differs
// from the page or from Flink's, one that fails for a failed job, and one that lets anybody at the
// proxy change something or see the owner's data.
func TestRESTIsWhatItsPageSays(t *testing.T) {
	t.Parallel()
	u, _ := person(t)
	id := start(t, u, "-D", "restart-strategy.type=none")
	master := u.Master(t, id)
	c := curls(t, u, master)
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\nor not\n")
	run(t, u, suite.Program(t, "several"), dir+"/lines", dir+"/sifted", "to")
	if got := u.Run(t, "run", suite.Program(t, "faulty"), "task-panic", dir+"/lines", dir+"/none"); got.Code != 1 {
		t.Fatal(got)
	}
	if got := u.Run(t, append([]string{"run", "-d"}, suite.SlowJob(t, u).Args...)...); got.Code != 0 {
		t.Fatal(got)
	}
	byState := make(map[string]string)
	wait.For(t, "of three jobs one has FAILED, one is FINISHED and one RUNNING", func() (bool, error) {
		clear(byState)
		for _, j := range jobs(t, u, "-a") {
			byState[j.JobStatus] = j.Job
		}
		return slices.Equal(slices.Sorted(maps.Keys(byState)), []string{"FAILED", "FINISHED", "RUNNING"}), nil
	})
	ids := slices.Collect(maps.Values(byState))
	vertices := make(map[string]string)
	for _, job := range ids {
		var details struct{ Vertices []struct{ ID string } }
		c.curl(t, 200, &details, "/jobs/"+job)
		vertices[job] = details.Vertices[0].ID
	}
	running := byState["RUNNING"]
	wait.For(t, "the running job's tasks are measured", func() (bool, error) { // the recorded one's were
		var pressure struct{ Subtasks []any }
		c.curl(t, 200, &pressure, "/jobs/"+running+"/vertices/"+vertices[running]+"/backpressure")
		return len(pressure.Subtasks) > 0, nil
	})
	asFlinks(t, byState, vertices, false, func(path string) (bobbintest.Answer, error) {
		return master.Ask(t.Context(), http.MethodGet, path, nil, nil)
	})
	asFlinks(t, byState, vertices, true, func(path string) (bobbintest.Answer, error) {
		return u.AskByProxy(t.Context(), http.MethodGet, id, path)
	})
	var workers struct {
		TaskManagers []struct {
			ID                  string
			Hardware            struct{ FreeMemory, ManagedMemory int }
			MemoryConfiguration struct{ TotalProcessMemory int }
		}
	}
	c.curl(t, 200, &workers, "/taskmanagers")
	for _, worker := range workers.TaskManagers {
		if worker.Hardware.FreeMemory <= 0 || worker.Hardware.ManagedMemory <= 0 || worker.MemoryConfiguration.TotalProcessMemory != 512<<20 {
			t.Errorf("a worker of 512 MiB has the memory %+v", worker)
		}
	}
	if len(workers.TaskManagers) == 0 {
		t.Fatal("no worker is shown while a job runs")
	}
	var programs struct {
		Programs []struct{ ID, Name string }
	}
	var deletion struct {
		ID string `json:"request-id"`
	}
	c.curl(t, 200, &programs, "/programs")
	c.curl(t, 202, &deletion, "/datasets/1", "-X", "DELETE")
	several := slices.IndexFunc(programs.Programs, func(p struct{ ID, Name string }) bool { return p.Name == "several" })
	if several < 0 {
		t.Fatalf("programs are %+v", programs)
	}

	page := bobbintest.OpenAPI(t, "../../../docs/openapi.yaml")
	walked := 0
	for _, path := range slices.Sorted(maps.Keys(page.Paths)) {
		get, is := page.Paths[path]["get"]
		if !is || path == "/jobs/{job}/yarn-cancel" { // it would be accepted
			continue
		}
		over := ids
		if !strings.Contains(path, "{job}") {
			over = ids[:1]
		}
		for _, job := range over {
			at := strings.NewReplacer("{job}", job, "{program}", programs.Programs[several].ID, "{file}", strings.Repeat("0", 64), "{trigger}", deletion.ID, "{name}", "nothing",
				"{vertex}", vertices[job], "{subtask}", "0", "{attempt}", "0", "{checkpoint}", "1", "{worker}", workers.TaskManagers[0].ID).Replace(path)
			var refusals []int
			if told := statusTold.FindStringSubmatch(get.Summary); told != nil {
				status, err := strconv.Atoi(told[1])
				if err != nil {
					t.Fatal(err)
				}
				refusals = append(refusals, status)
			}
			// They collect nothing, have no such file, and take no profiles.
			if strings.Contains(path, "{name}") || strings.Contains(path, "{file}") || strings.Contains(path, "/profiler") || strings.Contains(path, "/flamegraph") {
				refusals = append(refusals, http.StatusNotFound)
			}
			if strings.HasSuffix(path, "/plan") && get.Right == "run" {
				at += "?programArg=" + dir + "/lines," + dir + "/planned,to"
			}
			for _, version := range []string{"", "/v1"} {
				answer, err := master.Ask(t.Context(), http.MethodGet, version+at, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, fault := range page.Check(get, answer, refusals...) {
					t.Errorf("GET %s: %s", version+at, fault)
				}
			}
			if get.Right != "view" {
				refusals = []int{http.StatusForbidden}
			}
			answer, err := u.AskByProxy(t.Context(), http.MethodGet, id, at)
			if err != nil {
				t.Fatal(err)
			}
			if get.Right != "view" && answer.Status != http.StatusForbidden {
				t.Errorf("GET %s through the proxy: %s", at, answer)
			}
			for _, fault := range page.Check(get, answer, refusals...) {
				t.Errorf("GET %s through the proxy: %s", at, fault)
			}
			walked++
		}
	}
	if walked < 50 {
		t.Errorf("only %d paths are walked", walked)
	}
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		for _, job := range ids {
			if answer, err := u.AskByProxy(t.Context(), method, id, "/jobs/"+job); err != nil || answer.Status < 400 {
				t.Errorf("%s through the proxy of a job: %s, %v", method, answer, err)
			}
		}
	}
	if listed := jobs(t, u, "-r"); len(listed) != 1 {
		t.Errorf("after that %+v run", listed)
	}
	checkBrowser(t, u, id, running)
}

// checkBrowser would catch a link of bobbin open that opens nothing on an open cluster, or whose browser others can use.
// At its end the browser cancels the job.
func checkBrowser(t *testing.T, u *bobbintest.User, application, running string) {
	t.Helper()
	browser := u.Browse(t, application)
	path := "/jobs/" + running
	browser.CheckForgeries(t, http.MethodPatch, path)
	browser.CheckForgeries(t, http.MethodDelete, "/cluster")
	if listed := jobs(t, u, "-r"); len(listed) != 1 {
		t.Errorf("after forged requests %+v run", listed)
	}
	if answer := browser.Ask(t, http.MethodGet, "/overview", nil); answer.Status != http.StatusOK {
		t.Errorf("the browser looks: %s", answer)
	}
	if answer := browser.Change(t, http.MethodPatch, path); answer.Status != http.StatusAccepted {
		t.Errorf("the browser cancels the job: %s", answer)
	}
	wait.For(t, "the job is CANCELED", func() (bool, error) {
		return slices.ContainsFunc(jobs(t, u, "-a"), func(j job) bool { return j.Job == running && j.JobStatus == "CANCELED" }), nil
	})
}
