package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	runningJob = ids.JobID("11111111111111111111111111111111")
	failedJob  = ids.JobID("22222222222222222222222222222222")
)

// gateway answers for an ApplicationMaster. Methods that no test calls are nil.
type gateway struct {
	rest.Gateway
	started time.Time
}

func (g gateway) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	if job != runningJob {
		return msg.JobDetails{}, msg.ErrJobNotFound
	}
	d := msg.JobDetails{
		ID: job, Name: "wordcount", Status: msg.JobRunning, Start: g.started, Note: "it runs in waves",
		Timestamps: map[msg.JobStatus]time.Time{msg.JobRunning: g.started, msg.JobRestarting: g.started.Add(time.Second)},
		Vertices: []msg.VertexDetails{
			{ID: "a", Parallelism: 4, Tasks: map[msg.ExecutionState]int{msg.ExecutionFinished: 3, msg.ExecutionRunning: 1}, Traffic: msg.Traffic{ReadBytes: 100}},
			{ID: "b", Parallelism: 1, Tasks: map[msg.ExecutionState]int{msg.ExecutionFinished: 1}, Traffic: msg.Traffic{ReadBytes: 20}},
			{ID: "c", Parallelism: 2, Traffic: msg.Traffic{ReadBytes: 7777}, Inputs: []msg.VertexInput{{Vertex: "a"}, {Vertex: "b"}}},
		},
	}
	d.Root = &msg.ExceptionEntry{Time: g.started, Failure: msg.Failure{Message: "panic: boom\nnot restarted", Stack: "main.f\n\t/main.go:1"}}
	return d, nil
}

func (g gateway) JobResult(_ context.Context, job ids.JobID, wait time.Duration) (msg.JobEnded, error) {
	if job != failedJob || wait <= 0 {
		return msg.JobEnded{}, msg.ErrJobNotFound
	}
	return msg.JobEnded{
		Job: job, Status: msg.JobFailed, Duration: 5 * time.Second, Counters: map[string]int64{"words": 7},
		Failure: msg.NewFailure("panic: <boom>", "main.f"),
	}, nil
}

func (g gateway) CollectPage(_ context.Context, _ ids.JobID, name string, cursor int64, _ time.Duration) (msg.CollectPage, error) {
	if name != "top ten/ä" {
		return msg.CollectPage{}, msg.ErrResultNotFound
	}
	return msg.CollectPage{Epoch: 3, Next: cursor + 1, Records: []byte{1, 0xff}, End: cursor == 41}, nil
}

func (g gateway) Blocklist(context.Context) ([]msg.BlockedNode, error) {
	return []msg.BlockedNode{{Node: "n1", Cause: "disk full", Until: g.started}}, nil
}

func (g gateway) TaskExecutors(context.Context) ([]msg.TaskExecutorDetails, error) {
	return []msg.TaskExecutorDetails{{SlotsTotal: 2, SlotsFree: 2}, {SlotsTotal: 1}}, nil
}

// supplyOf is the supply of a gateway that reports slots since this time.
func supplyOf(started time.Time) msg.SlotSupply {
	return msg.SlotSupply{
		Total: 3, Free: 2, PerWorker: 2, WorkerMemoryMB: 1024, Starting: 1, Requested: 4, RequestedSince: started,
		Refused: "too large", Spares: 1, Floor: 2, FloorBy: "slotmanager.number-of-slots.min: 8", Jobs: []msg.SlotDemand{{Job: runningJob, Needed: 5, Held: 1, Since: started}, {Job: failedJob, Needed: 1, Held: 1}},
	}
}

func (g gateway) SlotSupply(context.Context) (msg.SlotSupply, error) { return supplyOf(g.started), nil }

func (g gateway) Jobs(context.Context) ([]msg.JobOverview, error) { return nil, nil }

