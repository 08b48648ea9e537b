package taskhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

const (
	// partingTime bounds how long an ending host waits for its tasks, and then for the TaskExecutor
	// to take its last messages, 1 s each.
	partingTime = time.Second
)

// host is the shell around the core: it performs effects, and posts events.
type host struct {
	start        msg.StartHost
	options      Options
	compiled     Compiled
	cancellation Cancellation
	rooms        rooms
	open         Surroundings
	stdout       io.Writer
	log          logrus.FieldLogger
	dropping     sync.Once // done when a metric without room was logged
	memory       broker.Broker
	overdrawing  sync.Once // done when too little memory was logged

	loop *actor.Loop[event, effect]
	// outbox holds messages to the TaskExecutor. It needs no bound: each task has at most two
	// states, one request for a split and msg.CollectWindow batches on their way. Progress is measured
	// only while nothing waits, heartbeats are sent only as answers, and the TaskExecutor bounds its questions.
	outbox *actor.Outbox[msg.Message]

	plane plane

	mu    sync.Mutex // guards tasks
	tasks map[ids.ExecutionAttemptID]*task
	// left has a token if a goroutine of a task ended after the last token was taken.
	left chan struct{}
}

// run serves the TaskExecutor until the host ends.
func (h *host) run(ctx context.Context, conn control.Channel) error {
	h.outbox = actor.NewOutbox[msg.Message](0, nil)
	h.tasks = make(map[ids.ExecutionAttemptID]*task)
	h.left = make(chan struct{}, 1)
	h.loop = actor.New[event, effect](newCore(h.start.Host, &h.compiled.Graph, h.cancellation), woken{})
	h.loop.Observe(h.observe)

	var reader, writer sched.Group // both outlive the loop
	reader.Go(ctx, func() { h.receive(ctx, conn) })
	writer.Go(ctx, func() { h.write(context.WithoutCancel(ctx), conn) })
	err := h.loop.Run(ctx, func(context.Context) actor.Shell[effect] {
		h.loop.Go(h.measure)
		return h
	})
	cause := errCanceled // of the cancelled tasks
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
		if errors.Is(err, ErrAbandoned) { // the end of ctx closes the connection
			err = cause
		}
	}
	h.log.WithField("cause", causeOf(err)).Info("task host ends")

	// Stop the tasks first, because they use everything else. Their last messages may still be on
	// their way to other hosts, which the data plane's Close waits for, and to the TaskExecutor, which
	// would treat a closed connection as the death of the host.
	for _, t := range h.running() {
		t.cancel(cause)
	}
	if !errors.Is(err, ErrTaskStuck) && !h.awaitTasks(ctx, partingTime) {
		h.log.Warn("task host ends, but some tasks still run")
	}
	h.plane.now().Close()
	err = errors.Join(err, h.open.CloseFiles())
	h.outbox.Close()
	stop := sched.AfterFunc(ctx, partingTime, func() { conn.Close() })
	writer.Wait(ctx)
	stop()
	conn.Close()
	reader.Wait(ctx)
	return err
}

func causeOf(err error) string {
	if err == nil {
		return toldToStop.String()
	}
	return err.Error()
}

// receive passes the TaskExecutor's messages to the loop until the connection ends.
func (h *host) receive(ctx context.Context, conn control.Channel) {
	for {
		m, err := conn.Receive()
		if err != nil {
			h.log.WithError(err).Debug("control connection closed")
			h.loop.Tell(ctx, controlLost{})
			return
		}
		h.loop.Tell(ctx, read(m, &h.compiled.Graph))
	}
}

// write sends the messages in the outbox until the outbox is closed, or the connection ends;
// receive notices that, too. A message that is too long to send ends the host: no other message may
// come in its place, and without any the TaskExecutor would take the host for hanging.
func (h *host) write(ctx context.Context, conn control.Channel) {
	h.outbox.Serve(ctx, func(first msg.Message) bool {
		batch := []msg.Message{first}
		for m, some := h.outbox.Next(); some; m, some = h.outbox.Next() {
			batch = append(batch, m)
		}
		for _, m := range joined(batch) {
			err := conn.Send(m)
			if errors.Is(err, codec.ErrTooLarge) { // the connection is intact
				failure := msg.NewFailure("task host ends: "+err.Error(), "")
				h.loop.Fail(errors.Join(err, conn.Send(msg.HostLost{Host: h.start.Host, Failure: *failure})))
			}
			if err != nil {
				return false
			}
		}
		return true
	})
}

