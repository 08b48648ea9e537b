package taskexecutor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// modelFile is the file of a finished partition. The files that are here are those of finished tasks, without the released ones
// and without those of jobs that have ended or have no JobMaster any more.
type modelFile struct {
	job  ids.JobID
	host ids.HostID
	disk int
	size int64 // as its host has told
}

// showReport writes a slot report.
func showReport(slots []msg.SlotStatus, partitions bool) string {
	return fmt.Sprintf("%v, serving: %t", slots, partitions)
}

// served are the jobs that have files here.
func (w *world) served() (jobs []ids.JobID) {
	for _, f := range w.files {
		jobs = append(jobs, f.job)
	}
	slices.Sort(jobs)
	return slices.Compact(jobs)
}

// checkServed requires that users see the partitions that are here, and that a size which no disk has does not make a wrong sum.
func (w *world) checkServed() {
	var sum int64
	for _, f := range w.files {
		sum += min(f.size, mostFileBytes)
	}
	got := w.core.served()
	if len(w.files) == 0 {
		if got != nil || w.core.partitionBytes != 0 {
			w.t.Fatalf("it serves %+v, and has no partitions", got)
		}
		return
	}
	want := msg.ServedPartitions{Number: len(w.files), Bytes: config.Bytes(min(sum, msg.MaxServedBytes))}
	if got == nil || *got != want || got.Check() != nil {
		w.t.Fatalf("it serves %+v, want %+v", got, want)
	}
}

// partitionsOf are the partitions of a job, in order.
func (w *world) partitionsOf(job ids.JobID) []ids.PartitionID {
	return w.partitions(func(f modelFile) bool { return f.job == job })
}

func (w *world) partitions(wanted func(modelFile) bool) (partitions []ids.PartitionID) {
	for id, f := range w.files {
		if wanted(f) {
			partitions = append(partitions, id)
		}
	}
	slices.SortFunc(partitions, func(a, b ids.PartitionID) int {
		return max(2*a.Execution.Compare(b.Execution), -2) + max(min(a.Output-b.Output, 1), -1)
	})
	return partitions
}

// needed tells whether a job needs its JobMaster.
func (w *world) needed(job ids.JobID) bool { return len(w.held(job))+len(w.partitionsOf(job)) > 0 }

// deploys notes tasks.
func (h *modelHost) deploys(tasks []msg.TaskDeployment) {
	if h.deployed == nil {
		h.deployed = make(map[ids.ExecutionAttemptID]bool)
	}
	for _, task := range tasks {
		h.deployed[task.Execution] = true
	}
}

// tasksEnd requires that the partitions of finished tasks are served, but for those of which no JobMaster will hear: they are removed. A
// host that lies about them is ended: then it returns false.
func (w *world) tasksEnd(h *modelHost, m msg.TaskStatesChanged) bool {
	for _, change := range m.Changes {
		outputs := make(map[int]bool)
		for _, p := range change.Partitions {
			if change.State != msg.ExecutionFinished || p.Dir > 1 || outputs[p.Output] {
				if !h.blamed {
					h.blamed = true
					w.kill(h)
				}
				return false
			}
			outputs[p.Output] = true
		}
	}
	before := len(w.files)
	for _, change := range m.Changes {
		if change.State == msg.ExecutionRunning || !h.deployed[change.Execution] {
			continue
		}
		delete(h.deployed, change.Execution)
		if !h.takes && w.admitted(w.jobs[h.job].link) {
			for _, p := range change.Partitions {
				w.must("remove %s of %s from %s on disk %d", ids.PartitionID{Execution: change.Execution, Output: p.Output}, h.job, shortHost(h.id), p.Dir)
			}
			continue
		}
		if change.State == msg.ExecutionFinished {
			w.done[change.Execution] = h.job
		}
		for _, p := range change.Partitions {
			id := ids.PartitionID{Execution: change.Execution, Output: p.Output}
			w.files[id] = modelFile{h.job, h.id, p.Dir, p.Bytes}
			w.must("serve %s of %s from %s on disk %d", id, h.job, shortHost(h.id), p.Dir)
		}
	}
	w.tellServing(before)
	return true
}

// tellServing requires that the ResourceManager learns whether the worker serves partitions, if that has changed.
func (w *world) tellServing(before int) {
	if (before > 0) == (len(w.files) > 0) {
		return
	}
	if l := w.links[w.rm.link]; l != nil && l.admitted {
		w.must("to %d: report %s", w.rm.link, w.report())
	} else if l != nil && l.open {
		l.outdated = true
	}
}

// release removes partitions of a job that are here.
func (w *world) release(job ids.JobID, partitions ...ids.PartitionID) {
	before := len(w.files)
	writers := make(map[ids.HostID]bool)
	for _, id := range partitions {
		f, here := w.files[id]
		if !here || f.job != job {
			continue
		}
		w.must("remove %s of %s from %s on disk %d", id, job, shortHost(f.host), f.disk)
		delete(w.files, id)
		writers[f.host] = true
	}
	if len(writers) == 0 {
		return
	}
	for host := range writers {
		if w.hosts[host] == nil && len(w.writtenBy(host)) == 0 {
			w.tidies(host)
		}
	}
	w.tellServing(before)
	if w.jobs[job].host == nil {
		w.free(job)
	}
}

