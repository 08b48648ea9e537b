package taskhost_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// taskFunc is a task that is one function.
type taskFunc func(ctx context.Context, s operator.Subtask) error

func (f taskFunc) Run(ctx context.Context, s operator.Subtask) error { return f(ctx, s) }

// program is a program with one job.
type program struct {
	graph jobgraph.JobGraph
	tasks []operator.Task
	err   error
}

func (p program) Compile(string, []byte, int, map[string]string) (taskhost.Compiled, error) {
	return taskhost.Compiled{Graph: p.graph, Tasks: p.tasks}, p.err
}

// chain is a job whose vertices follow each other, all-to-all.
func chain(parallelism []int, tasks ...taskFunc) program {
	g := jobgraph.JobGraph{ProtocolVersion: jobgraph.ProtocolVersion, Job: "test"}
	p := program{}
	for i, task := range tasks {
		g.Vertices = append(g.Vertices, jobgraph.Vertex{Name: "v", Parallelism: parallelism[i], Source: i == 0})
		if i > 0 {
			g.Edges = append(g.Edges, jobgraph.Edge{From: jobgraph.VertexID(i - 1), To: jobgraph.VertexID(i), Pattern: jobgraph.AllToAll})
		}
		p.tasks = append(p.tasks, task)
	}
	g.Digest = g.ComputeDigest()
	p.graph = g
	return p
}

// worker is the TaskExecutor of one host under test.
type worker struct {
	testing.TB
	conn    *control.Conn
	start   msg.StartHost
	data    string // address of the host's data plane
	stdout  *buffer
	limits  *limits      // that the host sets for its process
	buffers *limits      // that it sets for its end of the data plane
	tokens  chan string  // the later tokens of the host's files
	refuse  *atomic.Bool // the data plane cannot be opened
	closed  *bool
	log     *logrus.Logger
	result  chan error // of Run

	changes []msg.TaskStateChange // received, and not returned by change yet
}

type buffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

type limits struct {
	mu   sync.Mutex
	seen []int64
}

func (l *limits) set(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, bytes)
}

// watchedPlane records the memory that it gets for buffers.
type watchedPlane struct {
	taskhost.DataPlane
	sizes *limits
}

func (p watchedPlane) Resize(bytes int) {
	p.sizes.set(int64(bytes))
	p.DataPlane.Resize(bytes)
}

type closer struct{ closed *bool }

func (c closer) Close() error { *c.closed = true; return nil }

// newWorker starts a host that runs p and answers its hello.
func newWorker(t testing.TB, id ids.HostID, p program, change ...func(*msg.StartHost)) *worker {
	t.Helper()
	return newWorkerIn(t.Context(), t, id, p, change...)
}

func newWorkerIn(ctx context.Context, t testing.TB, id ids.HostID, p program, change ...func(*msg.StartHost)) *worker {
	t.Helper()
	w := greeted(ctx, t, p)
	w.start = msg.StartHost{
		Host: id, ListenHost: "127.0.0.1", Memory: memory.Slot{Heap: 90 << 20, Managed: 10 << 20, Network: 4 << 20},
		Job: msg.JobSpec{ID: "j", Job: "test", Digest: p.graph.Digest, Parallelism: 1},
	}
	for _, c := range change {
		c(&w.start)
	}
	w.send(w.start)
	return w
}

// greeted starts a host that waits for its job.
func greeted(ctx context.Context, t testing.TB, p program) *worker {
	t.Helper()
	here, there := net.Pipe()
	log := logrus.New()
	log.SetOutput(io.Discard)
	w := &worker{TB: t, conn: control.New(here, msg.HostToTaskExecutor), stdout: new(buffer), limits: new(limits), buffers: new(limits), closed: new(bool), refuse: new(atomic.Bool), log: log, result: make(chan error, 1), tokens: make(chan string, 8)}
	t.Cleanup(func() { w.conn.Close() })
	go func() { // ends with the host, which the test waits for
		w.result <- taskhost.Run(ctx, control.New(there, msg.TaskExecutorToHost), taskhost.Options{
			Program: p,
			Open: func(m msg.StartHost) (taskhost.Surroundings, error) {
				return taskhost.Surroundings{CloseFiles: closer{w.closed}.Close, UpdateTokens: w.updateTokens, Desk: desk(m), Logger: log}, nil
			},
			Stdout: w.stdout, SetMemoryLimit: w.limits.set,
			DataPlane: func(ctx context.Context, c exchange.Config) (taskhost.DataPlane, error) {
				w.buffers.set(int64(c.Memory))
				if w.refuse.Load() {
					return nil, syscall.EMFILE
				}
				plane, err := taskhost.Network(ctx, c)
				return watchedPlane{plane, w.buffers}, err
			},
		})
	}()
	if hello := receive[msg.HostHello](w); hello.ProtocolVersion != jobgraph.ProtocolVersion {
		t.Fatalf("host greets with %+v", hello)
	}
	return w
}

