package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

var (
	wordcountID = strings.Repeat("5a", 32)
	unknownID   = strings.Repeat("00", 32)
)

// fakeSession has one program.
type fakeSession struct {
	err       error // error of every answer, if set
	submitted []restapi.JobSubmission
	added     []string // name, hash and content
	removed   []string
	planned   []ProgramRun
	ran       []ProgramRun
}

func (s *fakeSession) asked() int {
	return len(s.submitted) + len(s.added) + len(s.removed) + len(s.planned) + len(s.ran)
}

func wordcount() msg.ProgramDetails {
	return msg.ProgramDetails{
		Program: msg.Program{Name: "wordcount", SHA256: wordcountID, URI: "hdfs://ns/user/alice/.bobbin/cache/" + wordcountID + "/wordcount"},
		Size:    1 << 20, Uploaded: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func (s *fakeSession) SubmitJob(_ context.Context, job restapi.JobSubmission) error {
	s.submitted = append(s.submitted, job)
	return s.err
}

func (s *fakeSession) Programs(context.Context) ([]msg.ProgramDetails, error) {
	return []msg.ProgramDetails{wordcount()}, s.err
}

func (s *fakeSession) Program(_ context.Context, sha256 string) (msg.ProgramDetails, error) {
	if sha256 != wordcountID {
		return msg.ProgramDetails{}, msg.ErrProgramNotFound
	}
	return wordcount(), s.err
}

func (s *fakeSession) AddProgram(_ context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	text, err := io.ReadAll(content)
	if err != nil {
		return msg.ProgramDetails{}, fmt.Errorf("receive program: %w", err)
	}
	s.added = append(s.added, fmt.Sprintf("%s %s %s", name, sha256, text))
	return wordcount(), s.err
}

func (s *fakeSession) File(_ context.Context, sha256 string) (msg.ProgramDetails, error) {
	if sha256 != wordcountID {
		return msg.ProgramDetails{}, msg.ErrFileNotFound
	}
	return wordcount(), s.err
}

func (s *fakeSession) AddFile(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	return s.AddProgram(ctx, name, sha256, content)
}

func (s *fakeSession) RemoveProgram(_ context.Context, sha256 string) error {
	s.removed = append(s.removed, sha256)
	return s.err
}

func (s *fakeSession) PlanProgram(_ context.Context, run ProgramRun) (jobgraph.JobGraph, error) {
	s.planned = append(s.planned, run)
	return plannedGraph(), s.err
}

func (s *fakeSession) RunProgram(_ context.Context, run ProgramRun) (ids.JobID, error) {
	s.ran = append(s.ran, run)
	return emptyID, s.err
}

func (s *fakeSession) Drivers(context.Context) ([]msg.DriverDetails, error) {
	return []msg.DriverDetails{{
		ID: driverID, Program: wordcount().Program, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), MemoryMB: 12, Jobs: 2, LastJob: emptyID,
	}}, s.err
}

func (s *fakeSession) EndDriver(_ context.Context, id string) error {
	s.removed = append(s.removed, id)
	if id != driverID {
		return msg.ErrDriverNotFound
	}
	return s.err
}

// driverID is the id of the one running program.
const driverID = "d0d1d2d3d4d5d6d7d8d9dadbdcdddedf"

func plannedGraph() jobgraph.JobGraph {
	g := jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "wordcount", Name: "word <count>", Args: []byte("{}"),
		Vertices: []jobgraph.Vertex{
			{Name: "read -> split", Operators: []string{"read", "split"}, Parallelism: 4, Source: true},
			{Name: "count", Operators: []string{"count"}, Parallelism: 2},
			{Name: "write", Operators: []string{"write"}, Parallelism: 2},
		},
		Edges: []jobgraph.Edge{
			{From: 0, To: 1, Pattern: jobgraph.AllToAll, Type: "string"}, {From: 1, To: 2, Pattern: jobgraph.Pointwise, Type: "string"},
		},
	}
	g.Digest = g.ComputeDigest()
	return g
}

