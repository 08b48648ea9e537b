package appmaster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/programs"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// sessionOf is a running session, and its owner's client.
type sessionOf struct {
	*started
	t      *testing.T
	client *http.Client
	token  string
	base   string
}

func startSession(t *testing.T) *sessionOf {
	t.Helper()
	return startSessionWith(t, nil)
}

func startSessionWith(t *testing.T, options map[string]string) *sessionOf {
	t.Helper()
	files := dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = files.Close() })
	w := newWorkers(t, files)
	w.program = testProgram(t)
	s := &sessionOf{t: t}
	s.started = runMaster(t, t.Context(), w, dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"}), func(env *environment) {
		env.launch.Mode, env.launch.Program, env.launch.ProgramRef = launch.Session, launch.Resource{}, msg.Program{}
		env.launch.StagingDir += "/.bobbin/application_1700000000000_0007"
		if err := os.MkdirAll(strings.TrimPrefix(env.launch.StagingDir, "file://"), 0o700); err != nil {
			t.Fatal(err)
		}
		env.logDir, env.workDir = t.TempDir(), t.TempDir()
		env.config = roomy(t, options)
		env.variables = os.Environ()
	}, nil)
	s.staging = strings.TrimPrefix(s.env.launch.StagingDir, "file://")
	access := access(t, s.staging)
	tls, err := pki.RESTClientTLS(access.Authority)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tls}
	t.Cleanup(transport.CloseIdleConnections)
	s.client, s.token, s.base = &http.Client{Transport: transport}, access.Token, "https://"+access.Address
	return s
}

// ask sends a request and decodes its answer, which must have a status.
func (s *sessionOf) ask(status int, method, path string, body io.Reader, contentType string, answer any) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+"/v1"+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s (%v)", method, path, response.StatusCode, status, text, err)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(text, answer); err != nil {
		s.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

func (s *sessionOf) post(status int, path string, body, answer any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.ask(status, http.MethodPost, path, bytes.NewReader(text), "application/json", answer)
}

// refused returns the text of an error.
func (s *sessionOf) refused(status int, method, path string, body any) string {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	var answer struct {
		Errors []string `json:"errors"`
	}
	s.ask(status, method, path, bytes.NewReader(text), "application/json", &answer)
	return strings.Join(answer.Errors, "; ")
}

// awaitEnd waits for a job's end, and returns its status.
func (s *sessionOf) awaitEnd(job ids.JobID) msg.JobStatus {
	s.t.Helper()
	ended, err := s.component().Wait(s.t.Context(), job)
	if err != nil {
		s.t.Fatal(err)
	}
	return ended.Status
}

// end shuts the session down.
func (s *sessionOf) end() {
	s.t.Helper()
	s.ask(http.StatusOK, http.MethodDelete, "/cluster", nil, "", nil)
	if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationSucceeded {
		s.t.Errorf("run = %+v, %v; want SUCCEEDED", s.outcome, err)
	}
}

// upload sends the tests' own program.
func (s *sessionOf) upload() restapi.Program {
	s.t.Helper()
	own, err := os.Open(os.Args[0])
	if err != nil {
		s.t.Fatal(err)
	}
	defer own.Close()
	var added restapi.Program
	s.ask(http.StatusOK, http.MethodPost, "/programs?name=counting&sha256="+testProgram(s.t), own, "", &added)
	return added
}

