package userdriver

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/userdrivertest"
)

// TestMain is also the program that the tests run as a driver.
func TestMain(m *testing.M) {
	if value, set := os.LookupEnv(control.Variable); set {
		os.Exit(userdrivertest.Main(value, os.Args[1:], plan))
	}
	// The race detector makes each child wait for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// plan makes a job of the given name. A job named "gone" has no input.
func plan(_ msg.DriverStart, name string, prepare bool) (jobgraph.JobGraph, error) {
	if name == "gone" && prepare {
		return jobgraph.JobGraph{}, errors.New("no such input")
	}
	g := jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: name, Name: name, Args: []byte("{}"),
		Vertices: []jobgraph.Vertex{{Name: "source", Operators: []string{"source"}, Parallelism: 1, Source: true}},
	}
	g.Digest = g.ComputeDigest()
	return g, nil
}

// fakeCluster runs jobs at once: a job collects two bytes, and finishes. A job named "much" collects until
// the program stops reading.
type fakeCluster struct {
	refused error // nil: all jobs are accepted

	mu   sync.Mutex // guards jobs
	jobs []string   // names of the accepted jobs
}

func (c *fakeCluster) Submit(_ context.Context, _ Program, _ ids.JobID, x *msg.ExecuteJob) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.jobs = append(c.jobs, x.Graph.Name)
	}
	return c.refused
}

// Initialized fails for a job named "broken".
func (c *fakeCluster) Initialized(_ context.Context, job ids.JobID) (msg.JobEnded, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs[len(c.jobs)-1] == "broken" {
		return msg.JobEnded{Job: job, Status: msg.JobFailed, Failure: msg.NewFailure("no such option", "")}, nil
	}
	return msg.JobEnded{Job: job, Status: msg.JobRunning}, nil
}

func (c *fakeCluster) Follow(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph, collected func(name string, epoch int, records []byte) error) (msg.JobEnded, error) {
	records := make([]byte, 2)
	if graph.Name == "much" {
		records = make([]byte, 64<<10)
	}
	for {
		if err := collected("result", 0, records); err != nil {
			return msg.JobEnded{}, err
		}
		switch {
		case ctx.Err() != nil:
			return msg.JobEnded{}, context.Cause(ctx)
		case graph.Name != "much":
			return msg.JobEnded{Job: job, Status: msg.JobFinished}, nil
		}
	}
}

// testDrivers are Drivers whose programs have their logs in a folder.
type testDrivers struct {
	*Drivers
	logDir string
}

func newDrivers(t *testing.T, c Cluster, limits Limits) testDrivers {
	t.Helper()
	logs := t.TempDir()
	return testDrivers{New(Config{
		Application: "application_1_0001", Environment: os.Environ(), Machine: Local(logs), Limits: limits,
		Reach: func() *msg.Reach { return new(msg.Reach) },
	}, c, quiet()), logs}
}

// start starts the tests' program, attached.
func start(t *testing.T, c Cluster, limits Limits, words ...string) (testDrivers, *Process) {
	t.Helper()
	d := newDrivers(t, c, limits)
	p, err := d.Start(t.Context(), Program{File: os.Args[0], Arguments: words, Log: Log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, p
}

// logged returns the content of a program's log.
func logged(t *testing.T, d testDrivers, suffix string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.logDir, Log+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func quiet() *logrus.Logger {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	return logger
}