// askSession sends a request to a session's door as its owner.
func askSession(session Session, method, path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	server := newServer(&fakeGateway{})
	server.config.Session = session
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, body)
	r.Header.Set("Authorization", "Bearer "+token)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	server.secure().ServeHTTP(w, r)
	return w
}

// TestJobsGoInWhole would catch a submission that loses a part of the job.
func TestJobsGoInWhole(t *testing.T) {
	t.Parallel()
	want := restapi.JobSubmission{
		Job: runningID, Graph: plannedGraph(), Program: restapi.ProgramID{Name: "wordcount", SHA256: wordcountID}, Attached: true, ClientHeartbeatTimeout: 180_000,
	}
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	session := &fakeSession{}
	w := askSession(session, http.MethodPost, "/v1/jobs", "application/json", bytes.NewReader(body))
	var answer restapi.JobSubmitted
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusAccepted || answer.JobURL != "/jobs/"+string(runningID) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if diff := cmp.Diff([]restapi.JobSubmission{want}, session.submitted); diff != "" {
		t.Errorf("submitted (-want +got):\n%s", diff)
	}
	if got := want.ClientTimeout(); got != 3*time.Minute {
		t.Errorf("the client may be silent for %s", got)
	}
	if got := (restapi.JobSubmission{ClientHeartbeatTimeout: 1 << 62}).ClientTimeout(); got <= 0 {
		t.Errorf("a long time is %s", got)
	}
	w = askSession(session, http.MethodPost, "/jobs", "", strings.NewReader(`{"program":{"sha256":"`+wordcountID+`"}}`))
	if job := session.submitted[1].Job; w.Code != http.StatusAccepted || len(job) != 32 || !strings.Contains(w.Body.String(), string(job)) {
		t.Errorf("a job without an id: %q, %s", job, w.Body)
	}
}