// measure sends the progress of the tasks to the loop, at msg.ProgressInterval. It skips a measurement while messages wait
// for the TaskExecutor.
func (h *host) measure(ctx context.Context) {
	tasks := 0
	for _, v := range h.compiled.Graph.Vertices {
		tasks += v.Parallelism
	}
	for sched.Sleep(ctx, msg.ProgressInterval(tasks)) == nil {
		if !h.outbox.Idle() {
			continue
		}
		var all measured
		for _, t := range h.running() {
			all.Tasks = append(all.Tasks, msg.TaskProgress{Execution: t.Execution, Metrics: t.metrics(), User: t.subtask.metrics.measured(sched.Now(ctx))})
		}
		all.Pool = new(msg.BufferPool)
		all.Pool.Used, all.Pool.Total = h.plane.now().Usage()
		used, total := h.memory.Usage()
		all.Managed = &msg.ManagedMemory{Used: config.Bytes(used), Total: config.Bytes(total)}
		if h.open.HDFS != nil {
			all.HDFS = h.open.HDFS()
		}
		if h.open.Process != nil {
			process := h.open.Process(sched.Now(ctx))
			all.Process = &process
		}
		h.loop.Tell(ctx, all)
	}
}

// running gives the tasks in the order of their ids.
func (h *host) running() []*task {
	h.mu.Lock()
	defer h.mu.Unlock()
	tasks := make([]*task, 0, len(h.tasks))
	for _, t := range h.tasks {
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *task) int {
		x, y := a.Execution, b.Execution
		return cmp.Or(cmp.Compare(x.Vertex, y.Vertex), cmp.Compare(x.Subtask, y.Subtask), cmp.Compare(x.Attempt, y.Attempt))
	})
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
		h.outbox.Put(ef.Message, "")
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
	case giveLeave:
		if t := h.task(ef.Execution); t != nil {
			t.subtask.giveLeave()
		}
	case acknowledge:
		if t := h.task(ef.Execution); t != nil {
			t.subtask.acknowledge(ef.Batches)
		}
	case setMemory:
		if h.options.SetMemoryLimit != nil {
			h.options.SetMemoryLimit(int64(ef.Memory.Limit()))
		}
		h.memory.Resize(int64(ef.Memory.Managed))
		h.plane.resize(int(ef.Memory.Network))
	case updateTokens:
		h.updateTokens(ef.Tokens)
	case answerInquiry:
		h.loop.Go(func(ctx context.Context) { h.answerInquiry(ctx, ef) })
	case reportStuck:
		h.reportStuck(ef.Tasks)
	case removePartitions:
		h.removePartitions(ef)
	case renew:
		h.renew(ef.Host)
	case giveUp:
		h.giveUp(ef.Execution)
	case fail:
		h.fail(ef.Cause)
	case end:
		if ef.Reason == abandoned {
			h.loop.Fail(ErrAbandoned)
		} else {
			h.loop.Stop()
		}
	}
}

// removePartitions removes files of a task. It does not wait for disks.
func (h *host) removePartitions(ef removePartitions) {
	h.loop.Go(func(context.Context) {
		for _, p := range ef.Partitions {
			id := ids.PartitionID{Execution: ef.Execution, Output: p.Output}
			if err := os.Remove(filepath.Join(h.start.PartitionDirs[p.Dir], id.String())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				h.log.WithError(err).Warn("a partition of a cancelled task stays until the host's files are removed")
			}
		}
	})
}

// errNoDesk says that a host in a user's process shows nothing of it.
var errNoDesk = fmt.Errorf("%w: this task host is no process of its own", msg.ErrNotShown)

// answerInquiry answers a question about this process, and then does the work that it leaves. The TaskExecutor bounds
// the questions that are open.
func (h *host) answerInquiry(ctx context.Context, q answerInquiry) {
	if h.open.Desk == nil {
		h.outbox.Put(msg.Inquired{Number: q.Number, Answer: msg.NoAnswer(errNoDesk)}, "")
		return
	}
	answer, work := h.open.Desk.Answer(ctx, q.Inquiry)
	h.outbox.Put(msg.Inquired{Number: q.Number, Answer: answer}, "")
	if work != nil {
		h.log.WithField("mode", q.Inquiry.Profile.Mode).Info("profile is taken")
		work(ctx)
	}
}