// master serves a gateway by the real REST server, and returns the access of its owner.
func master(t *testing.T, g rest.Gateway) launch.Access {
	t.Helper()
	return resttest.Serve(t, g, rest.Config{})
}

func connect(t *testing.T, access launch.Access) *ClusterClient {
	t.Helper()
	c, err := NewClusterClient(access)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestClientReadsWhatTheServerWrites would catch a name in the JSON that the two
// sides spell differently.
func TestClientReadsWhatTheServerWrites(t *testing.T) {
	started := time.UnixMilli(1_700_000_000_000)
	c := connect(t, master(t, gateway{started: started}))
	state, err := c.Job(t.Context(), runningJob)
	if err != nil {
		t.Fatal(err)
	}
	want := JobState{
		Status: msg.JobRunning, Note: "it runs in waves",
		Progress: progress.Job{Finished: 4, Tasks: 7, Read: 120}, // what is read from other tasks does not count
		Entered:  map[msg.JobStatus]time.Time{msg.JobRunning: started, msg.JobRestarting: started.Add(time.Second)},
	}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
	if supply, err := c.SlotSupply(t.Context()); err != nil || !cmp.Equal(supply, supplyOf(started)) {
		t.Errorf("slots %+v, %v, want %+v", supply, err, supplyOf(started))
	}
	if cause, err := c.RootCause(t.Context(), runningJob); err != nil || cause != "panic: boom" {
		t.Errorf("root cause is %q, %v", cause, err)
	}
	blocked, err := c.Blocklist(t.Context())
	if diff := cmp.Diff([]msg.BlockedNode{{Node: "n1", Cause: "disk full", Until: started}}, blocked); err != nil || diff != "" {
		t.Errorf("blocklist: %v (-want +got):\n%s", err, diff)
	}
	ended, err := c.Result(t.Context(), failedJob)
	if err != nil {
		t.Fatal(err)
	}
	wantEnded := msg.JobEnded{
		Job: failedJob, Status: msg.JobFailed, Duration: 5 * time.Second, Counters: map[string]int64{"words": 7},
		Failure: msg.NewFailure("panic: <boom>", "main.f"),
	}
	if diff := cmp.Diff(wantEnded, ended); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	page, err := c.CollectPage(t.Context(), failedJob, "top ten/ä", 41)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(msg.CollectPage{Epoch: 3, Next: 42, Records: []byte{1, 0xff}, End: true}, page); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

// counted is a gateway whose job has these vertices.
type counted struct {
	gateway
	vertices []msg.VertexDetails
}

func (c *counted) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	return msg.JobDetails{ID: job, Status: msg.JobRunning, Vertices: c.vertices}, nil
}

// TestAJobWaitsWhenNoTaskIsWorkedOn would catch a `run` that prints nothing about a job whose first tasks have
// ended, and whose others wait for slots after a worker was lost; and a message about slots while tasks run.
func TestAJobWaitsWhenNoTaskIsWorkedOn(t *testing.T) {
	type tasks map[msg.ExecutionState]int
	var g counted
	c := connect(t, master(t, &g))
	for name, test := range map[string]struct {
		vertices []tasks
		waits    bool
		left     string
	}{
		"nothing was deployed yet":              {[]tasks{{msg.ExecutionCreated: 2}, {msg.ExecutionScheduled: 1}}, true, "all that is left waits for “v”"},
		"some parts have ended, others wait":    {[]tasks{{msg.ExecutionFinished: 5, msg.ExecutionScheduled: 3}}, true, ""},
		"the one has ended, the next one waits": {[]tasks{{msg.ExecutionFinished: 2}, {msg.ExecutionCreated: 1}}, true, ""},
		"what was lost is to run again":         {[]tasks{{msg.ExecutionFinished: 1, msg.ExecutionFailed: 1, msg.ExecutionCanceled: 1, msg.ExecutionCreated: 1}}, true, "all that is left waits for “v”"},
		"some run, others wait":                 {[]tasks{{msg.ExecutionRunning: 1, msg.ExecutionScheduled: 7}}, false, ""},
		"those of another vertex run":           {[]tasks{{msg.ExecutionScheduled: 7}, {msg.ExecutionRunning: 1}}, false, ""},
		"some are being deployed":               {[]tasks{{msg.ExecutionDeploying: 1, msg.ExecutionScheduled: 7}}, false, ""},
		"some are being cancelled":              {[]tasks{{msg.ExecutionCanceling: 1, msg.ExecutionCreated: 7}}, false, ""},
		"all have ended":                        {[]tasks{{msg.ExecutionFinished: 2}, {msg.ExecutionFinished: 1}}, false, ""},
		"there is none":                         {nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g.vertices = nil
			for _, counts := range test.vertices {
				v := msg.VertexDetails{Name: "v", Tasks: counts, Blocked: counts[msg.ExecutionCreated]}
				for _, n := range counts {
					v.Parallelism += n
				}
				g.vertices = append(g.vertices, v)
			}
			state, err := c.Job(t.Context(), runningJob)
			if err != nil || state.Waits != test.waits || state.Left != test.left {
				t.Errorf("job waits: %t, %q, %v; want %t, %q", state.Waits, state.Left, err, test.waits, test.left)
			}
		})
	}
}