// updateTokens refuses tokens whose text says so.
func (w *worker) updateTokens(tokens msg.Secret) error {
	w.tokens <- string(tokens)
	if string(tokens) == "malformed" {
		return errMalformed
	}
	return nil
}

var errMalformed = errors.New("malformed tokens")

// ready waits until the host takes tasks.
func (w *worker) ready() *worker {
	w.Helper()
	w.data = receive[msg.HostReady](w).DataAddress
	return w
}

func (w *worker) send(m msg.Message) {
	w.Helper()
	if err := w.conn.Send(m); err != nil {
		w.Fatal(err)
	}
}

// receive gives the next message, which must be an M; progress may come between.
func receive[M msg.Message](w *worker) M {
	w.Helper()
	for {
		m, err := w.conn.Receive()
		if err != nil {
			w.Fatalf("receive %T: %v", *new(M), err)
		}
		if wanted, is := m.(M); is {
			return wanted
		}
		if _, is := m.(msg.TasksProgress); !is {
			w.Fatalf("host says %T %+v, want %T", m, m, *new(M))
		}
	}
}

// change gives the next change of state; the host may report several in one message.
func (w *worker) change() msg.TaskStateChange {
	w.Helper()
	if len(w.changes) == 0 {
		w.changes = receive[msg.TaskStatesChanged](w).Changes
	}
	next := w.changes[0]
	w.changes = w.changes[1:]
	return next
}

// final waits for the next task to end; RUNNING states may come between.
func (w *worker) final() msg.TaskStateChange {
	w.Helper()
	for {
		if m := w.change(); m.State.Final() {
			return m
		}
	}
}

// running waits until this number of tasks was reported RUNNING.
func (w *worker) running(n int) {
	w.Helper()
	for range n {
		if m := w.change(); m.State != msg.ExecutionRunning {
			w.Fatalf("task %s is %s: %v, want RUNNING", m.Execution, m.State, m.Failure)
		}
	}
}

// end waits for Run and checks its error; nil wants none.
func (w *worker) end(want error) {
	w.Helper()
	if err := <-w.result; !errors.Is(err, want) || (want == nil) != (err == nil) {
		w.Errorf("host ends with %v, want %v", err, want)
	}
}

// reset makes the host begin anew under another id.
func (w *worker) reset(id ids.HostID) {
	w.Helper()
	w.send(msg.ResetHost{Host: id})
	w.start.Host, w.changes = id, nil
}

// stop stops a host without tasks.
func (w *worker) stop() {
	w.Helper()
	w.send(msg.StopHost{Cause: "test ends"})
	w.end(nil)
}

func execution(vertex, subtask int) ids.ExecutionAttemptID {
	return ids.ExecutionAttemptID{Epoch: 1, Vertex: vertex, Subtask: subtask}
}

// deploy starts all subtasks of the job, subtask i on host i modulo the number of
// hosts.
func deploy(p program, hosts ...*worker) { deployAttempt(0, p, hosts...) }

// deployAttempt deploys an attempt of each subtask.
func deployAttempt(attempt int, p program, hosts ...*worker) {
	var producers placement.Table
	messages := make([]msg.DeployTasks, len(hosts))
	for v, vertex := range p.graph.Vertices {
		for s := range vertex.Parallelism {
			at := s % len(hosts)
			e := execution(v, s)
			e.Attempt = attempt
			producers.Add(e, placement.Host{ID: hosts[at].start.Host, Address: hosts[at].data})
			messages[at].Tasks = append(messages[at].Tasks, msg.TaskDeployment{Execution: e})
		}
	}
	encoded := producers.Encode()
	for i, m := range slices.Backward(messages) { // so consumers come first
		m.Host, m.Producers = hosts[i].start.Host, encoded
		hosts[i].send(m)
	}
}