// TestSessionsRefuse would catch an invalid request that reaches the session, and an error with another
// status than clients expect.
func TestSessionsRefuse(t *testing.T) {
	t.Parallel()
	job := func(id, program string) string {
		return fmt.Sprintf(`{"jobId":%q,"program":{"sha256":%q}}`, id, program)
	}
	good := job(string(runningID), wordcountID)
	run := "/programs/" + wordcountID + "/run"
	for name, test := range map[string]struct {
		method, path, body string
		err                error // of the session
		want               int
		reaches            bool
	}{
		"a job":                          {"POST", "/jobs", good, nil, 202, true},
		"a job that is there":            {"POST", "/jobs", good, msg.ErrJobExists, 409, true},
		"a job that has been":            {"POST", "/jobs", good, msg.ErrJobEnded, 409, true},
		"another job of this id":         {"POST", "/jobs", good, msg.ErrDifferentJob, 409, true},
		"a job that was cancelled":       {"POST", "/jobs", good, msg.ErrJobWithdrawn, 410, true},
		"a job for a cluster that ends":  {"POST", "/jobs", good, msg.ErrEnding, 503, true},
		"a job of no program":            {"POST", "/jobs", good, msg.ErrProgramNotFound, 404, true},
		"a job that cannot be":           {"POST", "/jobs", good, jobgraph.ErrInvalid, 400, true},
		"a job by a name that is none":   {"POST", "/jobs", job("x", wordcountID), nil, 400, false},
		"a job of something":             {"POST", "/jobs", job(string(runningID), "wordcount"), nil, 400, false},
		"a job with a negative time":     {"POST", "/jobs", good[:len(good)-1] + `,"clientHeartbeatTimeout":-1}`, nil, 400, false},
		"something":                      {"POST", "/jobs", "job", nil, 400, false},
		"half a job":                     {"POST", "/jobs", good[:20], nil, 400, false},
		"a list":                         {"GET", "/programs", "", nil, 200, false},
		"a program":                      {"GET", "/jars/" + wordcountID, "", nil, 200, false},
		"an unknown program":             {"GET", "/programs/" + unknownID, "", nil, 404, false},
		"a program that is none":         {"GET", "/programs/wordcount", "", nil, 400, false},
		"an upload":                      {"POST", "/programs?name=wordcount", "ELF", nil, 200, true},
		"an upload without a name":       {"POST", "/programs", "ELF", nil, 400, false},
		"an upload to another place":     {"POST", "/programs?name=../wordcount", "ELF", nil, 400, false},
		"an upload without a file":       {"POST", "/programs?name=/", "ELF", nil, 400, false},
		"an upload that would be hidden": {"POST", "/programs?name=.wordcount", "ELF", nil, 400, false},
		"an upload by half a hash":       {"POST", "/programs?name=wordcount&sha256=5a", "ELF", nil, 400, false},
		"an upload too many":             {"POST", "/programs?name=wordcount", "ELF", msg.ErrTooManyPrograms, 503, true},
		"a job too many":                 {"POST", "/jobs", job(string(runningID), wordcountID), msg.ErrTooManyJobs, 503, true},
		"a job without memory for now":   {"POST", "/jobs", good, msg.ErrNoMemory, 503, true},
		"a job without memory for ever":  {"POST", "/jobs", good, msg.ErrJobTooLarge, 413, true},
		"programs that run":              {"GET", "/drivers", "", nil, 200, false},
		"the end of one that runs":       {"DELETE", "/drivers/" + driverID, "", nil, 200, true},
		"the end of one that doesn't":    {"DELETE", "/drivers/" + string(emptyID), "", nil, 404, true},
		"the end of one by its name":     {"DELETE", "/drivers/wordcount", "", nil, 400, false},
		"a run that somebody ends":       {"POST", run, "{}", msg.ErrDriverEnded, 409, true},
		"an upload of a script":          {"POST", "/programs?name=wordcount", "#!", msg.ErrBadProgram, 400, true},
		"a file":                         {"GET", "/files/" + wordcountID, "", nil, 200, false},
		"an unknown file":                {"GET", "/files/" + unknownID, "", nil, 404, false},
		"a file that is none":            {"GET", "/files/cities", "", nil, 400, false},
		"an upload of a file":            {"POST", "/files?name=cities&sha256=" + wordcountID, "Rome", nil, 200, true},
		"an upload of another file":      {"POST", "/files?name=cities&sha256=" + wordcountID, "Rome", msg.ErrBadFile, 400, true},
		"an upload of a file too many":   {"POST", "/files?name=cities&sha256=" + wordcountID, "Rome", msg.ErrTooManyFiles, 503, true},
		"an upload of a hidden file":     {"POST", "/files?name=.cities&sha256=" + wordcountID, "Rome", nil, 400, false},
		"an upload of any file":          {"POST", "/files?name=cities", "Rome", nil, 400, false},
		"a job of no file":               {"POST", "/jobs", good, msg.ErrFileNotFound, 404, true},
		"a job of a file that is gone":   {"POST", "/jobs", good, cachedfiles.ErrNotFound, 400, true},
		"a form that is none":            {"POST", "/jars/upload", "ELF", nil, 400, false},
		"an end":                         {"DELETE", "/jars/" + wordcountID, "", nil, 200, true},
		"an end while it runs":           {"DELETE", "/programs/" + wordcountID, "", msg.ErrProgramInUse, 409, true},
		"a run":                          {"POST", run, "{}", nil, 200, true},
		"a run of what fails":            {"POST", run, "{}", msg.ErrBadProgram, 400, true},
		"a run with a strange option":    {"POST", run, "{}", config.ErrInvalid, 400, true},
		"a run from a savepoint":         {"POST", run, `{"savepointPath":"/s"}`, nil, 501, false},
		"a run with nobody":              {"POST", run, `{"parallelism":-1}`, nil, 400, false},
		"a run as somebody":              {"POST", run, `{"jobId":"me"}`, nil, 400, false},
		"a run with half a number":       {"POST", run + "?parallelism=1.5", "", nil, 400, false},
		"a plan":                         {"GET", "/jars/" + wordcountID + "/plan", "", nil, 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := &fakeSession{err: test.err}
			w := askSession(session, test.method, test.path, "", strings.NewReader(test.body))
			if w.Code != test.want || (session.asked() > 0) != test.reaches {
				t.Errorf("status %d, reaches the session: %t; want %d, %t: %s", w.Code, session.asked() > 0, test.want, test.reaches, w.Body)
			}
			if w.Code >= 400 {
				checkAnswer(t, name, w)
			}
			none := askSession(nil, test.method, test.path, "", strings.NewReader(test.body))
			if none.Code != http.StatusNotFound || !strings.Contains(none.Body.String(), "not a session") {
				t.Errorf("without a session: status %d: %s", none.Code, none.Body)
			}
		})
	}
}