// TestASessionRunsJobsOfItsPrograms submits a job as a client that plans by itself. It would catch a
// session that loses a program, removes it while a job uses it, or does not give the result.
func TestASessionRunsJobsOfItsPrograms(t *testing.T) {
	t.Parallel()
	s := startSession(t)
	hash := testProgram(t)
	graph := *planned(t, dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"}), "/in", nil)
	for i := range graph.Vertices {
		graph.Vertices[i].Splits = nil // of files that workers do not have
	}
	submission := restapi.JobSubmission{Job: testJob, Graph: graph, Program: restapi.ProgramID{Name: "counting", SHA256: hash}, Attached: true}

	if text := s.refused(http.StatusNotFound, http.MethodPost, "/jobs", submission); !strings.Contains(text, "upload it first") {
		t.Errorf("a job without its program is refused with %q", text)
	}
	s.ask(http.StatusNotFound, http.MethodGet, "/programs/"+hash, nil, "", nil)
	added := s.upload()
	if info, err := os.Stat(os.Args[0]); err != nil || added.ID != hash || added.Name != "counting" || added.Size != info.Size() {
		t.Errorf("uploaded %+v", added)
	}
	for _, path := range []string{"/programs/" + hash, "/jars/" + hash} {
		var found restapi.Program
		if s.ask(http.StatusOK, http.MethodGet, path, nil, "", &found); found != added {
			t.Errorf("%s is %+v, want %+v", path, found, added)
		}
	}
	var list restapi.Programs
	if s.ask(http.StatusOK, http.MethodGet, "/programs", nil, "", &list); !cmp.Equal(list.Programs, []restapi.Program{added}) {
		t.Errorf("programs are %+v", list)
	}

	var submitted restapi.JobSubmitted
	if s.post(http.StatusAccepted, "/jobs", submission, &submitted); submitted.JobURL != "/jobs/"+string(testJob) {
		t.Errorf("submitted %+v", submitted)
	}
	s.fetch(t)
	if text := s.refused(http.StatusConflict, http.MethodPost, "/jobs", submission); !strings.Contains(text, "FINISHED") {
		t.Errorf("a job's second submission is refused with %q", text)
	}
	submission.Job, submission.Graph.Digest = "", "?"
	s.refused(http.StatusBadRequest, http.MethodPost, "/jobs", submission)

	// No job holds the program any more, however its jobs have ended.
	s.ask(http.StatusOK, http.MethodDelete, "/programs/"+hash, nil, "", nil)
	s.ask(http.StatusNotFound, http.MethodDelete, "/programs/"+hash, nil, "", nil)
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(s.staging), "cache", "*")); err != nil || len(left) > 0 {
		t.Errorf("in the cache there are %v, %v", left, err)
	}
	s.end()
	if s.filesStay() {
		t.Error("staged files are left behind")
	}
}

