package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// mortal is an application whose ApplicationMasters do what a test says.
type mortal struct {
	cluster        *Cluster
	hdfs           *hdfsfake.Fake
	id             records.ApplicationID
	dir            string        // of package ha
	register, exit chan struct{} // the present attempt does so
	authority      []byte
}

// startMortal submits such an application. Its attempts have not registered yet.
func startMortal(t *testing.T) *mortal {
	t.Helper()
	m := &mortal{register: make(chan struct{}), exit: make(chan struct{})}
	var fake *yarnfake.Fake
	fake = fakeCluster(t, yarnfake.Config{Heartbeat: 5 * time.Millisecond, Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
		select {
		case <-m.register:
		case <-ctx.Done():
			return records.ExitTerminated
		}
		o, err := amrm.FromConf(fake.Conf())
		if err != nil {
			t.Error(err)
			return records.ExitAborted
		}
		o.Attempt, o.Token = c.ID.Attempt, c.Credentials.Tokens[""]
		rm := amrm.New(o)
		defer rm.Close()
		if _, err := rm.Register(ctx, amrm.RegisterRequest{Host: "127.0.0.1", RPCPort: 1}); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		select {
		case <-m.exit:
		case <-ctx.Done():
		}
		return 1
	}})
	cluster, hdfs := onHDFS(t)
	cluster.YARN = seenBy(t, "alice", fake, fake.Conf()).YARN
	created, err := cluster.YARN.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.cluster, m.hdfs, m.id = cluster, hdfs, created.ID
	m.dir = "hdfs://" + hdfs.Authority() + "/user/alice/.bobbin/" + m.id.String()
	if err := cluster.Files.MkdirAllMode(t.Context(), m.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ha.Stage(t.Context(), cluster.Files, m.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.YARN.Submit(t.Context(), records.SubmissionContext{ID: m.id, Resource: records.Resource{MemoryMB: 128, VCores: 1}}); err != nil {
		t.Fatal(err)
	}
	authority, err := pki.NewAuthority(m.id.String(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	front, err := authority.IssueREST([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m.authority = front.Authority()
	return m
}

// until waits for YARN's report of a state and an attempt.
func (m *mortal) until(t *testing.T, state records.ApplicationState, attempt int32) {
	t.Helper()
	app := Application{ID: m.id, c: m.cluster}
	_, err := app.Await(t.Context(), func(records.ApplicationReport) {}, func(r records.ApplicationReport) bool {
		return r.State == state && r.Attempt.Attempt == attempt
	})
	if err != nil {
		t.Fatal(err)
	}
}

// published makes an attempt lead and publish its address.
func (m *mortal) published(t *testing.T, attempt int32) {
	t.Helper()
	lead(t, m.cluster.Files, m.dir, int(attempt), launch.Access{Address: "127.0.0.1:1", Attempt: attempt, Authority: m.authority, Application: m.id.String()})
}

// TestAMasterThatIsReplacedIsToldFromOthers would catch a script that gives up an application that only changes its
// ApplicationMaster, one that waits for an application that has not started or has ended, and a command that asks the
// ApplicationMaster that has died.
func TestAMasterThatIsReplacedIsToldFromOthers(t *testing.T) {
	m := startMortal(t)
	reach := func(what string, attempt int32, want error, says string) *ClusterClient {
		t.Helper()
		reached, err := m.cluster.Reach(t.Context(), m.id)
		if err != nil {
			if !errors.Is(err, want) || errors.Is(err, ErrReplacing) != errors.Is(want, ErrReplacing) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want %v with %q", what, err, want, says)
			}
			return nil
		}
		t.Cleanup(reached.Close)
		if want != nil || reached.Attempt != attempt {
			t.Errorf("%s: attempt %d is reached, want attempt %d, %v", what, reached.Attempt, attempt, want)
		}
		return reached
	}
	refused := fmt.Errorf("ask: %w", &url.Error{Op: "Get", URL: "https://127.0.0.1:1", Err: syscall.ECONNREFUSED})
	explain := func(what string, asked *ClusterClient, cause, want error, says string) {
		t.Helper()
		err := m.cluster.Explain(t.Context(), m.id, asked, cause)
		if !errors.Is(err, want) || errors.Is(err, ErrReplacing) != errors.Is(want, ErrReplacing) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: explained as %v, want %v with %q", what, err, want, says)
		}
	}

	m.until(t, records.ApplicationAccepted, 1)
	reach("the first attempt waits", 0, ErrNotRunning, "ACCEPTED")
	m.register <- struct{}{}
	m.until(t, records.ApplicationRunning, 1)
	looked := len(m.hdfs.Calls("getListing"))
	reaching := make(chan *ClusterClient, 1)
	go func() { reaching <- reach("the first attempt begins to lead", 1, nil, "") }()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for len(m.hdfs.Calls("getListing")) == looked { // until the client has found no address
		<-again.C
	}
	m.published(t, 1)
	first := <-reaching
	m.cluster.patience = time.Second // a tenth of it
	explain("it has died, and YARN does not know", first, refused, syscall.ECONNREFUSED, "")
	m.cluster.patience = time.Minute
	slow := fmt.Errorf("ask: %w", &url.Error{Op: "Get", URL: "https://127.0.0.1:1", Err: context.DeadlineExceeded})
	explain("it is slow", first, slow, context.DeadlineExceeded, "")
	denied := &StatusError{Status: http.StatusForbidden}
	explain("it refuses", first, denied, denied, "")
	time.AfterFunc(50*time.Millisecond, func() { m.exit <- struct{}{} }) // later than the first report. Sooner would be right, too
	explain("it has died, and YARN notices", first, refused, ErrReplacing, "attempt 2")
	m.until(t, records.ApplicationAccepted, 2)
	reach("the second attempt waits", 0, ErrReplacing, m.id.String()+" is ACCEPTED, attempt 2")
	explain("the second attempt waits", first, refused, ErrReplacing, "ACCEPTED, attempt 2")
	m.register <- struct{}{}
	m.until(t, records.ApplicationRunning, 2)
	reach("the second attempt does not lead", 0, ErrReplacing, "RUNNING, attempt 2")
	explain("the second attempt has no key", &ClusterClient{Attempt: 2}, &url.Error{Op: "Get", Err: clienttoam.ErrNoKey}, ErrReplacing, "attempt 2")
	m.published(t, 2)
	second := reach("the second attempt leads", 2, nil, "")
	explain("the first attempt was asked", first, slow, ErrReplacing, "attempt 2")
	ended := lead(t, m.cluster.Files, m.dir, 2, launch.Access{})
	if err := ended.End(t.Context(), ha.Outcome{}); err != nil {
		t.Fatal(err)
	}
	reach("it is ending", 0, ErrEnding, ErrNotRunning.Error())
	if err := m.cluster.YARN.Kill(t.Context(), m.id, ""); err != nil {
		t.Fatal(err)
	}
	explain("it was killed", second, refused, ErrNotRunning, "KILLED")
	reach("it was killed", 0, ErrNotRunning, "KILLED")
}

// TestTheFirstMasterIsNotAwaitedForEver would catch a command that hangs on an application whose files are elsewhere.
func TestTheFirstMasterIsNotAwaitedForEver(t *testing.T) {
	m := startMortal(t)
	m.cluster.patience = time.Second // a tenth of it
	m.register <- struct{}{}
	m.until(t, records.ApplicationRunning, 1)
	if _, err := m.cluster.Reach(t.Context(), m.id); !errors.Is(err, ErrNotRunning) || errors.Is(err, ErrReplacing) || !strings.Contains(err.Error(), "no ApplicationMaster has led the application") {
		t.Errorf("got %v", err)
	}
}

// TestACommandWaitsForItsMasterToLead would catch a command that starts a session and returns before the session takes
// jobs, and one that waits for the end of a session that goes on with another ApplicationMaster, which does not know
// that it was to end.
func TestACommandWaitsForItsMasterToLead(t *testing.T) {
	m := startMortal(t)
	app := &Application{ID: m.id, stored: m.dir, c: m.cluster}
	m.register <- struct{}{}
	m.until(t, records.ApplicationRunning, 1)
	led := false
	_, err := app.AwaitServing(t.Context(), func(r records.ApplicationReport) {
		if r.State == records.ApplicationRunning && !led {
			if app.serves(t.Context(), r) {
				t.Error("it serves before it leads")
			}
			m.published(t, 1)
			led = true
		}
	})
	if err != nil || !led {
		t.Errorf("it serves: %v", err)
	}
	m.exit <- struct{}{}
	m.register <- struct{}{}
	report, err := m.cluster.AwaitEndOf(t.Context(), m.id, 1)
	if err != nil || report.State != records.ApplicationRunning || report.Attempt.Attempt != 2 {
		t.Errorf("the first attempt's end: %s, attempt %d, %v", report.State, report.Attempt.Attempt, err)
	}
	if app.serves(t.Context(), report) {
		t.Error("the second attempt serves before it leads")
	}
	if err := m.cluster.YARN.Kill(t.Context(), m.id, ""); err != nil {
		t.Fatal(err)
	}
	if report, err := m.cluster.AwaitEndOf(t.Context(), m.id, 2); err != nil || report.State != records.ApplicationKilled {
		t.Errorf("the end: %s, %v", report.State, err)
	}
	if _, err := app.AwaitServing(t.Context(), func(records.ApplicationReport) {}); !errors.Is(err, ErrApplicationEnded) {
		t.Errorf("after the end: %v", err)
	}
}
