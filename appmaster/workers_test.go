package appmaster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// counting counts lines, and panics at a line that says so.
var (
	counts   = dataflow.NewCollector[int64]("counts")
	counting = dataflow.Job("counting", func(p *dataflow.Plan, input string) error {
		keys := dataflow.Map(dataflow.ReadText(p, input), func(line []byte) string {
			if string(line) == "boom" {
				panic("boom of the user's")
			}
			return string(line)
		})
		counted := dataflow.Count(dataflow.KeyBy(keys, dataflow.Identity[string]))
		dataflow.Collect(dataflow.Map(counted, func(c dataflow.KV[string, int64]) int64 { return c.Value }), counts)
		return nil
	})
)

type inProcess struct{}

func (inProcess) Compile(job string, args []byte, parallelism int, options map[string]string) (taskhost.Compiled, error) {
	c, err := dataflow.Compile(job, args, dataflow.PlanOptions{Parallelism: parallelism, Config: options})
	if err != nil {
		return taskhost.Compiled{}, err
	}
	return taskhost.Compiled{Graph: c.Graph, Tasks: c.Tasks}, nil
}

const (
	programHash = "5a"
	bobbinHash  = "b0"
)

func planned(t *testing.T, files filesystem.FileSystem, input string, options map[string]string) *jobgraph.JobGraph {
	t.Helper()
	options = maps.Clone(options)
	if options == nil {
		options = make(map[string]string)
	}
	options[config.ParallelismDefault.Name()] = "2"
	c, err := dataflow.Compile(counting.Name(), fmt.Appendf(nil, "%q", input), dataflow.PlanOptions{Parallelism: 2, Config: options})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := c.Prepare(t.Context(), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &graph
}

func quiet() *logrus.Logger {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.DebugLevel) // so that what logs is run
	return logger
}

// workers is a WorkerProvider whose workers are real TaskExecutors in this process. Each message to and
// from them is encoded, and their task hosts are goroutines. It keeps a journal of the calls.
type workers struct {
	t       *testing.T
	scratch string       // of all workers
	mux     *rolerpc.Mux // set before Run
	files   filesystem.FileSystem
	program string // hash of the program that they have
	orders  chan resourcemanager.Orders
	broken  chan error // ends Run
	// outlives is what one attempt leaves to the next; nil: nothing.
	outlives *ha.Memory
	attempt  int32
	joined   sync.WaitGroup

	tokens     func(what string, tokens msg.Secret) // called with what hosts receive; may be nil
	deregister func(context.Context) error          // YARN's answer to Deregister; nil: YARN has recorded the end

	mu       sync.Mutex // guards what follows
	journal  []string
	running  map[ids.ResourceID]context.CancelFunc
	rejected []ids.ResourceID // when they registered; each must have been released, which the journal may hear of later
}

// newWorkers makes a provider whose workers live until the test ends, unless they are released or killed.
func newWorkers(t *testing.T, files filesystem.FileSystem) *workers {
	w := &workers{
		t: t, scratch: t.TempDir(), files: files, program: programHash,
		orders: make(chan resourcemanager.Orders), broken: make(chan error, 1),
		running: make(map[ids.ResourceID]context.CancelFunc),
	}
	t.Cleanup(func() {
		for _, id := range w.ids() {
			w.kill(id)
		}
		w.joined.Wait()
		for _, id := range w.rejected {
			if !slices.Contains(w.journal, "release "+string(id)) {
				t.Errorf("worker %s was rejected and not released", id)
			}
		}
	})
	return w
}

func (w *workers) write(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.journal = append(w.journal, fmt.Sprintf(format, args...))
}

func (w *workers) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.journal)
}

func (w *workers) Order(ctx context.Context, o resourcemanager.Orders) {
	for _, r := range o.Release {
		w.write("release %s", r.Worker)
	}
	select {
	case w.orders <- o:
	case <-ctx.Done():
	}
}

func (w *workers) Deregister(ctx context.Context, status msg.ApplicationStatus, diagnostics string) error {
	line, _, _ := strings.Cut(diagnostics, "\n")
	w.write("deregister %s %q", status, line)
	if w.deregister != nil {
		return w.deregister(ctx)
	}
	return nil
}

