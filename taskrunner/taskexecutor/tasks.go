package taskexecutor

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/measures"
)

// mostMeasured bounds the tasks of this worker whose metrics it keeps. The JobMasters have those of all.
const mostMeasured = 1000

// measuredRoom is the room for the measured tasks of all hosts of a worker, and for the sums of what their code counts. Its zero value is empty. Any goroutine may use it.
type measuredRoom struct{ taken, omitted, sums atomic.Int64 }

// take takes the room for a task, if there is some.
func (r *measuredRoom) take() bool {
	if r.taken.Add(1) <= mostMeasured {
		return true
	}
	r.taken.Add(-1)
	return false
}

func (r *measuredRoom) giveBack(tasks int) { r.taken.Add(-int64(tasks)) }

// MeasuredTask is a running task of this worker. Only its JobMaster knows the names of its vertex and its operators.
type MeasuredTask struct {
	Job     ids.JobID
	JobName string
	Vertex  string // its id in REST
	Subtask int
	Sample  msg.TaskSample
	Times   msg.TaskTimes
	Dropped int // metrics of the user's code that found no room
}

// tasks are the running tasks of a host, from what passes this worker on its way between host and JobMaster. A host runs the
// user's code: only tasks that the JobMaster has deployed are measured, whatever the host says. The zero value measures nothing
// until it is told the job.
type tasks struct {
	job      *msg.JobSpec // nil: nothing is measured
	interval time.Duration
	room     *measuredRoom
	running  map[ids.ExecutionAttemptID]*task
	omitted  map[ids.ExecutionAttemptID]time.Time // running tasks without room, and when they were deployed
	sums     map[countKey]*countSum
	over     bool // the host has ended
}

type task struct {
	measures.Measures
	started time.Time // as far as this worker has seen
	dropped int
	told    []toldCount // as the host reports them
}

// begin has the tasks of a job measured, while there is room. all is the number of its tasks.
func (t *tasks) begin(job msg.JobSpec, all int, room *measuredRoom) {
	t.end()
	t.forgetSums()
	if t.over { // the message has crossed the host's end
		return
	}
	t.job = &msg.JobSpec{ID: job.ID, Name: job.Name, Digest: job.Digest}
	t.interval, t.room, t.running = msg.ProgressInterval(all), room, make(map[ids.ExecutionAttemptID]*task)
	t.omitted = make(map[ids.ExecutionAttemptID]time.Time)
	t.sums = make(map[countKey]*countSum)
}

// pass takes over what the JobMaster tells the host.
func (t *tasks) pass(m msg.Message, now time.Time) {
	deployed, is := m.(msg.DeployTasks)
	if t.job == nil || !is {
		return
	}
	for _, d := range deployed.Tasks {
		_, without := t.omitted[d.Execution]
		switch {
		case t.running[d.Execution] != nil || without: // the message is repeated
		case t.room.take():
			t.running[d.Execution] = &task{started: now}
		default:
			t.omitted[d.Execution] = now
			t.room.omitted.Add(1)
		}
	}
}

// measured is a running task; nil: it is none that the JobMaster has deployed, or it finds no room still.
func (t *tasks) measured(id ids.ExecutionAttemptID) *task {
	if started, without := t.omitted[id]; without && t.room.take() {
		t.forget(id)
		t.running[id] = &task{started: started}
	}
	return t.running[id]
}

// hear takes over what the host tells its JobMaster.
func (t *tasks) hear(m msg.Message, now time.Time) {
	switch m := m.(type) {
	case msg.HostReady: // after a reset no task is left
		t.end()
	case msg.TaskStatesChanged:
		for _, c := range m.Changes {
			if c.State.Final() {
				if one := t.running[c.Execution]; one != nil && c.User != nil {
					t.count(one, c.Execution.Vertex, c.User)
				}
				t.forget(c.Execution)
			}
		}
	case msg.TasksProgress:
		for _, p := range m.Tasks {
			one := t.measured(p.Execution)
			if one == nil {
				continue
			}
			one.Report(p.Metrics, one.started, now)
			if p.User != nil {
				t.count(one, p.Execution.Vertex, p.User)
			}
		}
	default: // it is of no task
	}
}

// forget gives back the room of a task that has ended.
func (t *tasks) forget(id ids.ExecutionAttemptID) {
	if t.running[id] != nil {
		delete(t.running, id)
		t.room.giveBack(1)
	}
	if _, without := t.omitted[id]; without {
		delete(t.omitted, id)
		t.room.omitted.Add(-1)
	}
}

// end gives back the room of all tasks, because their host has none any more.
func (t *tasks) end() {
	for id := range t.running {
		t.forget(id)
	}
	for id := range t.omitted {
		t.forget(id)
	}
}

// close gives back the room of all tasks for good, because their host has ended. Messages to it may still come.
func (t *tasks) close() {
	t.end()
	t.forgetSums()
	t.job, t.over = nil, true
}

// list describes the tasks, in the order of their vertices and subtasks.
func (t *tasks) list(now time.Time) []MeasuredTask {
	if t.job == nil {
		return nil
	}
	order := func(a, b ids.ExecutionAttemptID) int {
		return cmp.Or(cmp.Compare(a.Vertex, b.Vertex), cmp.Compare(a.Subtask, b.Subtask), cmp.Compare(a.Attempt, b.Attempt))
	}
	graph := jobgraph.JobGraph{Digest: t.job.Digest}
	all := make([]MeasuredTask, 0, len(t.running))
	for _, id := range slices.SortedFunc(maps.Keys(t.running), order) {
		one := t.running[id]
		all = append(all, MeasuredTask{
			Job: t.job.ID, JobName: t.job.Name, Vertex: graph.PublicID(jobgraph.VertexID(id.Vertex)), Subtask: id.Subtask,
			Sample: one.Sample(one.started, now, t.interval), Times: one.Times(one.started, time.Time{}, now), Dropped: one.dropped,
		})
	}
	return all
}

// Tasks returns the running tasks of this worker, up to 1,000, if Config.MetricsPort is set, and the number of those for which
// there was no room. It may be called at any time.
func (t *TaskExecutor) Tasks(now time.Time) (all []MeasuredTask, omitted int) {
	s := t.shell.Load()
	if s == nil {
		return nil, 0
	}
	for _, h := range s.hostsByJob() {
		h.mu.Lock()
		all = append(all, h.tasks.list(now)...)
		h.mu.Unlock()
	}
	return all, int(s.measured.omitted.Load())
}

// hostsByJob are the hosts, in the order of their jobs.
func (s *shell) hostsByJob() []*hostControl {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.hosts), func(a, b *hostControl) int { return cmp.Compare(a.job, b.job) })
}

// JobName returns the name of a job that has a host here, once it is known. It may be called at any time.
func (t *TaskExecutor) JobName(job ids.JobID) (name string, known bool) {
	s := t.shell.Load()
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		if h.job != job {
			continue
		}
		if name, known := h.jobName(); known {
			return name, true
		}
	}
	return "", false
}

func (h *hostControl) jobName() (name string, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tasks.job == nil {
		return "", false
	}
	return h.tasks.job.Name, true
}
