package taskexecutor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Bounds of what the task hosts, which run users' code, can make this worker hold: all partitions take at most some 25 MB, with their
// reports and their places in the server. A host can add partitions only of tasks that the JobMaster has deployed there.
const (
	// maxPartitions is the number of finished partitions of all jobs, and maxJobPartitions that of one job: a large job leaves room
	// for others. A host that writes more is ended. If it has written too many for one job, the job fails: another attempt would
	// write as many. If others leave too little room for it, the job goes on elsewhere.
	maxPartitions    = 1 << 15
	maxJobPartitions = maxPartitions / 4 * 3
	// mostFileBytes is the size that counts of a partition whose host tells a larger one: the size of all partitions is a number still.
	mostFileBytes = 1 << 47
	// maxReports is the memory for the reports of finished tasks, in bytes: 10,000 tasks with a few counters. If there is no room for
	// the report of a task, a later JobMaster runs the task again. Tasks without partitions give way to those with partitions.
	maxReports = 8 << 20
	// maxBatch bounds a HeldPartitions of several tasks, in bytes. The report of one task may be longer: see msg.MaxWorkerMessage.
	maxBatch = 256 << 10
	// maxReport bounds the report of one task, so that a HeldPartitions of this task alone is no longer than the JobMaster accepts.
	maxReport = msg.MaxWorkerMessage - 1<<10
)

// finished is a task that has ended here. A later JobMaster does not run it again if it learns of it. So the worker remembers it, also
// without partitions, while it has slots or partitions of the job.
type finished struct {
	host       ids.HostID             // the id of its start
	partitions []msg.WrittenPartition // those that this worker serves: not the released ones
	report     *msg.TaskStateChange   // without Partitions; nil: there was no room for it
	size       int                    // of the report
}

// tasksChanged notes which partitions a host has finished, and passes its message on. A consumer may ask for the partitions as
// soon as the JobMaster knows of them, so they are served before.
func (c *core) tasksChanged(j *job, m msg.TaskStatesChanged) {
	added := 0
	counted := make(map[ids.ExecutionAttemptID]bool, 1)
	for _, change := range m.Changes {
		f := fault{text: writtenFault(change, c.config.PartitionDisks)}
		if _, runs := j.host.tasks[change.Execution]; runs && change.State.Final() && !counted[change.Execution] && !j.void() { // hold keeps no others
			counted[change.Execution] = true
			added += len(change.Partitions)
		}
		if f.text == "" {
			f = c.roomFault(j, added)
		}
		if f.text != "" {
			c.endForFault(j, f)
			return
		}
	}
	for _, change := range m.Changes {
		c.hold(j, change)
	}
	c.passUp(j, m)
}

// void tells whether no JobMaster will hear of the tasks of a job's host: the link to it was lost, and the JobMaster has admitted this
// worker before the host has ended the lost tasks.
func (j *job) void() bool { return !j.host.told && j.link.state == linkAdmitted }

// roomFault says why the worker cannot serve so many further partitions of a job; a fault without text: it can.
func (c *core) roomFault(j *job, added int) fault {
	switch {
	case added == 0:
	case j.partitions+added > maxJobPartitions:
		return fault{permanent: true, text: fmt.Sprintf("worker %s cannot serve more than %d finished partitions of one job: use more workers, or a lower parallelism",
			c.config.Resource, maxJobPartitions)}
	case c.partitions+added > maxPartitions:
		return fault{reason: msg.HostFull, text: fmt.Sprintf("worker %s cannot serve more than %d finished partitions, and has %d of other jobs: use more workers, a lower parallelism, or run fewer jobs at a time",
			c.config.Resource, maxPartitions, c.partitions-j.partitions)}
	}
	return fault{}
}

// writtenFault says why no honest host with so many disks reports these partitions, or "".
func writtenFault(change msg.TaskStateChange, disks int) string {
	if change.State == msg.ExecutionFinished && change.Failure != nil {
		return fmt.Sprintf("it broke the protocol: it reports a failure of task %s, which is %s", change.Execution, change.State)
	}
	if len(change.Partitions) > 0 && change.State != msg.ExecutionFinished {
		return fmt.Sprintf("it broke the protocol: it reports partitions of task %s, which is %s", change.Execution, change.State)
	}
	last := -1
	for _, p := range change.Partitions {
		if p.Output <= last || p.Output >= jobgraph.MaxEdges || p.Dir < 0 || p.Dir >= disks || p.Records < 0 || p.Bytes < 0 {
			return fmt.Sprintf("it broke the protocol: task %s cannot have written output %d after output %d, on disk %d of %d, with %d records in %d bytes",
				change.Execution, p.Output, last, p.Dir, disks, p.Records, p.Bytes)
		}
		last = p.Output
	}
	return ""
}

