package taskhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

const (
	// progressInterval is the time between two measurements of running tasks, 1 s.
	progressInterval = time.Second
	// partingTime bounds how long a host that ends waits for its tasks, and then
	// for the TaskExecutor to take its last messages, 1 s each.
	partingTime = time.Second
)

// host is the shell around the core: it performs effects, and turns what happens
// into events.
type host struct {
	start    msg.StartHost
	options  Options
	compiled Compiled
	grace    time.Duration // for cancelled tasks
	exchange *exchange.Exchange
	open     Surroundings
	stdout   io.Writer
	log      logrus.FieldLogger

	loop   *actor.OldLoop[event, effect]
	timers *actor.Timers[ids.ExecutionAttemptID]
	outbox *outbox
	result error // of the host; the loop's

	mu    sync.Mutex // guards tasks
	tasks map[ids.ExecutionAttemptID]*task
	// left has a token when a task's goroutine ended since it was last drawn.
	left chan struct{}
}

// run serves the TaskExecutor until the host ends.
func (h *host) run(ctx context.Context, conn *control.Conn) error {
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h.outbox = newOutbox()
	h.tasks = make(map[ids.ExecutionAttemptID]*task)
	h.left = make(chan struct{}, 1)
	h.timers = actor.NewTimers(func(execution ids.ExecutionAttemptID) { h.tell(serving, graceOver{execution}) })
	h.loop = actor.NewOld[event, effect](newCore(h.start.Host, &h.compiled.Graph, h.grace), h)
	h.loop.Observe(h.observe)

	var others, writer sync.WaitGroup
	others.Go(func() { h.receive(serving, conn) })
	others.Go(func() { h.measure(serving) })
	writer.Go(func() { h.outbox.run(conn) })
	err := h.loop.Run(serving)
	switch {
	case err != nil:
	case ctx.Err() != nil && errors.Is(h.result, ErrAbandoned): // the end of ctx closes the connection
		err = context.Cause(ctx)
	default:
		err = h.result
	}
	h.log.WithField("cause", causeOf(err)).Info("task host ends")

	// Tasks first, as they use all the rest. Their last words may still be on
	// their way to other hosts, which the exchange sees to, and to the
	// TaskExecutor, which would take a closed connection for a death.
	h.timers.Stop()
	stop(errCanceled)
	if !errors.Is(err, ErrTaskStuck) && !h.awaitTasks(partingTime) {
		h.log.Warn("tasks are left behind")
	}
	h.exchange.Close()
	err = errors.Join(err, h.open.CloseFiles())
	h.outbox.close()
	late := time.AfterFunc(partingTime, func() { conn.Close() })
	writer.Wait()
	late.Stop()
	conn.Close()
	others.Wait()
	return err
}

func causeOf(err error) string {
	if err == nil {
		return toldToStop.String()
	}
	return err.Error()
}

// tell posts an event that nobody misses once the host ends.
func (h *host) tell(ctx context.Context, e event) {
	if err := h.loop.Post(ctx, e); err != nil {
		h.log.WithError(err).WithField("event", fmt.Sprintf("%T", e)).Debug("event comes too late")
	}
}

// receive passes the TaskExecutor's messages on, until it is gone.
func (h *host) receive(ctx context.Context, conn *control.Conn) {
	for {
		m, err := conn.Receive()
		if err != nil {
			h.log.WithError(err).Debug("control connection closed")
			h.tell(ctx, controlLost{})
			return
		}
		h.tell(ctx, told{m})
	}
}

// measure tells the loop how far tasks are. It skips a turn while the
// TaskExecutor is slow to take what it has been told.
func (h *host) measure(ctx context.Context) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !h.outbox.idle() {
			continue
		}
		var all measured
		for _, t := range h.running() {
			all.Tasks = append(all.Tasks, msg.TaskProgress{Execution: t.Execution, Traffic: t.traffic()})
		}
		h.tell(ctx, all)
	}
}

func (h *host) running() []*task {
	h.mu.Lock()
	defer h.mu.Unlock()
	tasks := make([]*task, 0, len(h.tasks))
	for _, t := range h.tasks {
		tasks = append(tasks, t)
	}
	return tasks
}

func (h *host) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tasks)
}

// task gives a task whose goroutine has not ended, or nil.
func (h *host) task(execution ids.ExecutionAttemptID) *task {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tasks[execution]
}

