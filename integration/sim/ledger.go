package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
)

// ledger is what a JobMaster could know of the blocking partitions of its job, by its messages.
type ledger struct {
	job      *job
	written  map[ids.PartitionID]ids.HostID // reported with the end of their tasks: the servers
	admitted map[*worker]time.Duration      // since when
	released map[ids.PartitionID]bool
	freed    map[ids.PartitionID]holding       // those of them that were in good order
	told     map[int]bool                      // vertices of which tasks have finished before their workers were admitted
	newest   map[[2]int]ids.ExecutionAttemptID // of each subtask that it has deployed
	canceled map[ids.ExecutionAttemptID]bool
}

// holding is a partition that was in good order at a worker, until the JobMaster released it, or until now.
type holding struct {
	worker *worker
	until  time.Duration
}

// leadership is a JobMaster: that of a job in one master.
type leadership struct {
	master *master
	job    ids.JobID
}

// jobMasters is what the names of the streams to JobMasters begin with.
const jobMasters = "jobmaster/"

// ledgers keeps the ledgers of all JobMasters. heard is called for each message from or to one of them, before the ledger
// has it.
func ledgers(w *watch, heard func(l *ledger, over *wire, m msg.Message) error) {
	all := make(map[leadership]*ledger)
	w.said = append(w.said, func(over *wire, m msg.Message) error {
		id, is := strings.CutPrefix(over.target, jobMasters)
		if !is {
			return nil
		}
		of := leadership{over.master, ids.JobID(id)}
		if all[of] == nil {
			all[of] = &ledger{
				job: w.w.jobOf(of.job), written: make(map[ids.PartitionID]ids.HostID), admitted: make(map[*worker]time.Duration),
				released: make(map[ids.PartitionID]bool), newest: make(map[[2]int]ids.ExecutionAttemptID),
				canceled: make(map[ids.ExecutionAttemptID]bool), freed: make(map[ids.PartitionID]holding), told: make(map[int]bool),
			}
		}
		if err := heard(all[of], over, m); err != nil {
			return fmt.Errorf("%s of %s: %w", of.job, of.master.address(), err)
		}
		all[of].note(w.w.since(), over.worker, m)
		return nil
	})
}

func (l *ledger) note(now time.Duration, k *worker, m msg.Message) {
	switch m := m.(type) {
	case msg.TaskStatesChanged:
		l.noteWritten(k, m.Changes)
	case msg.HeldPartitions:
		l.noteWritten(k, m.Tasks)
		for _, t := range m.Tasks {
			l.told[t.Execution.Vertex] = true
		}
	case msg.RegisteredAtJobMaster:
		l.admitted[k] = now
	case msg.ReleasePartitions:
		for _, p := range m.Partitions {
			if l.job != nil && !l.released[p] && k.disks.intact(served{l.job.id, p}) {
				l.freed[p] = holding{k, now}
			}
			l.released[p] = true
		}
	case msg.CancelTasks:
		for _, e := range m.Executions {
			l.canceled[e] = true
		}
	case msg.DeployTasks:
		for _, t := range m.Tasks {
			task := taskOf(t.Execution)
			if newest, known := l.newest[task]; !known || newest.Compare(t.Execution) < 0 {
				l.newest[task] = t.Execution
			}
		}
	}
}

// deployed tells whether the JobMaster has deployed a task of a vertex.
func (l *ledger) deployed(vertex int) bool {
	for task := range l.newest {
		if task[0] == vertex {
			return true
		}
	}
	return false
}

// begun tells whether tasks of a vertex may have finished, under this master or an earlier one.
func (l *ledger) begun(vertex int) bool { return l.told[vertex] || l.deployed(vertex) }

func (l *ledger) noteWritten(k *worker, tasks []msg.TaskStateChange) {
	for _, t := range tasks {
		for _, p := range t.Partitions {
			l.written[ids.PartitionID{Execution: t.Execution, Output: p.Output}] = ids.PartitionHost(k.id)
		}
	}
}

// jobOf returns the job with an id. A program's jobs get their ids from their master; nil: it is not known.
func (w *World) jobOf(id ids.JobID) *job {
	for _, j := range w.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

// eachInput calls do for each finished partition that a deployment lets its tasks read.
func (l *ledger) eachInput(m msg.DeployTasks, do func(e ids.ExecutionAttemptID, p ids.PartitionID, at placement.Host) error) error {
	g, table, err := l.graphOf(m)
	if err != nil || table == nil {
		return err
	}
	for _, t := range m.Tasks {
		if t.Winners != nil {
			continue
		}
		for _, edge := range g.Inputs(jobgraph.VertexID(t.Execution.Vertex)) {
			if edge.Kind != jobgraph.Blocking {
				continue
			}
			for s := range g.Vertices[edge.From].Parallelism {
				if edge.Pattern == jobgraph.Pointwise && s != t.Execution.Subtask {
					continue
				}
				e, at, found := table.FindPartitions(int(edge.From), s)
				if !found {
					return fmt.Errorf("%s is not told where subtask %d of vertex %d has written", t.Execution, s, edge.From)
				}
				if err := do(t.Execution, ids.PartitionID{Execution: e, Output: edge.Output}, at); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// graphOf returns the graph as the JobMaster has it, and the places of producers; no table: the tasks have none.
func (l *ledger) graphOf(m msg.DeployTasks) (*jobgraph.JobGraph, *placement.Table, error) {
	if l.job == nil || m.Producers == nil {
		return nil, nil, nil
	}
	g := &l.job.graph
	if m.Blocking {
		var err error
		if g, err = g.WithBlockingExchanges(); err != nil {
			return nil, nil, err
		}
	}
	parallelism := make([]int, len(g.Vertices))
	for v := range g.Vertices {
		parallelism[v] = g.Vertices[v].Parallelism
	}
	table, err := placement.Decode(m.Producers, parallelism)
	return g, table, err
}