// TestRefusalsAreNotTakenForAbsence would catch a client that gives up a busy master, or waits for a master
// that will always refuse.
func TestRefusalsAreNotTakenForAbsence(t *testing.T) {
	access := master(t, gateway{})
	ask := func(access launch.Access) error {
		_, err := connect(t, access).Job(t.Context(), failedJob)
		return err
	}
	err := ask(access)
	if status, ok := errors.AsType[*StatusError](err); !ok || status.Status != http.StatusNotFound || Unreachable(err) || !strings.Contains(err.Error(), "about job "+string(failedJob)) {
		t.Errorf("a job that is not there: %v", err)
	}
	stranger := access
	stranger.Token = "guessed"
	if status, ok := errors.AsType[*StatusError](ask(stranger)); !ok || status.Status != http.StatusUnauthorized {
		t.Errorf("without the token: %v", ask(stranger))
	}
	impostor := access
	impostor.Authority = master(t, gateway{}).Authority
	if err := ask(impostor); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that the certificate is not of: %v", err)
	}
	nowhere := access
	nowhere.Address = "127.0.0.1:1"
	if err := ask(nowhere); !Unreachable(err) {
		t.Errorf("nobody listens: %v", err)
	}
	if !Unreachable(&StatusError{Status: http.StatusServiceUnavailable}) {
		t.Error("a master that is busy is not tried again")
	}
	if _, err := NewClusterClient(launch.Access{Address: "h:1", Authority: []byte("no PEM")}); err == nil || !strings.Contains(err.Error(), "h:1") {
		t.Errorf("a damaged access file: %v", err)
	}
}

// TestAnswersOfStrangersAreBounded would catch a client that crashes, or fills its memory, on an answer that is
// not from Bobbin.
func TestAnswersOfStrangersAreBounded(t *testing.T) {
	for name, answer := range map[string]string{"no JSON": "<html>", "another shape": `{"state": 7}`, "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			access := master(t, gateway{})
			c := connect(t, access)
			c.http.Transport = roundTrip(func(r *http.Request) *http.Response {
				return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}
			})
			if _, err := c.Job(t.Context(), runningJob); !errors.Is(err, errAnswer) || !strings.Contains(err.Error(), "about job "+string(runningJob)) {
				t.Errorf("Job: %v", err)
			}
			if _, err := c.CollectPage(t.Context(), runningJob, "x", 0); !errors.Is(err, restapi.ErrNoPage) {
				t.Errorf("CollectPage: %v", err)
			}
		})
	}
}