// hold takes over the partitions of a task that has finished. It ignores what a host reports a second time, or of a task that was
// not deployed there. The JobMaster need not have heard of the task's end: if its link is lost, the next registration reports it. If the
// registration was faster than a host whose tasks are lost, no message reports it any more, so nobody would release the partitions.
func (c *core) hold(j *job, change msg.TaskStateChange) {
	inputs, runs := j.host.tasks[change.Execution]
	if !change.State.Final() || !runs {
		return
	}
	delete(j.host.tasks, change.Execution)
	if change.State != msg.ExecutionFinished || c.config.PartitionDisks == 0 {
		return
	}
	change.Inputs = inputs
	f := &finished{host: j.host.id, partitions: slices.Clone(change.Partitions)}
	if j.void() {
		if len(f.partitions) > 0 {
			c.emit(removePartitions{Job: j.id, Files: f.files(change.Execution)})
		}
		return
	}
	if size := change.Size(); size <= maxReport && c.makeRoom(size, len(f.partitions) > 0) {
		f.size = size
		f.report = &msg.TaskStateChange{
			Execution: change.Execution, State: change.State, Counters: change.Counters, Metrics: change.Metrics, User: change.User, Inputs: inputs,
		}
		c.reports += size
	}
	if j.finished == nil {
		j.finished, j.writers = make(map[ids.ExecutionAttemptID]*finished), make(map[ids.HostID]int)
	}
	if len(f.partitions) == 0 {
		if f.report != nil {
			j.finished[change.Execution] = f
			c.spare++
		}
		return
	}
	needed := c.needsMaster(j)
	j.finished[change.Execution] = f
	j.writers[f.host]++
	c.emit(servePartitions{Job: j.id, Files: f.files(change.Execution)})
	c.countPartitions(j, len(f.partitions), fileBytes(f.partitions))
	if j.link.state != linkAdmitted {
		c.keepPartitions(j)
	}
	if !needed && j.link.state == linkDown { // nothing was here for which the worker would have opened it again
		c.set(timer{Kind: timerReconnect, Link: j.link.id, Job: j.id}, c.pause(j.link.failures))
	}
}

// makeRoom tells whether there is room for another report. For a task with partitions it drops the reports of those without.
func (c *core) makeRoom(size int, serves bool) bool {
	if c.reports+size > maxReports && serves && c.spare > 0 {
		for _, j := range c.jobs { //bobbin:anyorder each job drops its own
			c.forget(j, func(f *finished) bool { return len(f.partitions) == 0 })
		}
	}
	return c.reports+size <= maxReports
}

// forget drops finished tasks of a job of which no partition is here.
func (c *core) forget(j *job, wanted func(*finished) bool) {
	for execution, f := range j.finished { //bobbin:anyorder sums
		if len(f.partitions) == 0 && wanted(f) {
			delete(j.finished, execution)
			c.reports -= f.size
			c.spare--
		}
	}
}

// files are the files of a task's partitions.
func (f *finished) files(execution ids.ExecutionAttemptID) []PartitionFile {
	files := make([]PartitionFile, len(f.partitions))
	for i, p := range f.partitions {
		files[i] = PartitionFile{Partition: ids.PartitionID{Execution: execution, Output: p.Output}, Host: f.host, Disk: p.Dir}
	}
	return files
}

// fileBytes is the size of partitions as their host has told it.
func fileBytes(partitions []msg.WrittenPartition) (sum int64) {
	for _, p := range partitions {
		sum += min(p.Bytes, mostFileBytes)
	}
	return sum
}

// served counts the partitions of all jobs, for users; nil: there are none.
func (c *core) served() *msg.ServedPartitions {
	if c.partitions == 0 {
		return nil
	}
	return &msg.ServedPartitions{Number: c.partitions, Bytes: config.Bytes(min(c.partitionBytes, msg.MaxServedBytes))}
}

// servedJobs are the jobs whose partitions the worker serves, for a registration.
func (c *core) servedJobs() (jobs []ids.JobID) {
	for _, j := range c.sortedJobs() {
		if j.partitions > 0 && len(jobs) < msg.MaxServedJobs {
			jobs = append(jobs, j.id)
		}
	}
	return jobs
}

// countPartitions keeps the number and the bytes of partitions, and their number in their job. The ResourceManager learns at once when
// the worker begins or ceases to serve some: otherwise it might release a worker whose last slot has just become free.
func (c *core) countPartitions(j *job, more int, bytes int64) {
	j.partitions += more
	c.partitionBytes += bytes
	served := c.partitions > 0
	if c.partitions += more; served != (c.partitions > 0) {
		c.tellResourceManager(c.slotReport())
	}
}

