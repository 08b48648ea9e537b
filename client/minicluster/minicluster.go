// Package minicluster runs a whole cluster in one process: the ApplicationMaster's roles, TaskExecutors and
// their task hosts. All are goroutines, and exchange the same messages as processes do. It is for programs that a
// user starts by hand, and for tests.
//
// A Cluster owns all these goroutines; Close ends them and waits. The only port that it opens is the data
// plane's, on loopback.
package minicluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// cluster is the prefix of options that limit the workers of a cluster, and order spare ones.
const cluster config.PrefixKey = "slotmanager."

// Options describe a cluster. All fields are required, except Process, and Program beside it.
type Options struct {
	Config config.Config
	// Workers is the largest number of workers, and Slots the number of slots of each: see Sizes. Workers start
	// when a job needs their slots.
	Workers, Slots int
	Program        taskhost.Program
	FileSystem     filesystem.FileSystem // of the cluster, and of its workers without Process. The caller closes it
	Stdout         io.Writer             // of print sinks
	Logger         logrus.FieldLogger
	// Process is called for each worker that starts. The worker then has this Process in place of Program and
	// FileSystem, and may be killed. It must not block.
	Process func(*Worker) Process
}

// Sizes says how the options divide slots over workers, as those of Flink's MiniCluster do: there are
// local.number-taskmanager workers of taskmanager.numberOfTaskSlots slots. If the slots are not set, each worker
// has an equal part of these slots, rounded up.
func Sizes(c config.Config, slots int) (workers, each int) {
	workers = c.Int(config.LocalTaskManagers)
	if c.IsSet(config.TaskSlots) {
		return workers, c.Int(config.TaskSlots)
	}
	return workers, (max(slots, 1) + workers - 1) / workers
}

// Cluster is a running cluster. Its methods may be called from any goroutine.
type Cluster struct {
	component *appmaster.Component
	cancel    context.CancelFunc
	done      chan struct{} // closed when everything has ended
	err       error         // why it ended by itself; read it after done
}

// Start starts a cluster.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	worker, err := memoryOf(o)
	if err != nil {
		return nil, fmt.Errorf("start local cluster: %w", err)
	}
	external, _, err := launch.ExternalResources(o.Config)
	if err != nil {
		return nil, fmt.Errorf("start local cluster: %w", err)
	}
	provider := newProvider(o)
	component, err := appmaster.NewComponent(appmaster.ComponentConfig{
		Config: o.Config.Without(cluster), // Workers and Slots are its limits
		Worker: resourcemanager.WorkerResourceSpec{MemoryMB: worker.ContainerMB(), VCores: o.Slots, Slots: o.Slots, Memory: worker, External: external},
		Mode:   dispatcher.Session, Files: o.FileSystem,
	}, provider, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("start local cluster: %w", err)
	}
	provider.mux = component.Mux
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &Cluster{component: component, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		if err := component.Run(ctx); ctx.Err() == nil {
			c.err = err
		}
	}()
	return c, nil
}

// Run runs one job to its end on a cluster of its own, as Execute does, with the files of pipeline.cached-files. If
// the job does not finish, the error wraps its *msg.Failure. If a cached file cannot be used, it wraps
// cachedfiles.ErrNotFound.
func Run(ctx context.Context, o Options, x dataflow.Execution, watch func(msg.JobDetails)) (result dataflow.ExecutionResult, err error) {
	if x.Graph.Files, err = cachedFiles(ctx, o); err != nil {
		return result, err
	}
	cluster, err := Start(ctx, o)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	ended, err := cluster.Execute(ctx, &x.Graph, x.Collected, watch)
	if err != nil {
		return result, fmt.Errorf("execute job %s: %w", x.Graph.Name, err)
	}
	if ended.Failure != nil {
		return result, fmt.Errorf("job %s is %s: %w", x.Graph.Name, ended.Status, ended.Failure)
	}
	return dataflow.ExecutionResult{JobID: string(ended.Job), Duration: ended.Duration, Counters: ended.Counters}, nil
}

// memoryOf returns the memory of each worker: each slot has that of a container with one slot. Nothing
// enforces it but the operators' own bound.
func memoryOf(o Options) (memory.Worker, error) {
	one, err := o.Config.With(config.Layer{Source: "local", Values: map[string]string{config.TaskSlots.Name(): "1"}})
	if err != nil {
		return memory.Worker{}, err
	}
	w, err := memory.WorkerOf(one)
	return w.Times(o.Slots), err
}

// Close ends the cluster, with all running jobs.
func (c *Cluster) Close() error {
	c.cancel()
	<-c.done
	return c.err
}

// Submit starts a job.
func (c *Cluster) Submit(ctx context.Context, graph *jobgraph.JobGraph) (ids.JobID, error) {
	job := ids.JobID(ids.Random())
	err := c.component.Submit(ctx, dispatcher.Submission{
		Job: job, Graph: graph, Program: msg.Program{Name: graph.Job, SHA256: programHash},
	})
	return job, err
}

// Details describes a job.
func (c *Cluster) Details(ctx context.Context, job ids.JobID) (msg.JobDetails, error) {
	return c.component.Dispatcher.JobDetails(ctx, job)
}

// Cancel tells a job to end.
func (c *Cluster) Cancel(ctx context.Context, job ids.JobID) error {
	return c.component.Dispatcher.CancelJob(ctx, job)
}

// Wait waits for a job's end.
func (c *Cluster) Wait(ctx context.Context, job ids.JobID) (msg.JobEnded, error) {
	return c.component.Wait(ctx, job)
}

// Execute runs a job to its end. It calls collected with what the job collects, one call at a time, and watch
// with the job's progress from time to time. A job that does not finish is no error: the answer has its status.
// If ctx ends or collected returns an error, Execute cancels the job, waits a moment for its end, and the
// answer has only its id.
func (c *Cluster) Execute(ctx context.Context, graph *jobgraph.JobGraph, collected func(name string, epoch int, records []byte) error, watch func(msg.JobDetails)) (msg.JobEnded, error) {
	job, err := c.Submit(ctx, graph)
	if err != nil {
		return msg.JobEnded{}, err
	}
	watching, stopWatching := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { c.watch(watching, job, watch) })
	ended, err := c.component.Follow(ctx, job, graph, collected)
	stopWatching()
	watcher.Wait()
	if details, failed := c.Details(ctx, job); failed == nil {
		watch(details) // the final state
	}
	if err != nil {
		ended = msg.JobEnded{Job: job}
		if cancelling := c.cancelAndWait(context.WithoutCancel(ctx), job); cancelling != nil {
			err = errors.Join(err, cancelling)
		}
	}
	return ended, err
}

// cancelTime is how long Execute waits for the end of a cancelled job, which removes what it has started to
// write. A function of the user may never end.
const cancelTime = time.Second

func (c *Cluster) cancelAndWait(ctx context.Context, job ids.JobID) error {
	if err := c.Cancel(ctx, job); err != nil {
		if errors.Is(err, msg.ErrJobEnded) {
			return nil
		}
		return err
	}
	ctx, stop := context.WithTimeout(ctx, cancelTime)
	defer stop()
	_, _ = c.Wait(ctx, job) // in time or not: the job ends with the cluster
	return nil
}

// watchInterval is the time between two calls of watch.
const watchInterval = 100 * time.Millisecond

func (c *Cluster) watch(ctx context.Context, job ids.JobID, watch func(msg.JobDetails)) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if details, err := c.Details(ctx, job); err == nil { // not ready yet: next time
			watch(details)
		}
	}
}