// TestAnAnswerOfAnotherKindIsTold would catch an error with names of Go types, an answer to another request
// that counts as empty, and a redirection that the client follows with a user's program.
func TestAnAnswerOfAnotherKindIsTold(t *testing.T) {
	about := "ask ApplicationMaster about job " + string(runningJob)
	for _, test := range []struct {
		status int
		body   string
		want   string
	}{
		{200, "0", about + ": unexpected answer: it is a JSON number"},
		{200, `{"state":{}}`, about + `: unexpected answer: its field "state" is a JSON object`},
		{200, "", about + ": unexpected answer: it is empty"},
		{202, "0", about + ": Accepted (202)"},
		{307, "", about + ": Temporary Redirect (307)"},
	} {
		asked := 0
		c := connect(t, master(t, gateway{}))
		c.http.Transport = roundTrip(func(r *http.Request) *http.Response {
			asked++
			header := http.Header{"Location": {"https://elsewhere:1/"}}
			return &http.Response{StatusCode: test.status, Request: r, Header: header, Body: io.NopCloser(strings.NewReader(test.body))}
		})
		if _, err := c.Job(t.Context(), runningJob); err == nil || err.Error() != test.want || asked != 1 {
			t.Errorf("%d %q: %v after %d requests, want %s", test.status, test.body, err, asked, test.want)
		}
	}
}

// TestMasterThatDiesAmidAnAnswerIsAway would catch a client that gives an application up because its first
// ApplicationMaster died during an answer, although another one comes.
func TestMasterThatDiesAmidAnAnswerIsAway(t *testing.T) {
	for name, cut := range map[string]error{
		"its process ended": io.ErrUnexpectedEOF,
		"its node reset":    &net.OpError{Op: "read", Err: syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, master(t, gateway{}))
			c.http.Transport = roundTrip(func(r *http.Request) *http.Response {
				header := http.Header{"Bobbin-Epoch": {"0"}, "Bobbin-Next": {"1"}, "Bobbin-End": {"false"}}
				body := io.MultiReader(strings.NewReader(`{"state":`), iotest.ErrReader(cut))
				return &http.Response{StatusCode: http.StatusOK, Request: r, Header: header, Body: io.NopCloser(body)}
			})
			if _, err := c.Job(t.Context(), runningJob); !Unreachable(err) {
				t.Errorf("Job: %v", err)
			}
			if _, err := c.CollectPage(t.Context(), runningJob, "x", 0); !Unreachable(err) {
				t.Errorf("CollectPage: %v", err)
			}
		})
	}
}

// TestOddAnswersStayWithinTheirKind would catch a negative duration of a job, and a root cause that overwrites
// its own line on a terminal.
func TestOddAnswersStayWithinTheirKind(t *testing.T) {
	c := connect(t, master(t, gateway{}))
	c.http.Transport = roundTrip(func(r *http.Request) *http.Response {
		answer := `{"root-exception":"panic: boom\r\nmain.go:1","duration":9223372036854775807}`
		return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}
	})
	if cause, err := c.RootCause(t.Context(), runningJob); err != nil || cause != "panic: boom" {
		t.Errorf("root cause is %q, %v", cause, err)
	}
	if ended, err := c.Result(t.Context(), runningJob); err != nil || ended.Duration < 200*365*24*time.Hour {
		t.Errorf("the job took %v, %v", ended.Duration, err)
	}
}