// TestASessionKeepsTheFilesOfItsJobs would catch a file that is removed while a job uses it, or held after the
// job, and a job that is accepted without its file.
func TestASessionKeepsTheFilesOfItsJobs(t *testing.T) {
	t.Parallel()
	s := startSession(t)
	program := s.upload().ID
	sum := sha256.Sum256([]byte("Rome"))
	hash := hex.EncodeToString(sum[:])
	submit := func(status int, files ...jobgraph.CachedFile) string {
		job := restapi.JobSubmission{Job: ids.JobID(ids.Random()), Program: restapi.ProgramID{SHA256: program}}
		job.Graph = *planned(t, dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"}), "/in", nil)
		for i := range job.Graph.Vertices {
			job.Graph.Vertices[i].Splits = nil // of files that workers do not have
		}
		job.Graph.Files = files
		if status != http.StatusAccepted {
			return s.refused(status, http.MethodPost, "/jobs", job)
		}
		s.post(status, "/jobs", job, nil)
		if ended := s.awaitEnd(job.Job); ended != msg.JobFinished {
			t.Errorf("a job with the files %+v is %s", files, ended)
		}
		return ""
	}
	cities, towns := jobgraph.CachedFile{Name: "cities", SHA256: hash, Size: 4}, jobgraph.CachedFile{Name: "towns", SHA256: hash, Size: 4, Executable: true}
	if text := submit(http.StatusNotFound, cities); !strings.Contains(text, hash+": upload it first") {
		t.Errorf("a job without its file is refused with %q", text)
	}
	s.ask(http.StatusNotFound, http.MethodGet, "/files/"+hash, nil, "", nil)
	s.ask(http.StatusBadRequest, http.MethodPost, "/files?name=cities.csv&sha256="+hash, strings.NewReader("Paris"), "", nil)
	var added, found restapi.File
	s.ask(http.StatusOK, http.MethodPost, "/files?name=cities.csv&sha256="+hash, strings.NewReader("Rome"), "", &added)
	if s.ask(http.StatusOK, http.MethodGet, "/files/"+hash, nil, "", &found); found != added || added.ID != hash || added.Name != "cities.csv" || added.Size != 4 {
		t.Errorf("added %+v, found %+v", added, found)
	}
	submit(http.StatusAccepted, cities, towns)
	if text := submit(http.StatusBadRequest, cities, jobgraph.CachedFile{Name: "x", SHA256: "../../precious"}); !strings.Contains(text, "want 64 hex digits") {
		t.Errorf("a job whose file has a path as its hash is refused with %q", text)
	}
	for range 2 { // no refused job holds the files before the one that is not there
		if text := submit(http.StatusNotFound, cities, jobgraph.CachedFile{Name: "none", SHA256: strings.Repeat("0", 64)}); !strings.Contains(text, "upload it first") {
			t.Errorf("a job without its second file is refused with %q", text)
		}
	}
	on := filepath.Join(t.TempDir(), "zones.csv")
	if text := submit(http.StatusBadRequest, cities, jobgraph.CachedFile{Name: "zones", URI: "file://" + on}); !strings.Contains(text, `"zones" (pipeline.cached-files) is file://`+on+": there is no such file") {
		t.Errorf("a job with a missing file is refused with %q", text)
	}
	if err := os.WriteFile(on, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	submit(http.StatusAccepted, cities, jobgraph.CachedFile{Name: "zones", URI: "file://" + on})

	var programs restapi.Programs // a file is no program
	if s.ask(http.StatusOK, http.MethodGet, "/programs", nil, "", &programs); len(programs.Programs) != 1 {
		t.Errorf("programs are %+v", programs)
	}
	s.ask(http.StatusOK, http.MethodDelete, "/programs/"+program, nil, "", nil) // no refused job holds it
	s.end()
}

// TestAJobThatContradictsItsSessionIsNotTaken would catch a job whose options contradict those of its
// session and that is accepted, and then fails or loses a worker after each heartbeat; a job that is
// refused for an option that counts only where the client would start the containers; a job whose slots can never
// come and that is accepted, so that a detached client reports success; and a program that a refused job holds.
func TestAJobThatContradictsItsSessionIsNotTaken(t *testing.T) {
	t.Parallel()
	s := startSessionWith(t, map[string]string{
		config.HeartbeatInterval.Name(): "1s", config.HeartbeatTimeout.Name(): "5s", config.SlotsMax.Name(): "4", config.MaxTotalCPU.Name(): "4",
	})
	submission := restapi.JobSubmission{Program: restapi.ProgramID{Name: "counting", SHA256: s.upload().ID}}
	var grouped *jobgraph.Resources // of the only slot sharing group
	submit := func(status int, options map[string]string) string {
		submission.Job = ids.JobID(ids.Random())
		submission.Graph = *planned(t, dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"}), "/in", options)
		for i := range submission.Graph.Vertices {
			submission.Graph.Vertices[i].Splits = nil // of files that workers do not have
		}
		if grouped != nil {
			submission.Graph.Groups = []jobgraph.Group{{Name: "heavy", Resources: grouped}}
			submission.Graph.Digest = submission.Graph.ComputeDigest()
		}
		if status == http.StatusAccepted {
			s.post(status, "/jobs", submission, nil)
			return ""
		}
		return s.refused(status, http.MethodPost, "/jobs", submission)
	}
	for option, value := range map[config.Key]string{config.HeartbeatInterval: "10s", config.RestartStrategy: "sometimes"} {
		text := submit(http.StatusBadRequest, map[string]string{option.Name(): value})
		if !strings.Contains(text, option.Name()) || !strings.Contains(text, value) {
			t.Errorf("a job with %s of %s is refused with %q", option.Name(), value, text)
		}
		s.ask(http.StatusNotFound, http.MethodGet, "/jobs/"+string(submission.Job), nil, "", nil)
	}
	if text := submit(http.StatusBadRequest, map[string]string{config.HeartbeatInterval.Name(): "10s"}); !strings.Contains(text, "lower heartbeat.interval or raise heartbeat.timeout") {
		t.Errorf("the remedy is %q", text)
	}
	grouped = &jobgraph.Resources{CPU: 5, TaskHeap: 1 << 20}
	const ceiling = "option slotmanager.max-total-resource.cpu: 4 is less than the job needs at a time: 1 slots of slot sharing group heavy, each with 5 cores, 1 MB task heap, in TaskExecutors that have 1 slots, 5 cores and "
	if text := submit(http.StatusBadRequest, nil); !strings.Contains(text, ceiling) || !strings.Contains(text, "raise it or lower the parallelism or the resources of slot sharing groups") {
		t.Errorf("a group beyond the ceiling is refused with %q", text)
	}
	s.ask(http.StatusNotFound, http.MethodGet, "/jobs/"+string(submission.Job), nil, "", nil)
	s.largest.set(records.Resource{MemoryMB: 1024, VCores: 8})
	grouped = &jobgraph.Resources{CPU: 1, TaskHeap: 2 << 30}
	if text := submit(http.StatusBadRequest, nil); !strings.Contains(text, "a TaskExecutor of slot sharing group heavy") || !strings.Contains(text, "YARN's largest container has 1024 MB and 8 vcores: lower it (dataflow.Resources of the group)") {
		t.Errorf("a group beyond YARN's largest container is refused with %q", text)
	}
	s.ask(http.StatusNotFound, http.MethodGet, "/jobs/"+string(submission.Job), nil, "", nil)
	grouped = nil
	submit(http.StatusAccepted, map[string]string{config.TaskSlots.Name(): "8", config.HeartbeatInterval.Name(): "2s"})
	if ended := s.awaitEnd(submission.Job); ended != msg.JobFinished {
		t.Errorf("the job that fits the session is %s", ended)
	}
	s.ask(http.StatusOK, http.MethodDelete, "/programs/"+submission.Program.SHA256, nil, "", nil)
	s.end()
}

// TestAWithdrawnJobDoesNotRun would catch a job that runs although its client was told that it does not:
// the cancellation arrived while the session still read the submission, or the client disconnected before
// the job was accepted.
func TestAWithdrawnJobDoesNotRun(t *testing.T) {
	t.Parallel()
	s := startSession(t)
	hash := s.upload().ID
	graph := *planned(t, dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"}), "/in", nil)
	submission := restapi.JobSubmission{Job: testJob, Graph: graph, Program: restapi.ProgramID{Name: "counting", SHA256: hash}}
	s.refused(http.StatusNotFound, http.MethodPatch, "/jobs/"+string(testJob)+"?mode=cancel", nil)
	if text := s.refused(http.StatusGone, http.MethodPost, "/jobs", submission); !strings.Contains(text, "cancelled before the cluster received it") {
		t.Errorf("the late submission is refused with %q", text)
	}
	var jobs struct{ Jobs []any }
	if s.ask(http.StatusOK, http.MethodGet, "/jobs", nil, "", &jobs); len(jobs.Jobs) > 0 {
		t.Errorf("there run %v", jobs.Jobs)
	}
	s.ask(http.StatusOK, http.MethodDelete, "/programs/"+hash, nil, "", nil) // no job holds the program
	s.end()
}

// TestWhoHasLeftSubmitsNothing would catch a job that is accepted although its client has disconnected, and
// a program that it holds.
func TestWhoHasLeftSubmitsNothing(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
	c := startCluster(t, dispatcher.Session, files)
	area := dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = area.Close() })
	dir := filepath.Join(t.TempDir(), staging.DirName, "application_1_0001")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	own, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	cache := staging.Resume(area, "file://"+dir, "file://"+dir, 0, ids.Source{})
	kept := stores{programStore: programs.New(cache, area, program.Native()), fileStore: programs.NewFiles(cache, area), finder: area}
	s := newSession(c.Component, kept, newSettling(), nil, logrus.New())
	if _, err := s.AddProgram(t.Context(), "counting", testProgram(t), own); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	err = s.SubmitJob(ctx, restapi.JobSubmission{Job: testJob, Graph: *planned(t, files, "/in", nil), Program: restapi.ProgramID{SHA256: testProgram(t)}})
	jobs, asking := c.Dispatcher.Jobs(t.Context())
	if !errors.Is(err, gone) || asking != nil || len(jobs) > 0 {
		t.Errorf("submitted: %v; there run %v (%v)", err, jobs, asking)
	}
	if err := s.RemoveProgram(t.Context(), testProgram(t)); err != nil {
		t.Errorf("the program is held: %v", err)
	}
}

// TestASessionRunsProgramsItself would catch a program of the ApplicationMaster that plans another job, or
// whose failure is not reported.
func TestASessionRunsProgramsItself(t *testing.T) {
	t.Parallel()
	s := startSession(t)
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("jarfile", "counting.bin")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(own); err != nil {
		t.Fatal(err)
	}
	if err := parts.Close(); err != nil {
		t.Fatal(err)
	}
	var uploaded struct{ Filename, Status string }
	s.ask(http.StatusOK, http.MethodPost, "/jars/upload", &form, parts.FormDataContentType(), &uploaded)
	id := uploaded.Filename[strings.LastIndexByte(uploaded.Filename, '/')+1:]
	if id != testProgram(t) || uploaded.Status != "success" {
		t.Fatalf("uploaded %+v", uploaded)
	}
	lines := "count=" + input(t, "x\ny\n")

	var planned struct{ Plan restapi.JobPlan }
	s.post(http.StatusOK, "/jars/"+id+"/plan", restapi.RunRequest{Arguments: []string{lines}}, &planned)
	if planned.Plan.Name != counting.Name() || len(planned.Plan.Nodes) < 2 {
		t.Errorf("plan %+v", planned.Plan)
	}
	var jobs struct{ Jobs []any }
	if s.ask(http.StatusOK, http.MethodGet, "/jobs", nil, "", &jobs); len(jobs.Jobs) > 0 {
		t.Errorf("planning has run %v", jobs.Jobs)
	}

	var ran restapi.RunAnswer
	s.post(http.StatusOK, "/programs/"+id+"/run", restapi.RunRequest{Arguments: []string{lines}, Job: testJob}, &ran)
	if ran.Job != testJob {
		t.Errorf("ran job %s, want %s", ran.Job, testJob)
	}
	if status := s.awaitEnd(ran.Job); status != msg.JobFinished {
		t.Errorf("job is %s", status)
	}
	s.ask(http.StatusOK, http.MethodPost, "/jars/"+id+"/run?programArg="+lines, nil, "", &ran)
	if status := s.awaitEnd(ran.Job); ran.Job == testJob || status != msg.JobFinished {
		t.Errorf("job %s is %s", ran.Job, status)
	}

	if text := s.refused(http.StatusConflict, http.MethodPost, "/programs/"+id+"/run", restapi.RunRequest{Arguments: []string{lines}, Job: testJob}); !strings.Contains(text, "FINISHED") {
		t.Errorf("a job's id is used again: refused with %q", text)
	}
	for name, test := range map[string]struct {
		run  restapi.RunRequest
		want string
	}{
		"a plan that fails":          {restapi.RunRequest{Arguments: []string{"curse"}}, "the plan is cursed"},
		"no job":                     {restapi.RunRequest{}, "no job was executed"},
		"a program that is killed":   {restapi.RunRequest{Arguments: []string{"die"}}, "last words"},
		"an option that there isn't": {restapi.RunRequest{Options: map[string]string{"paralelism.default": "2"}}, "parallelism.default"},
		"one that cannot be here":    {restapi.RunRequest{Options: map[string]string{"heartbeat.interval": "1 h"}}, "lower heartbeat.interval or raise heartbeat.timeout"},
	} {
		if text := s.refused(http.StatusBadRequest, http.MethodPost, "/programs/"+id+"/run", test.run); !strings.Contains(text, test.want) {
			t.Errorf("%s: refused with %q, want %q", name, text, test.want)
		}
	}
	s.end() // a program that does not wait for its job may end a little after the answer
	if left, err := os.ReadDir(s.env.workDir); err != nil || len(left) > 0 {
		t.Errorf("programs are left behind: %v, %v", left, err)
	}
}

// TestASessionEndsItsDrivers would catch a session that waits for a program, or leaves it behind.
func TestASessionEndsItsDrivers(t *testing.T) {
	t.Parallel()
	s := startSession(t)
	id := s.upload().ID
	answered := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/programs/"+id+"/run?programArg=hang", nil)
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+s.token)
			var response *http.Response
			if response, err = s.client.Do(r); err == nil {
				err = response.Body.Close()
			}
		}
		answered <- err
	}()
	for { // until it has been started
		var jobs struct{ Jobs []any }
		s.ask(http.StatusOK, http.MethodGet, "/jobs", nil, "", &jobs)
		if _, err := os.Stat(filepath.Join(s.env.logDir, "driver-counting.stdout")); err == nil {
			break
		}
	}
	s.end()
	<-answered // whatever it receives
	if left, err := os.ReadDir(s.env.workDir); err != nil || len(left) > 0 {
		t.Errorf("programs are left behind: %v, %v", left, err)
	}
}

