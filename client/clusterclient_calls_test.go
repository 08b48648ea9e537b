package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// sessionGateway answers for a session, and records the requests.
type sessionGateway struct {
	gateway
	rest.Session

	mu        sync.Mutex        // guards all below
	programs  map[string][]byte // by hash
	submitted []restapi.JobSubmission
	refusal   error // of what is submitted; nil: none
	did       []string
}

func (g *sessionGateway) note(what string, job ids.JobID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.did = append(g.did, what+" "+string(job))
	if job == failedJob {
		return msg.ErrJobEnded
	}
	return nil
}

func (g *sessionGateway) CancelJob(_ context.Context, job ids.JobID) error {
	return g.note("cancel", job)
}

func (g *sessionGateway) ClientSeen(_ context.Context, job ids.JobID) error {
	return g.note("beat", job)
}

func (g *sessionGateway) ShutDown(context.Context) error { return g.note("shut down", "") }

func (g *sessionGateway) Jobs(context.Context) ([]msg.JobOverview, error) {
	return []msg.JobOverview{
		{ID: runningJob, Name: "wordcount", Status: msg.JobRunning, Start: g.started, Tasks: map[msg.ExecutionState]int{msg.ExecutionRunning: 2, msg.ExecutionFinished: 1}, TotalTasks: 4, Note: "it runs in waves"},
		{ID: failedJob, Name: "grep", Status: msg.JobFailed, Start: g.started, End: g.started.Add(time.Second)},
	}, nil
}

func (g *sessionGateway) SubmitJob(_ context.Context, job restapi.JobSubmission) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refusal != nil {
		return g.refusal
	}
	if _, has := g.programs[job.Program.SHA256]; !has {
		return msg.ErrProgramNotFound
	}
	g.submitted = append(g.submitted, job)
	return nil
}

func (g *sessionGateway) Program(_ context.Context, sha256 string) (msg.ProgramDetails, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, has := g.programs[sha256]; !has {
		return msg.ProgramDetails{}, msg.ErrProgramNotFound
	}
	return msg.ProgramDetails{}, nil
}

func (g *sessionGateway) AddProgram(_ context.Context, name, hash string, content io.Reader) (msg.ProgramDetails, error) {
	if name == "unwanted" {
		return msg.ProgramDetails{}, msg.ErrBadProgram
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return msg.ProgramDetails{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.programs[hash] = text
	return msg.ProgramDetails{}, nil
}

// sessionMaster serves a session.
func sessionMaster(t *testing.T) (*sessionGateway, *ClusterClient) {
	t.Helper()
	g := &sessionGateway{gateway: gateway{started: time.UnixMilli(1_700_000_000_000)}, programs: make(map[string][]byte)}
	return g, connect(t, resttest.Serve(t, g, rest.Config{Session: g}))
}

// programFile is a program of this size.
func programFile(t *testing.T, name string, size int) (Upload, []byte) {
	t.Helper()
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i * i >> 8)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(content)
	return Upload{Path: path, Name: name, Size: int64(size), SHA256: hex.EncodeToString(hash[:])}, content
}

// TestAProgramIsUploadedOnce would catch a program that arrives changed, one that is uploaded for each job, and
// progress that does not reach its end.
func TestAProgramIsUploadedOnce(t *testing.T) {
	g, c := sessionMaster(t)
	p, content := programFile(t, "word count", 3<<20)
	if has, err := c.Has(t.Context(), Programs, p.SHA256); has || err != nil {
		t.Fatalf("before: %t, %v", has, err)
	}
	graph := jobgraph.JobGraph{Name: "wordcount", Args: []byte("{}")}
	job := restapi.JobSubmission{Job: runningJob, Graph: graph, Program: restapi.ProgramID{SHA256: p.SHA256}, Attached: true, ClientHeartbeatTimeout: 180_000}
	sent, err := c.submit(t.Context(), job)
	if status, ok := errors.AsType[*StatusError](err); !sent || !ok || status.Status != http.StatusNotFound {
		t.Errorf("a job without its program: %v, sent %t", err, sent)
	}
	last := int64(0)
	err = c.Upload(t.Context(), Programs, p, func(done int64) {
		if done < last {
			t.Errorf("%d bytes after %d", done, last)
		}
		last = done
	})
	if err != nil || last != p.Size || string(g.programs[p.SHA256]) != string(content) {
		t.Fatalf("uploaded %d of %d bytes, %v", last, p.Size, err)
	}
	if has, err := c.Has(t.Context(), Programs, p.SHA256); !has || err != nil {
		t.Errorf("after: %t, %v", has, err)
	}
	if _, err := c.submit(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]restapi.JobSubmission{job}, g.submitted); diff != "" {
		t.Errorf("submitted (-want +got):\n%s", diff)
	}
}