// TestProgramsPassAsTheyAre would catch an upload whose bytes or name change on the way.
func TestProgramsPassAsTheyAre(t *testing.T) {
	t.Parallel()
	session := &fakeSession{}
	askSession(session, http.MethodPost, "/v1/programs?name=word%20count&sha256="+wordcountID, "application/octet-stream", strings.NewReader("\x7fELF\x00"))
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	if err := parts.WriteField("comment", "none"); err != nil {
		t.Fatal(err)
	}
	part, err := parts.CreateFormFile("jarfile", "wordcount.jar")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, "\x7fELF--")
	_ = parts.Close()
	w := askSession(session, http.MethodPost, "/jars/upload", parts.FormDataContentType(), &form)
	if diff := cmp.Diff([]string{"word count " + wordcountID + " \x7fELF\x00", "wordcount.jar  \x7fELF--"}, session.added); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	var answer restapi.JarUploaded
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Filename != "hdfs://ns/user/alice/.bobbin/cache/"+wordcountID || answer.Status != "success" {
		t.Errorf("answer %s", w.Body)
	}
}

// TestRunsAsFlinkAsksForThem would catch arguments that a program gets in another form than its user has
// written them.
func TestRunsAsFlinkAsksForThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		query, body string
		want        ProgramRun
	}{
		"nothing": {"", "", ProgramRun{}},
		"all of it": {
			"", `{"programArgsList":["--input","a b"],"parallelism":3,"jobId":"` + string(emptyID) + `","flinkConfiguration":{"a":"b"},"entryClass":"org.Main"}`,
			ProgramRun{Arguments: []string{"--input", "a b"}, Job: emptyID, Options: map[string]string{"a": "b", "parallelism.default": "3"}},
		},
		"a line":            {"", `{"programArgs":"--input 'a b'  \"\" c"}`, ProgramRun{Arguments: []string{"--input", "a b", "", "c"}}},
		"a list and a line": {"", `{"programArgs":"x","programArgsList":["y"]}`, ProgramRun{Arguments: []string{"y"}}},
		"a query":           {"?programArg=--input,a&parallelism=2", "", ProgramRun{Arguments: []string{"--input", "a"}, Options: map[string]string{"parallelism.default": "2"}}},
		"a line in a query": {"?program-args=--input+a", "{}", ProgramRun{Arguments: []string{"--input", "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := &fakeSession{}
			w := askSession(session, http.MethodPost, "/v1/jars/"+wordcountID+"/run"+test.query, "application/json", strings.NewReader(test.body))
			test.want.SHA256 = wordcountID
			if test.want.Options == nil {
				test.want.Options = map[string]string{}
			}
			if diff := cmp.Diff([]ProgramRun{test.want}, session.ran); diff != "" || w.Body.String() != `{"jobid":"`+string(emptyID)+`"}`+"\n" {
				t.Errorf("%s (-want +got):\n%s", w.Body, diff)
			}
		})
	}
}

