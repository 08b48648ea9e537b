package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/integration/internal/fleet"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

const application = "application_1_0001"

// child is the ApplicationMaster: its roles, and their server.
type child struct {
	component *appmaster.Component
	slots     int

	mu  sync.Mutex // guards out
	out *json.Encoder
}

func (c *child) say(r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(r) // the parent is gone: the next read ends this process
}

// master runs the child until its input ends.
func master(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	var told hello
	commands := json.NewDecoder(in)
	if err := commands.Decode(&told); err != nil {
		return err
	}
	c := &child{slots: told.Slots, out: json.NewEncoder(out)}
	dir, err := os.MkdirTemp("", "streams-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	logger, log, err := logging.Open(dir, "jobmanager", "info")
	if err != nil {
		return err
	}
	defer log.Close()
	options, err := config.New(config.Layer{Source: "streams", Values: map[string]string{
		config.TaskSlots.Name(): strconv.Itoa(c.slots), config.TaskManagerProcessSize.Name(): strconv.Itoa(1+c.slots) + "g",
	}})
	if err != nil {
		return err
	}
	worker, err := memory.WorkerOf(options)
	if err != nil {
		return err
	}
	authority, err := pki.NewAuthority(application, time.Now())
	if err != nil {
		return err
	}
	identity, err := authority.IssueApplicationMaster(time.Now())
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.component, err = appmaster.NewComponent(appmaster.ComponentConfig{
		Config: options, Mode: dispatcher.Session,
		Worker: resourcemanager.WorkerResourceSpec{MemoryMB: worker.ContainerMB(), VCores: c.slots, Slots: c.slots, Memory: worker},
	}, &provider{child: c, memory: worker, authority: authority, address: listener.Addr().String(), orders: make(chan resourcemanager.Orders)}, logger)
	if err != nil {
		return err
	}
	server := rolerpc.NewServer(rolerpc.Config{ //nolint:contextcheck // the server lives as long as the process
		TLS:         identity.ServerTLS(pki.OnlyRole(pki.RoleTaskExecutor)),
		Unreachable: config.Unreachable(options),
		Logger:      logger,
	}, c.component.Mux)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = c.component.Run(ctx) })   // its end shows in the next request
	running.Go(func() { _ = server.Serve(listener) }) // likewise
	defer func() { cancel(); server.Close(); running.Wait() }()
	for {
		var r request
		if err := commands.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := c.obey(ctx, r); err != nil {
			c.say(reply{Error: err.Error()})
		}
	}
}

func (c *child) obey(ctx context.Context, r request) error {
	switch {
	case r.Grow != nil:
		g, err := c.grow(ctx, r.Grow.Workers*c.slots)
		if err == nil {
			c.say(reply{Grown: &g})
		}
		return err
	case r.Measure != nil:
		m, err := measured(ctx, *r.Measure)
		if err == nil {
			c.say(reply{Measured: &m})
		}
		return err
	}
	return fmt.Errorf("unknown request %+v", r)
}

// grow runs a job, which ends with the process.
func (c *child) grow(ctx context.Context, tasks int) (grown, error) {
	begin, used := time.Now(), processorTime()
	job := ids.JobID(ids.Random())
	if err := c.component.Submit(ctx, dispatcher.Submission{
		Job: job, Graph: fleet.Graph(tasks), Program: msg.Program{Name: "reading", SHA256: "reading"},
	}); err != nil {
		return grown{}, err
	}
	for {
		d, err := c.component.Dispatcher.JobDetails(ctx, job)
		switch {
		case err != nil:
			return grown{}, err
		case d.Status.GloballyTerminal() || d.Restarts > 0:
			return grown{}, fmt.Errorf("job is %s after %d restarts: %+v", d.Status, d.Restarts, d.Root)
		case len(d.Vertices) > 0 && d.Vertices[0].Tasks[msg.ExecutionRunning] == tasks:
			return grown{Took: time.Since(begin), CPU: processorTime() - used}, nil
		}
		if err := pause.For(ctx, 20*time.Millisecond); err != nil {
			return grown{}, err
		}
	}
}

// provider has its workers started by the parent.
type provider struct {
	child     *child
	memory    memory.Worker
	authority *pki.Authority
	address   string
	orders    chan resourcemanager.Orders
}

// Order implements resourcemanager.WorkerProvider.
func (p *provider) Order(ctx context.Context, orders resourcemanager.Orders) {
	select {
	case p.orders <- orders:
	case <-ctx.Done():
	}
}

// Deregister implements resourcemanager.WorkerProvider.
func (*provider) Deregister(context.Context, msg.ApplicationStatus, string) error { return nil }

// Run implements resourcemanager.WorkerProvider. It releases no workers, since their jobs end with the process.
func (p *provider) Run(ctx context.Context, report resourcemanager.Report) error {
	starts := 0
	for {
		var orders resourcemanager.Orders
		select {
		case orders = <-p.orders:
		case <-ctx.Done():
			return nil
		}
		for _, order := range orders.Workers { // all workers are of one kind
			for ; starts < order.Total; starts++ {
				if err := p.start(ctx, report, order.Spec, starts); err != nil {
					return err
				}
			}
		}
	}
}

func (p *provider) start(ctx context.Context, report resourcemanager.Report, spec resourcemanager.WorkerResourceSpec, number int) error {
	id := ids.ResourceID(fmt.Sprintf("container_1_0001_01_%06d", number+2))
	if err := report(ctx, resourcemanager.WorkerStarting{Worker: id, Spec: spec, Host: "127.0.0.1"}); err != nil {
		return err
	}
	credentials, err := p.authority.IssueTaskExecutor(id, time.Now())
	if err != nil {
		return err
	}
	secret, err := credentials.PEM()
	if err != nil {
		return err
	}
	p.child.say(reply{Worker: &started{
		Container: string(id), Address: p.address, Memory: p.memory, Secret: secret,
	}})
	return nil
}

// measured measures this process, at the end of a time in which nothing changes.
func measured(ctx context.Context, m measure) (Measured, error) {
	if m.Profiles != "" {
		file, err := os.Create(filepath.Join(m.Profiles, "cpu.pprof"))
		if err != nil {
			return Measured{}, err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return Measured{}, err
		}
		defer pprof.StopCPUProfile()
	}
	before := processorTime()
	if err := pause.For(ctx, m.Settle); err != nil {
		return Measured{}, err
	}
	result := Measured{CPU: (processorTime() - before).Seconds() / m.Settle.Seconds(), Goroutines: runtime.NumGoroutine()}
	var err error
	if result.RSS, err = resident(); err != nil {
		return Measured{}, err
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return Measured{}, err
	}
	result.Files = len(files)
	runtime.GC()
	runtime.GC() // pools free their content only at the second one
	var used runtime.MemStats
	runtime.ReadMemStats(&used)
	result.Heap, result.Stacks = int64(used.HeapAlloc), int64(used.StackInuse)
	if m.Profiles == "" {
		return result, nil
	}
	for _, name := range []string{"heap", "goroutine"} {
		file, err := os.Create(filepath.Join(m.Profiles, name+".pprof"))
		if err != nil {
			return Measured{}, err
		}
		if err := errors.Join(pprof.Lookup(name).WriteTo(file, 0), file.Close()); err != nil {
			return Measured{}, err
		}
	}
	return result, nil
}

// resident is this process's resident memory, in bytes.
func resident() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kilobytes, err := strconv.ParseInt(text, 10, 64)
	return kilobytes << 10, err
}

// processorTime is this process's processor time so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // cannot fail for its own process
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