// TestABodyDoesNotChangeItsStatus would catch an error with the text of a foreign server, without the request
// and its status.
func TestABodyDoesNotChangeItsStatus(t *testing.T) {
	c := connect(t, master(t, gateway{}))
	c.http.Transport = roundTrip(func(r *http.Request) *http.Response {
		answer := `{"status":200,"path":"/elsewhere","errors":["not now"]}`
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}
	})
	_, err := c.Job(t.Context(), runningJob)
	want := &StatusError{Path: "/jobs/" + string(runningJob), Status: http.StatusServiceUnavailable, Errors: []string{"not now"}}
	got, _ := errors.AsType[*StatusError](err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// TestTheTokenGoesToTheAddressAlone would catch an access file that sends the owner's token, or a request, to
// another server.
func TestTheTokenGoesToTheAddressAlone(t *testing.T) {
	access := master(t, gateway{})
	for _, address := range []string{"", "h", "h:", ":1", "h:1/x", "h:1?x", "h:1#x", "me@h:1", "h:1 ", "h:99999"} {
		access.Address = address
		if _, err := NewClusterClient(access); err == nil || !strings.Contains(err.Error(), "host:port") {
			t.Errorf("%q: error %v", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:8081", "[::1]:1", "node-1.example:1"} {
		access.Address = address
		if _, err := NewClusterClient(access); err != nil {
			t.Errorf("%q: error %v", address, err)
		}
	}
}

// TestNoMasterSendsItsClientElsewhere would catch a client that asks any server that another user's
// ApplicationMaster names, from behind the user's firewall, and prints the answer.
func TestNoMasterSendsItsClientElsewhere(t *testing.T) {
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		c := connect(t, master(t, gateway{}))
		asked := 0
		c.http.Transport = roundTrip(func(r *http.Request) *http.Response {
			asked++
			header := http.Header{"Location": {"http://169.254.169.254/latest/meta-data"}}
			return &http.Response{StatusCode: code, Request: r, Header: header, Body: http.NoBody}
		})
		_, err := c.Job(t.Context(), runningJob)
		if status, is := errors.AsType[*StatusError](err); !is || status.Status != code || asked != 1 {
			t.Errorf("status %d: asked %d times, error %v", code, asked, err)
		}
		if _, err := c.submit(t.Context(), restapi.JobSubmission{Job: runningJob}); err == nil || asked != 2 {
			t.Errorf("status %d: submitted after %d requests, error %v", code, asked, err)
		}
	}
}

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// TestErrorsNameWhatWasAskedAbout would catch an error with a REST path, or without the object of the request.
func TestErrorsNameWhatWasAskedAbout(t *testing.T) {
	c := connect(t, master(t, gateway{}))
	away, err := NewClusterClient(launch.Access{Address: "127.0.0.1:1", Authority: master(t, gateway{}).Authority})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(away.Close)
	for want, ask := range map[string]func(c *ClusterClient) error{
		"job " + string(failedJob): func(c *ClusterClient) error { return c.Cancel(t.Context(), failedJob) },
		"its jobs":                 func(c *ClusterClient) error { _, err := c.Jobs(t.Context()); return err },
		"program 17":               func(c *ClusterClient) error { return c.EndDriver(t.Context(), "17") },
		"itself":                   func(c *ClusterClient) error { return c.ShutDown(t.Context()) },
	} {
		for _, asked := range []*ClusterClient{c, away} {
			err := ask(asked)
			if asked == away && (!Gone(err) || !strings.Contains(err.Error(), "ApplicationMaster at 127.0.0.1:1 about "+want+": ")) {
				t.Errorf("of one that is away: %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), " about "+want+": ") || strings.Contains(err.Error(), "://") || strings.Contains(err.Error(), "/jobs")) {
				t.Errorf("about %s: %v", want, err)
			}
		}
	}
}

// TestARequestIsGivenUp would catch a client that waits longer for a frozen ApplicationMaster than its caller wants to.
func TestARequestIsGivenUp(t *testing.T) {
	for patience, want := range map[time.Duration]time.Duration{0: requestTimeout, 10 * time.Second: 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			end := make(chan struct{})
			defer close(end)
			c := newClusterClient("https://am:1", &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
				<-end
				return nil, io.EOF
			}})
			c.Patience = patience
			began := time.Now()
			if _, err := c.Overview(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != want {
				t.Errorf("after %v, not %v: %v", time.Since(began), want, err)
			}
		})
	}
}