// TestBodiesAreBounded would catch a request that fills the ApplicationMaster's memory, or a limit that
// takes effect only after that.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path    string
		size    int
		chunked bool
		want    int
	}{
		"a job":                            {"/jobs", 900, false, 202},
		"a job that is too large":          {"/jobs", 1100, false, 413},
		"a job of a size that is not told": {"/jobs", 1100, true, 413},
		"a program":                        {"/programs?name=p", 1900, false, 200},
		"a program that is too large":      {"/programs?name=p", 2100, false, 413},
		"one of a size that is not told":   {"/programs?name=p", 2100, true, 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := &fakeSession{}
			server := newServer(&fakeGateway{})
			options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
				config.RESTMaxContentLength.Name(): "1000b", config.RESTMaxProgramSize.Name(): "2000b", config.JobManagerFlinkSize.Name(): "1g",
			}})
			if err != nil {
				t.Fatal(err)
			}
			server.config.Session, server.config.Options, server.config.Room = session, options, budget.NewRoom(0, options)
			text := `{"program":{"sha256":"` + wordcountID + `"}}`
			read := 0
			body := io.TeeReader(strings.NewReader(strings.Repeat(" ", test.size-len(text))+text), writerFunc(func(p []byte) { read += len(p) }))
			r := httptest.NewRequest(http.MethodPost, test.path, body)
			r.ContentLength = int64(test.size)
			if test.chunked {
				r.ContentLength = -1
			}
			w := httptest.NewRecorder()
			server.Unguarded().ServeHTTP(w, r)
			if w.Code != test.want || w.Code == 413 && (session.asked() > 0 || !test.chunked && read > 0) {
				t.Errorf("status %d after %d bytes, want %d: %s", w.Code, read, test.want, w.Body)
			}
			if w.Code == 413 && !strings.Contains(w.Body.String(), "jobmanager.memory.flink.size") {
				t.Errorf("the option that decides the memory is not in: %s", w.Body)
			}
		})
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// TestHeldBodiesWaitForRoom would catch many large jobs that together fill the memory, and a job that waits
// for ever.
func TestHeldBodiesWaitForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.RESTMaxContentLength.Name(): "100m", config.JobManagerHeapSize.Name(): "1g"}})
		if err != nil {
			t.Fatal(err)
		}
		room := budget.NewRoom(64<<20, options)
		most := int64(room.Largest())
		hold := func(ctx context.Context, size int64) (func(), error) {
			r := httptest.NewRequest(http.MethodPost, "/jobs", nil).WithContext(ctx)
			r.ContentLength = size
			return enter(room, r, most)
		}
		first, err := hold(t.Context(), most)
		if err != nil {
			t.Fatal(err)
		}
		second, err := hold(t.Context(), -1)
		if err != nil {
			t.Fatalf("a body of unknown size beside a large one: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := hold(ctx, maxBody+1+most); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("there is room for more than there is: %v", err)
		}
		began := time.Now()
		if _, err := hold(t.Context(), most); !errors.Is(err, msg.ErrNotReady) || time.Since(began) >= time.Minute || !strings.Contains(err.Error(), "jobmanager.memory.heap.size") {
			t.Errorf("a client has left before it is told that there is no room: %v after %v", err, time.Since(began))
		}
		leave, err := hold(t.Context(), 10<<10)
		if err != nil {
			t.Fatalf("an ordinary job waits for large ones: %v", err)
		}
		var middle []func()
		for range 1000 {
			ctx, end := context.WithTimeout(t.Context(), time.Second)
			leave, err := hold(ctx, maxBody)
			end()
			if err != nil {
				break
			}
			middle = append(middle, leave)
		}
		if n := len(middle); n == 0 || n == 1000 {
			t.Errorf("%d bodies of a middle size are held", n)
		}
		for range 2 * maxConnections {
			if _, err := hold(t.Context(), 1<<10); err != nil {
				t.Errorf("a sign of life waits for others: %v", err)
			}
		}
		for _, leave := range append(middle, first, second, leave) {
			leave()
		}
		for range 2 {
			if _, err := hold(t.Context(), most); err != nil {
				t.Errorf("when all have left: %v", err)
			}
		}
	})
}