func (w *world) writtenBy(host ids.HostID) []ids.PartitionID {
	return w.partitions(func(f modelFile) bool { return f.host == host })
}

// tidies requires that what a host leaves is removed, except its finished partitions. When the worker ends, this model does not follow
// any more what its hosts finish.
func (w *world) tidies(host ids.HostID) {
	if w.ending {
		return
	}
	w.must("tidy after %s, keep %v", shortHost(host), w.writtenBy(host))
}

// partitionsLate removes the partitions of a job whose JobMaster does not come back within 10 s. They stay while there is no
// ResourceManager, and for 5 minutes while the JobMaster is being made.
func (w *world) partitionsLate(job ids.JobID) {
	j := w.jobs[job]
	switch {
	case j == nil, w.admitted(j.link), !w.admitted(w.rm.link):
	case !j.unready.IsZero() && w.now.Sub(j.unready) < 5*60e9:
	default:
		w.release(job, w.partitionsOf(job)...)
		w.forget(job)
	}
}

// doneOf are the finished tasks of a job, in order.
func (w *world) doneOf(job ids.JobID) []ids.ExecutionAttemptID {
	done := []ids.ExecutionAttemptID(nil)
	for id, of := range w.done {
		if of == job {
			done = append(done, id)
		}
	}
	slices.SortFunc(done, ids.ExecutionAttemptID.Compare)
	return done
}

// forget forgets the finished tasks of a job.
func (w *world) forget(job ids.JobID) {
	maps.DeleteFunc(w.done, func(_ ids.ExecutionAttemptID, of ids.JobID) bool { return of == job })
}

// informed notes that a JobMaster is told of all partitions of its job.
func (w *world) informed(l *modelLink, m msg.HeldPartitions) string {
	if l.informed = m.Last; !m.Last {
		w.t.Fatalf("%+v: so few partitions, and others are to follow", m)
	}
	partitions, done := []ids.PartitionID(nil), []ids.ExecutionAttemptID(nil)
	for _, task := range m.Tasks {
		done = append(done, task.Execution)
		if !slices.Equal(task.Inputs, []uint64{uint64(task.Execution.Attempt)}) {
			w.t.Fatalf("%s is reported to have read %v", task.Execution, task.Inputs)
		}
		if task.State != msg.ExecutionFinished || task.Counters["words"] != 7 {
			w.t.Fatalf("the task is reported as %+v", task)
		}
		for _, p := range task.Partitions {
			id := ids.PartitionID{Execution: task.Execution, Output: p.Output}
			if f := w.files[id]; f.disk != p.Dir {
				w.t.Fatalf("%s is reported as %+v", id, p)
			}
			partitions = append(partitions, id)
		}
	}
	return fmt.Sprintf("holds %v, of %v", partitions, done)
}

// deploys draws the deployment of a task that has never run, or of none.
func (w *world) deploys(host ids.HostID) msg.DeployTasks {
	m := msg.DeployTasks{Host: w.nameOf(host)}
	if w.oneOf(4, "a task") > 0 {
		m.Tasks = []msg.TaskDeployment{{
			Execution: ids.ExecutionAttemptID{Epoch: 1, Vertex: w.oneOf(3, "vertex"), Attempt: len(w.history)}, Inputs: []uint64{uint64(len(w.history))},
		}}
	}
	return m
}

// changes draws what a host says about a task that runs there, or about one that has finished here, or lies.
func (w *world) changes(host ids.HostID) msg.TaskStatesChanged {
	var tasks []ids.ExecutionAttemptID
	if h := w.hosts[host]; h != nil {
		tasks = slices.SortedFunc(maps.Keys(h.deployed), ids.ExecutionAttemptID.Compare)
	}
	if w.oneOf(8, "any task") == 0 {
		for _, id := range w.partitions(func(modelFile) bool { return true }) {
			tasks = append(tasks, id.Execution)
		}
	}
	var m msg.TaskStatesChanged
	if len(tasks) == 0 {
		return m
	}
	change := msg.TaskStateChange{Execution: tasks[w.oneOf(len(tasks), "task")], State: msg.ExecutionFinished, Counters: map[string]int64{"words": 7}}
	for output := range w.oneOf(3, "outputs") {
		change.Partitions = append(change.Partitions, msg.WrittenPartition{Output: output, Dir: w.oneOf(2, "disk"), Bytes: 1 << w.oneOf(63, "size")})
	}
	switch w.oneOf(16, "change") {
	case 0:
		change.State = msg.ExecutionFailed
	case 1:
		change.State, change.Partitions = msg.ExecutionRunning, nil
	case 2:
		change.Partitions = append(change.Partitions, msg.WrittenPartition{Output: 0})
	case 3:
		change.Partitions = append(change.Partitions, msg.WrittenPartition{Output: 7, Dir: 2})
	}
	m.Changes = append(m.Changes, change)
	return m
}

// releases draws partitions that are here, and one that is not.
func (w *world) releases() msg.ReleasePartitions {
	m := msg.ReleasePartitions{Partitions: []ids.PartitionID{{Output: 9}}}
	for _, id := range w.partitions(func(modelFile) bool { return true }) {
		if w.oneOf(2, "released") == 0 {
			m.Partitions = append(m.Partitions, id)
		}
	}
	return m
}