// slotReport is the report for the ResourceManager, without metrics.
func (c *core) slotReport() msg.SlotReport {
	return msg.SlotReport{Slots: c.slots.report(), Partitions: c.partitions > 0}
}

// release removes those of the partitions that are here. A job that has neither partitions nor slots any more is gone.
func (c *core) release(j *job, partitions []ids.PartitionID, cause string) {
	released := make(map[ids.PartitionID]bool, len(partitions))
	for _, p := range partitions {
		released[p] = true
	}
	var removed []PartitionFile
	var bytes int64
	var idle []ids.HostID // hosts that have ended, and of which nothing is held any more
	for _, p := range partitions {
		f := j.finished[p.Execution]
		if f == nil || !released[p] || len(f.partitions) == 0 {
			continue
		}
		var kept []msg.WrittenPartition             // a message may have the old list
		for i, file := range f.files(p.Execution) { // all that are released together
			if released[file.Partition] {
				delete(released, file.Partition)
				removed = append(removed, file)
				bytes += fileBytes(f.partitions[i : i+1])
			} else {
				kept = append(kept, f.partitions[i])
			}
		}
		if f.partitions = kept; len(kept) > 0 {
			continue
		}
		if f.report == nil {
			delete(j.finished, p.Execution)
		} else {
			c.spare++
		}
		if j.writers[f.host]--; j.writers[f.host] == 0 {
			delete(j.writers, f.host)
			if c.hosts[f.host] == nil {
				idle = append(idle, f.host)
			}
		}
	}
	if len(removed) == 0 {
		return
	}
	c.emit(removePartitions{Job: j.id, Files: removed})
	for _, host := range idle {
		c.emit(tidyPartitions{Host: host})
	}
	c.countPartitions(j, -len(removed), -bytes)
	if j.host == nil {
		c.settle(j, cause)
	}
}

// dropPartitions removes all partitions of a job, and forgets its finished tasks.
func (c *core) dropPartitions(j *job, cause string) {
	c.release(j, j.held(func(*finished) bool { return true }), cause)
	c.forget(j, func(*finished) bool { return true })
}

// held are the partitions of those finished tasks of a job that are wanted.
func (j *job) held(wanted func(*finished) bool) (partitions []ids.PartitionID) {
	for _, execution := range j.sortedFinished() {
		f := j.finished[execution]
		if !wanted(f) {
			continue
		}
		for _, p := range f.partitions {
			partitions = append(partitions, ids.PartitionID{Execution: execution, Output: p.Output})
		}
	}
	return partitions
}

// tidyAfter removes what a host that has ended leaves behind: files of tasks that have not finished.
func (c *core) tidyAfter(j *job, h *host) {
	if c.config.PartitionDisks > 0 {
		c.emit(tidyPartitions{Host: h.id, Keep: j.held(func(f *finished) bool { return f.host == h.id })})
	}
}

// reportHeld tells a JobMaster, which has just admitted this worker, of the tasks that have finished here. Partitions that it cannot
// report are of no use to the JobMaster.
func (c *core) reportHeld(j *job) {
	if c.config.PartitionDisks == 0 {
		return
	}
	var m msg.HeldPartitions
	size := 0
	for _, execution := range j.sortedFinished() {
		f := j.finished[execution]
		if f.report == nil {
			continue
		}
		if len(m.Tasks) == msg.MaxHeld || len(m.Tasks) > 0 && size+f.size > maxBatch {
			c.sendJobMaster(j, m)
			m, size = msg.HeldPartitions{}, 0
		}
		task := *f.report
		task.Partitions = f.partitions
		m.Tasks, size = append(m.Tasks, task), size+f.size
	}
	m.Last = true
	c.sendJobMaster(j, m)
	c.release(j, j.held(func(f *finished) bool { return f.report == nil }), "a JobMaster cannot be told of its partitions")
}

// sortedFinished are the finished tasks of a job.
func (j *job) sortedFinished() []ids.ExecutionAttemptID {
	return slices.SortedFunc(maps.Keys(j.finished), ids.ExecutionAttemptID.Compare)
}

// keepPartitions begins the time in which a JobMaster may admit this worker.
func (c *core) keepPartitions(j *job) {
	if j.partitions > 0 {
		c.allow(timer{Kind: timerPartitions, Job: j.id}, c.config.SlotTimeout)
	}
}

// partitionsLate removes partitions for which no JobMaster has come in time. See slotLate.
func (c *core) partitionsLate(j *job) {
	switch {
	case j == nil || j.link.state == linkAdmitted:
	case c.awaitsMaster(j):
		c.keepPartitions(j)
	default:
		c.dropPartitions(j, "no JobMaster for "+c.config.SlotTimeout.String()+" (taskmanager.slot.timeout)")
	}
}