// deadlines are the deadlines of a connection. The type is also the body on that connection.
type deadlines struct {
	http.ResponseWriter
	read   time.Time
	pause  time.Duration // before each byte
	broken error
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }

func (d *deadlines) Read([]byte) (int, error) {
	time.Sleep(d.pause)
	return 1, d.broken
}

func (d *deadlines) Close() error { return nil }

// TestABodyHasTimeWhileItIsWaitedFor would catch an upload that is cut although HDFS was slow or other
// uploads had their turn, an upload that trickles in for ever, and a slow client whose answer blames the
// server.
func TestABodyHasTimeWhileItIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		connection := &deadlines{}
		body := &timedBody{ReadCloser: connection, control: http.NewResponseController(connection)}
		left := func() time.Duration {
			t.Helper()
			start := time.Now()
			_, err := body.Read(make([]byte, 1))
			if !errors.Is(err, connection.broken) {
				t.Error(err)
			}
			return connection.read.Sub(start)
		}
		if got := left(); got != readTime {
			t.Errorf("the first byte may take %s, want %s", got, readTime)
		}
		time.Sleep(time.Hour) // the reader is busy
		if got := left(); got != readTime {
			t.Errorf("after a pause of the reader a byte may take %s, want %s", got, readTime)
		}
		connection.pause = 20 * time.Second
		left()
		if got := left(); got != readTime-20*time.Second {
			t.Errorf("after a slow byte the next may take %s, want 10s", got)
		}
		connection.pause = 0
		body.read, body.waited = 1<<30, 0
		if got := left(); got != readTime {
			t.Errorf("after a fast GB a byte may take %s, want %s", got, readTime)
		}
		connection.broken = os.ErrDeadlineExceeded
		_, err := body.Read(make([]byte, 1))
		if status := statusOf(fmt.Errorf("receive: %w", err)); status != http.StatusRequestTimeout {
			t.Errorf("a body that comes too slowly is answered with %d: %v", status, err)
		}
	})
}

// FuzzRun reads requests of a session's users to run a program. It would catch a line of arguments that
// crashes the ApplicationMaster, and words that grow.
func FuzzRun(f *testing.F) {
	f.Add(`{"programArgs":"--a 'b c' \"d","parallelism":3}`, "parallelism=2&programArg=a,b")
	f.Add(`{"flinkConfiguration":{"":""},"jobId":"x"}`, "program-args=%27")
	f.Add(`[]`, "savepointPath=x")
	f.Fuzz(func(t *testing.T, body, query string) {
		session := &fakeSession{}
		r := httptest.NewRequest(http.MethodPost, "/programs/"+wordcountID+"/run", strings.NewReader(body))
		r.URL.RawQuery = query
		server := newServer(&fakeGateway{})
		server.config.Session = session
		w := httptest.NewRecorder()
		server.Unguarded().ServeHTTP(w, r)
		checkAnswer(t, "run", w)
		if (w.Code == http.StatusOK) != (len(session.ran) == 1) {
			t.Errorf("status %d after %d runs", w.Code, len(session.ran))
		}
		for _, run := range session.ran {
			length := 0
			for _, word := range run.Arguments {
				length += len(word)
			}
			if length > len(body)+len(query) || run.SHA256 != wordcountID {
				t.Errorf("%d bytes of arguments from %q and %q, of program %s", length, body, query, run.SHA256)
			}
		}
	})
}