func (w *workers) Run(ctx context.Context, report resourcemanager.Report) error {
	for started := 0; ; {
		var o resourcemanager.Orders
		select {
		case o = <-w.orders:
		case err := <-w.broken:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for _, r := range o.Release {
			w.kill(r.Worker)
		}
		for ; started < o.Workers[0].Total; started++ {
			id := ids.ResourceID(fmt.Sprintf("w%d", started+1))
			if err := report(ctx, resourcemanager.WorkerStarting{Worker: id, Spec: o.Workers[0].Spec, Host: "127.0.0.1"}); err != nil {
				return err
			}
			w.start(ctx, id, o.Workers[0].Spec, report)
		}
	}
}

func (w *workers) start(ctx context.Context, id ids.ResourceID, spec resourcemanager.WorkerResourceSpec, report resourcemanager.Report) {
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	w.mu.Lock()
	w.running[id] = end
	w.mu.Unlock()
	w.joined.Go(func() {
		defer end()
		switch err := w.serve(living, id, spec); {
		case err == nil || living.Err() != nil:
		case errors.Is(err, taskexecutor.ErrRejected):
			w.mu.Lock()
			w.rejected = append(w.rejected, id)
			w.mu.Unlock()
		default:
			w.t.Errorf("worker %s: %v", id, err)
		}
		if ctx.Err() == nil { // an error says that the role has ended
			_ = report(ctx, resourcemanager.WorkerCompleted{Worker: id, Cause: "container ended"})
		}
	})
}

func (w *workers) ids() []ids.ResourceID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.running))
}

// kill ends a worker as if its container were gone.
func (w *workers) kill(id ids.ResourceID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := w.running[id]; end != nil {
		end()
	}
}

func (w *workers) serve(ctx context.Context, id ids.ResourceID, spec resourcemanager.WorkerResourceSpec) error {
	roles := rolerpc.NewLocal(w.mux, rolerpc.LocalConfig{
		Dialer:   rolerpc.Peer{Identity: pki.Identity{Role: pki.RoleTaskExecutor, Resource: id}},
		Listener: rolerpc.Peer{Identity: pki.Identity{Role: pki.RoleApplicationMaster}},
		Logger:   quiet(), Encode: true,
	})
	defer roles.Close()
	scratch, err := os.MkdirTemp(w.scratch, string(id))
	if err != nil {
		return err
	}
	executor, err := taskexecutor.New(taskexecutor.Config{
		Resource: id, Node: "127.0.0.1", Slots: spec.Slots, VCores: spec.VCores,
		Programs: map[string]string{w.program: "program"}, Options: taskexecutor.OptionsFrom(config.Config{}),
	}, taskexecutor.Environment{
		Roles: taskexecutor.OneMaster{Roles: roles}, Hosts: hosts{w.files, w.tokens}, Instructions: msg.StartHost{ListenHost: "127.0.0.1"}, Logger: quiet(),
		Artifacts: taskexecutor.DiskArtifacts{
			Dirs: []string{scratch},
			Open: func() (taskexecutor.Files, error) { return dfs.New(dfs.Options{}), nil },
		},
	})
	if err != nil {
		return err
	}
	return executor.Run(ctx)
}

// hosts starts task hosts as goroutines.
type hosts struct {
	files  filesystem.FileSystem
	tokens func(what string, tokens msg.Secret)
}

type host struct {
	near  net.Conn
	end   context.CancelFunc
	ended chan error
}

func (h *host) Control() control.Channel { return control.New(h.near, msg.HostToTaskExecutor) }
func (h *host) PID() int                 { return 0 }
func (h *host) Kill()                    { h.end() }
func (h *host) Wait() taskexecutor.Exit  { return taskexecutor.Exit{How: fmt.Sprint(<-h.ended)} }

func (h hosts) Start(ctx context.Context, _ taskexecutor.HostSpec) (taskexecutor.Host, error) {
	near, far := net.Pipe()
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	started := &host{near: near, end: end, ended: make(chan error, 1)}
	go func() {
		defer end()
		started.ended <- taskhost.Run(ctx, control.New(far, msg.TaskExecutorToHost), taskhost.Options{
			Program: inProcess{}, Stdout: io.Discard,
			Open: func(start msg.StartHost) (taskhost.Surroundings, error) {
				open := taskhost.Surroundings{Files: h.files, CloseFiles: func() error { return nil }, Logger: quiet()}
				if h.tokens != nil {
					h.tokens("starts", start.Tokens)
					open.UpdateTokens = func(tokens msg.Secret) error { h.tokens("gets", tokens); return nil }
				}
				return open, nil
			},
		})
	}()
	return started, nil
}