// TestWhatIsRefusedForNowIsNoReasonToAskAnother would catch a client that asks YARN and sends the whole job
// again because the session has no room for it, and one that asks an ending master again.
func TestWhatIsRefusedForNowIsNoReasonToAskAnother(t *testing.T) {
	for refusal, gone := range map[error]bool{
		msg.ErrNoMemory: false, msg.ErrTooManyJobs: false, msg.ErrNotReady: false, msg.ErrJobExists: false,
		msg.ErrEnding: true, actor.ErrStopped: true,
	} {
		g, c := sessionMaster(t)
		g.refusal = fmt.Errorf("%w: why", refusal)
		_, err := c.submit(t.Context(), restapi.JobSubmission{Job: runningJob, Program: restapi.ProgramID{SHA256: strings.Repeat("0", 64)}})
		if Gone(err) != gone || !strings.Contains(err.Error(), g.refusal.Error()) {
			t.Errorf("%v: gone %t, want %t: %v", refusal, Gone(err), gone, err)
		}
	}
}

// TestAProgramThatIsRefusedIsNotSent would catch a client that sends a gigabyte before it reads the refusal,
// and one that does not print the reason.
func TestAProgramThatIsRefusedIsNotSent(t *testing.T) {
	_, c := sessionMaster(t)
	p, _ := programFile(t, "unwanted", 64<<20)
	last := int64(0)
	err := c.Upload(t.Context(), Programs, p, func(done int64) { last = done })
	if status, ok := errors.AsType[*StatusError](err); !ok || status.Status != http.StatusBadRequest || last == p.Size {
		t.Errorf("%d bytes are sent, error %v", last, err)
	}
	perJob := connect(t, master(t, gateway{}))
	if err := perJob.Upload(t.Context(), Programs, p, func(int64) {}); err == nil || !strings.Contains(err.Error(), "bobbin session start") {
		t.Errorf("a cluster that is no session: %v", err)
	}
}

// TestTheUploadEndsWithItsContext would catch a command that Ctrl-C does not end.
func TestTheUploadEndsWithItsContext(t *testing.T) {
	_, c := sessionMaster(t)
	p, _ := programFile(t, "large", 32<<20)
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Upload(ctx, Programs, p, func(int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestWhatIsAskedOfJobsReachesThem would catch a request to another path, by another method, or one that counts
// as done when it is refused.
func TestWhatIsAskedOfJobsReachesThem(t *testing.T) {
	g, c := sessionMaster(t)
	ctx := t.Context()
	err := errors.Join(c.Cancel(ctx, runningJob), c.Heartbeat(ctx, runningJob, time.Now().Add(time.Minute)), c.ShutDown(ctx))
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"cancel " + string(runningJob), "beat " + string(runningJob), "shut down "}, g.did); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for name, want := range map[string]struct {
		err    error
		status int
	}{
		"cancel an ended job": {c.Cancel(ctx, failedJob), http.StatusConflict},
		"stop":                {c.Stop(ctx, runningJob), http.StatusNotImplemented},
	} {
		if status, ok := errors.AsType[*StatusError](want.err); !ok || status.Status != want.status {
			t.Errorf("%s: %v, want %d", name, want.err, want.status)
		}
	}
	jobs, err := c.Jobs(ctx)
	want := []JobOverview{
		{ID: runningJob, Name: "wordcount", Status: msg.JobRunning, Start: g.started, Tasks: 4, Running: 2, Finished: 1, Note: "it runs in waves"},
		{ID: failedJob, Name: "grep", Status: msg.JobFailed, Start: g.started, End: g.started.Add(time.Second), Lasts: time.Second},
	}
	if len(jobs) > 0 {
		jobs[0].Lasts = 0 // until now: it still runs
	}
	if diff := cmp.Diff(want, jobs); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	overview, err := c.Overview(ctx)
	if err != nil || overview.Workers != 2 || overview.Slots != 3 || overview.FreeSlots != 2 || overview.Running != 1 || overview.Failed != 1 {
		t.Errorf("overview %+v, %v", overview, err)
	}
	plan, err := c.Plan(ctx, runningJob)
	if err != nil || plan.Name != "wordcount" || len(plan.Nodes) != 3 || len(plan.Nodes[2].Inputs) != 2 {
		t.Errorf("plan %+v, %v", plan, err)
	}
}

// TestAnOrderMayTakeEffectAfterATimeOut would catch a user who submits jobs again that the ApplicationMaster cancels later,
// because HDFS is away for longer than the client waits; and one who looks for an effect of what was never sent.
func TestAnOrderMayTakeEffectAfterATimeOut(t *testing.T) {
	for shows, order := range map[string]func(*ClusterClient, context.Context) error{
		"bobbin status": (*ClusterClient).ShutDown,
		"bobbin list":   func(c *ClusterClient, ctx context.Context) error { return c.Cancel(ctx, runningJob) },
	} {
		for _, connects := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				defer there.Close()
				end := make(chan struct{})
				defer close(end)
				dial := func(context.Context, string, string) (net.Conn, error) {
					if !connects {
						<-end
						return nil, io.EOF
					}
					go io.Copy(io.Discard, there) // reads the request until the client closes the connection
					return here, nil
				}
				c := newClusterClient("https://am:1", &http.Transport{DialTLSContext: dial})
				began := time.Now()
				err := order(c, t.Context())
				if !errors.Is(err, context.DeadlineExceeded) || !Gone(err) || time.Since(began) != requestTimeout {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				if hint := ": it may still take effect; look with " + shows; strings.HasSuffix(err.Error(), hint) != connects {
					t.Errorf("connects %t: %v", connects, err)
				}
			})
		}
	}
}