// Perform performs an effect, from the loop's goroutine.
func (h *host) Perform(ctx context.Context, ef effect) {
	switch ef := ef.(type) {
	case send:
		h.outbox.put(ef.Message)
	case startTasks:
		for _, d := range ef.Tasks {
			h.startTask(ctx, d)
		}
	case cancelTask:
		if t := h.task(ef.Execution); t != nil {
			t.cancel(errCanceled)
		}
	case assignSplit:
		if t := h.task(ef.Execution); t != nil {
			t.subtask.assign(ef.Split)
		}
	case acknowledge:
		if t := h.task(ef.Execution); t != nil {
			t.subtask.acknowledge(ef.Batches)
		}
	case limitMemory:
		if h.options.SetMemoryLimit != nil {
			h.options.SetMemoryLimit(int64(ef.MemoryMB) << 20)
		}
	case updateTokens:
		h.updateTokens(ef.Tokens)
	case setTimer:
		h.timers.Set(ef.Execution, ef.After)
	case giveUp:
		h.giveUp(ef.Execution)
	case end:
		if ef.Reason == abandoned {
			h.result = ErrAbandoned
		}
		h.loop.Stop()
	}
}

// updateTokens has files be reached by new tokens. Without them the old ones serve until
// they end.
func (h *host) updateTokens(tokens msg.Secret) {
	if h.open.UpdateTokens == nil {
		return
	}
	if err := h.open.UpdateTokens(tokens); err != nil {
		h.log.WithError(err).Error("new delegation tokens cannot be used")
	}
}

// startTask runs a task in a goroutine of its own, which ends with the task's
// code.
func (h *host) startTask(ctx context.Context, d deployment) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &task{
		deployment: d, host: h.start.Host, cancel: cancel,
		code: h.compiled.Tasks[d.Execution.Vertex],
		subtask: &subtask{
			execution:   d.Execution,
			attempt:     d.Execution.String() + "-" + string(h.start.Host),
			parallelism: h.compiled.Graph.Vertices[d.Execution.Vertex].Parallelism,
			job:         h.start.Job.ID,
			memory:      int64(d.MemoryMB) << 20,
			files:       &countedFiles{FileSystem: h.open.Files},
			stdout:      h.stdout,
			post:        h.loop.Post,
			splits:      make(chan *jobgraph.Split, 1),
			window:      make(chan struct{}, collectWindow),
			counters:    make(map[string]*operator.Counter),
		},
	}
	h.mu.Lock()
	h.tasks[d.Execution] = t
	h.mu.Unlock()
	go func() { // awaitTasks waits for it
		defer cancel(nil)
		defer h.taskLeft(t)
		t.run(ctx, h.exchange, func(err error) { h.report(ctx, t, err) })
	}()
}

// report tells the loop how a task ended.
func (h *host) report(ctx context.Context, t *task, err error) {
	e := taskEnded{Execution: t.Execution, Counters: t.subtask.counts(), Traffic: t.traffic()}
	if err != nil {
		e.Failure = failureOf(err)
	}
	h.tell(context.WithoutCancel(ctx), e) // a cancelled task is reported, too
}

// taskLeft forgets a task, whose goroutine ends.
func (h *host) taskLeft(t *task) {
	h.mu.Lock()
	delete(h.tasks, t.Execution)
	h.mu.Unlock()
	select {
	case h.left <- struct{}{}:
	default:
	}
}

// awaitTasks waits until all tasks have ended, and tells whether they did.
func (h *host) awaitTasks(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for h.count() > 0 {
		select {
		case <-h.left:
		case <-timer.C:
			return false
		}
	}
	return true
}

// giveUp ends the host, and with it its process, as nothing else ends code that
// does not look at its context.
func (h *host) giveUp(execution ids.ExecutionAttemptID) {
	vertex := h.compiled.Graph.Vertices[execution.Vertex]
	h.result = fmt.Errorf("task %s (%d/%d), execution %s, still runs %s after it was cancelled: %w",
		vertex.Name, execution.Subtask+1, vertex.Parallelism, execution, h.grace, ErrTaskStuck)
	failure := msg.NewFailure(h.result.Error(), stackOf(h.start.Host, execution))
	h.outbox.put(msg.HostLost{Host: h.start.Host, Failure: *failure})
	h.loop.Stop()
}

// observe logs what the loop does: task states for those who run the cluster,
// the rest for us.
func (h *host) observe(e event, effects []effect) {
	h.log.WithField("event", fmt.Sprintf("%T", e)).WithField("effects", len(effects)).Debug("event")
	for _, ef := range effects {
		s, is := ef.(send)
		if !is {
			continue
		}
		changed, _ := s.Message.(msg.TaskStatesChanged)
		for _, m := range changed.Changes {
			log := h.log.WithField("execution", m.Execution.String()).WithField("state", string(m.State))
			if m.Failure != nil {
				log = log.WithError(m.Failure)
			}
			log.Info("task changed its state")
		}
	}
}