// updateTokens replaces the tokens of the file systems. If this fails, the old tokens serve until
// they expire.
func (h *host) updateTokens(tokens msg.Secret) {
	if h.open.UpdateTokens == nil {
		return
	}
	if err := h.open.UpdateTokens(tokens); err != nil {
		h.log.WithError(err).Error("new delegation tokens cannot be used")
	}
}

// localDirs are the directories for temporary files of tasks. In local mode there is that of the operating system.
func localDirs(of []string) []string {
	if len(of) == 0 {
		return []string{os.TempDir()}
	}
	return of
}

// startTask runs a task in its own goroutine, which ends with the task's code.
func (h *host) startTask(ctx context.Context, d deployment) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // run cancels it at the end
	t := &task{
		deployment: d, host: h.start.Host, dirs: h.start.PartitionDirs, cancel: cancel,
		code: h.compiled.Tasks[d.Execution.Vertex],
		subtask: &subtask{
			execution:   d.Execution,
			parallelism: h.compiled.Graph.Vertices[d.Execution.Vertex].Parallelism,
			job:         h.start.Job.ID,
			broker:      &h.memory,
			overdrawn:   h.noteOverdrawn,
			resources:   h.start.Resources.Amounts(),
			localDirs:   localDirs(h.start.LocalDirs),
			files:       &countedFiles{FileSystem: h.open.Files},
			cached:      h.start.Files,
			stdout:      h.stdout,
			post:        h.loop.Post,
			wake:        make(chan struct{}, 1),
			splits:      make(chan *jobgraph.Split, 1),
			window:      make(chan struct{}, msg.CollectWindow),
			leave:       make(chan struct{}, 1),
			winners:     d.Winners,
			activity:    newActivity(func() time.Time { return sched.Now(ctx) }),
			metrics:     newUserMetrics(h.rooms, cancel, func(op int, name string) { h.noteDropped(d.Execution, op, name) }),
		},
	}
	h.mu.Lock()
	h.tasks[d.Execution] = t
	h.mu.Unlock()
	data := h.plane.now()
	sched.Go(ctx, func() { // awaitTasks waits for it
		defer cancel(nil)
		defer h.taskLeft(t)
		t.run(ctx, data, func(err error) { h.report(ctx, t, err) })
	})
}

// report tells the loop how a task ended.
func (h *host) report(ctx context.Context, t *task, err error) {
	e := taskEnded{Execution: t.Execution, Counters: t.subtask.metrics.counts(), Metrics: t.metrics(), User: t.subtask.metrics.measured(sched.Now(ctx))}
	if err != nil {
		e.Failure = failureOf(err)
	} else {
		e.Partitions = t.written()
	}
	h.loop.Tell(context.WithoutCancel(ctx), e) // also report a cancelled task
}

// noteDropped logs a metric of a user that is not shown. One is enough to find the code.
func (h *host) noteDropped(e ids.ExecutionAttemptID, op int, name string) {
	h.dropping.Do(func() {
		fields := logrus.Fields{"task": e.String(), "metric": fmt.Sprintf("%.80q", name)}
		if operators := h.compiled.Graph.Vertices[e.Vertex].Operators; op < len(operators) {
			fields["operator"] = operators[op]
		}
		h.log.WithFields(fields).Warnf("a metric is not shown: a task of this job may have %d KiB of metrics, with names of 1 to %d bytes",
			h.rooms.shown>>10, msg.MaxMetricName)
	})
}

// noteOverdrawn logs that the operators of the host may hold more memory than it has for them.
func (h *host) noteOverdrawn() {
	h.overdrawing.Do(func() {
		_, total := h.memory.Usage()
		h.log.WithField("managed memory", memory.Text(config.Bytes(total))).Warnf("the least memory of all operators of this task host is more "+
			"than it has; raise %s or %s", config.TaskManagerManagedFraction.Name(), config.TaskManagerProcessSize.Name())
	})
}

// taskLeft removes a task whose goroutine ends.
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
func (h *host) awaitTasks(ctx context.Context, limit time.Duration) bool {
	late, stop := sched.After(ctx, limit)
	defer stop()
	for h.count() > 0 {
		if sched.First(context.WithoutCancel(ctx), h.left, late) == 1 {
			return false
		}
	}
	return true
}