// TestAProgramThatDoesNotEndIsEnded would catch programs that take the places of others for as long as the
// session lives, and that users cannot find; and the end of a program that also ends its jobs.
func TestAProgramThatDoesNotEndIsEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	s := startSession(t)
	id := s.upload().ID
	running := func() []restapi.Driver {
		var list restapi.Drivers
		s.ask(http.StatusOK, http.MethodGet, "/drivers", nil, "", &list)
		return list.Drivers
	}

	var ran restapi.RunAnswer
	s.post(http.StatusOK, "/programs/"+id+"/run", restapi.RunRequest{Arguments: []string{"count=" + input(t, "x\ny\n"), "hang"}}, &ran)
	list := running()
	if len(list) != 1 || list[0].Program != id || list[0].Name != "counting" || list[0].Jobs != 1 || list[0].LastJob != ran.Job || list[0].Memory == 0 {
		t.Fatalf("listed are %+v", list)
	}
	s.ask(http.StatusOK, http.MethodDelete, "/drivers/"+list[0].ID, nil, "", nil)
	if left, err := os.ReadDir(s.env.workDir); err != nil || len(left) > 0 || len(running()) > 0 {
		t.Errorf("left behind are %v, %v; listed %+v", left, err, running())
	}
	if status := s.awaitEnd(ran.Job); status != msg.JobFinished {
		t.Errorf("its job is %s", status)
	}
	s.refused(http.StatusNotFound, http.MethodDelete, "/drivers/"+list[0].ID, nil)

	answered := make(chan string, 1)
	go func() { // a program that executes no job
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/programs/"+id+"/run?programArg=hang", nil)
		if err != nil {
			answered <- err.Error()
			return
		}
		r.Header.Set("Authorization", "Bearer "+s.token)
		response, err := s.client.Do(r)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		answered <- fmt.Sprint(response.StatusCode, string(text), err)
	}()
	for list = running(); len(list) == 0 || list[0].Memory == 0; {
		list = running()
	}
	s.ask(http.StatusOK, http.MethodDelete, "/drivers/"+list[0].ID, nil, "", nil)
	if told := <-answered; !strings.HasPrefix(told, "409") || !strings.Contains(told, "program was ended") {
		t.Errorf("who waited for its job is told %s", told)
	}
	s.end()
}
