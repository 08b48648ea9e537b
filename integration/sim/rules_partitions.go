package sim

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// inputsCanBeRead looks at what tasks are to read: partitions of tasks that have finished, on the workers that have
// them, and not released. For the attempts see oneAttemptIsRead.
func inputsCanBeRead(w *watch) {
	ledgers(w, func(l *ledger, _ *wire, m msg.Message) error {
		deployed, is := m.(msg.DeployTasks)
		if !is {
			return nil
		}
		if deployed.Blocking && l.job != nil {
			w.w.facts[Waves]++
		}
		return l.eachInput(deployed, func(e ids.ExecutionAttemptID, p ids.PartitionID, at placement.Host) error {
			switch server, written := l.written[p]; {
			case !written:
				return fmt.Errorf("%s starts before %s is written", e, p)
			case server != at.ID:
				return fmt.Errorf("%s is to read %s from %s, and %s has it", e, p, at.ID, server)
			case l.released[p]:
				return fmt.Errorf("%s is to read %s, which is released", e, p)
			}
			return nil
		})
	})
}

// placedPartitionsAreRead compares what task hosts ask for with what their deployments name.
func placedPartitionsAreRead(w *watch) {
	type order struct {
		reader    ids.HostID
		partition ids.PartitionID
		at        placement.Host
	}
	named := make(map[order]bool)
	ledgers(w, func(l *ledger, _ *wire, m msg.Message) error {
		deployed, is := m.(msg.DeployTasks)
		if !is {
			return nil
		}
		return l.eachInput(deployed, func(_ ids.ExecutionAttemptID, p ids.PartitionID, at placement.Host) error {
			named[order{deployed.Host, p, at}] = true
			return nil
		})
	})
	w.reads = append(w.reads, func(s *station, from exchange.Producer) error {
		if p := (order{s.host, from.Partition, placement.Host{ID: from.Host, Address: from.Address}}); w.w.jobOf(s.job) != nil && !named[p] {
			return fmt.Errorf("host %s of %s reads %s at %s, and no deployment says so", s.host, s.job, from.Partition, from.Address)
		}
		return nil
	})
}

// releasedPartitionsAreNotMissed looks at tasks that fail because a partition is not there. Their JobMaster must not have released it
// unless it has cancelled them.
func releasedPartitionsAreNotMissed(w *watch) {
	ledgers(w, func(l *ledger, _ *wire, m msg.Message) error {
		changed, is := m.(msg.TaskStatesChanged)
		if !is {
			return nil
		}
		for _, c := range changed.Changes {
			if c.Failure == nil || c.Failure.PartitionLost == nil || l.canceled[c.Execution] {
				continue
			}
			newest := l.newest[taskOf(c.Execution)]
			if p := *c.Failure.PartitionLost; l.released[p] && newest == c.Execution {
				return fmt.Errorf("%s cannot read %s, which is released", c.Execution, p)
			}
		}
		return nil
	})
}

// inTime is how long messages take at most.
const inTime = time.Second

// finishedPartitionsAreKept looks at the first deployment of a source by a later master. The source must not run again if it is spared.
// Readers of spared sources show how often that is so.
func finishedPartitionsAreKept(w *watch) {
	ledgers(w, func(l *ledger, over *wire, m msg.Message) error {
		if held, is := m.(msg.HeldPartitions); is {
			for _, t := range held.Tasks {
				if int32(t.Execution.Epoch) < over.master.attempt.Attempt {
					w.w.facts[Held]++
				}
			}
		}
		deployed, is := m.(msg.DeployTasks)
		if !is || l.job == nil || w.w.schedule.Failover == full {
			return nil
		}
		g := &l.job.graph
		for _, t := range deployed.Tasks {
			if _, again := l.newest[taskOf(t.Execution)]; again {
				continue
			}
			if g.Vertices[t.Execution.Vertex].Source {
				if run, spared := w.w.spared(l, over.master, deployed.Blocking, t.Execution); spared {
					return fmt.Errorf("source %s runs again, and workers have all that %s and its neighbours have written, or had it until this master released it", t.Execution, run)
				}
			}
			for _, edge := range g.Inputs(jobgraph.VertexID(t.Execution.Vertex)) {
				if source := int(edge.From); g.Vertices[source].Source && !l.deployed(source) {
					if _, spared := w.w.spared(l, over.master, deployed.Blocking, ids.ExecutionAttemptID{Epoch: t.Execution.Epoch, Vertex: source}); spared {
						w.w.facts[Spared]++
					}
				}
			}
		}
		return nil
	})
}

// spared tells whether a source need not run again under a later master, because all partitions of a run under an earlier one are on
// workers in good order, or were when this master released the first of them. The master waits for these workers for a time. It may not
// know those that come later. Nothing has gone wrong since.
func (w *World) spared(l *ledger, m *master, blocking bool, source ids.ExecutionAttemptID) (run ids.ExecutionAttemptID, spared bool) {
	run, workers, until := w.holders(l, blocking, source)
	switch {
	case len(workers) == 0 || until < w.calm+inTime:
		return run, false
	case w.schedule.Edges == Later && blocking: // it may have gone on behind the source, and begun anew in waves
		return run, false
	}
	early := until < m.begun+w.config.Duration(config.PreviousWorkerTimeout) && w.schedule.Edges != Automatic
	return run, early || l.know(workers, until-inTime)
}

// know reports whether workers have registered before a time.
func (l *ledger) know(workers []*worker, before time.Duration) bool {
	for _, k := range workers {
		if since, known := l.admitted[k]; !known || since > before {
			return false
		}
	}
	return true
}

// holders returns the newest run of a source under earlier masters, and the workers that have all its partitions in good order. A
// partition that this master has released counts as long as the source may have no reader that has finished. until is when the first
// of them was released, or now. No workers: they have not all partitions, or the source has pipelined edges.
func (w *World) holders(l *ledger, blocking bool, of ids.ExecutionAttemptID) (run ids.ExecutionAttemptID, workers []*worker, until time.Duration) {
	have := maps.Clone(l.freed)
	for _, at := range w.partitions() {
		if p := at.partition; p.job == l.job.id && at.at.intact(p) && !l.released[p.partition] {
			have[p.partition] = holding{at.at.k, w.since()}
		}
	}
	for _, all := range []iter.Seq[ids.PartitionID]{maps.Keys(l.written), maps.Keys(have)} {
		for p := range all {
			if e := p.Execution; e.Vertex == of.Vertex && e.Epoch < of.Epoch && cmp.Or(cmp.Compare(run.Epoch, e.Epoch), cmp.Compare(run.Attempt, e.Attempt)) < 0 {
				run = e
			}
		}
	}
	until = w.since()
	for _, edge := range l.job.graph.Outputs(jobgraph.VertexID(of.Vertex)) {
		if edge.Kind != jobgraph.Blocking && !(blocking && edge.Pattern == jobgraph.AllToAll) {
			return run, nil, until
		}
		for run.Subtask = range l.job.graph.Vertices[of.Vertex].Parallelism {
			p := ids.PartitionID{Execution: run, Output: edge.Output}
			h, there := have[p]
			if !there || l.released[p] && l.begun(int(edge.To)) {
				return run, nil, until
			}
			workers, until = append(workers, h.worker), min(until, h.until)
		}
	}
	return run, workers, until
}

// partitionsAreKept looks at the partitions that a TaskExecutor removes. A master has released them, or the job has ended there, or no
// master has been there for a time. A last message may have come when the worker had given up the connection.
func partitionsAreKept(w *watch) {
	type servedCopy struct {
		k *worker
		served
	}
	type link struct {
		k   *worker
		job ids.JobID
	}
	released := make(map[servedCopy]bool)
	left := make(map[link]bool)
	heard := make(map[link]time.Duration)
	ledgers(w, func(_ *ledger, over *wire, m msg.Message) error {
		l := link{over.worker, ids.JobID(strings.TrimPrefix(over.target, jobMasters))}
		heard[l] = w.w.since()
		switch m := m.(type) {
		case msg.Disconnect, msg.RegistrationRejected:
			left[l] = true
		case msg.ReleasePartitions:
			for _, p := range m.Partitions {
				released[servedCopy{l.k, served{l.job, p}}] = true
			}
		}
		return nil
	})
	w.removes = append(w.removes, func(k *worker, p served) error {
		alone := w.w.since() - heard[link{k, p.job}]
		if released[servedCopy{k, p}] || left[link{k, p.job}] || alone+inTime >= w.w.config.Duration(config.TaskManagerSlotTimeout) {
			return nil
		}
		return fmt.Errorf("worker %s removes %s of %s, which its JobMaster has not released", k.id, p.partition, p.job)
	})
}

// untidy is how long a worker may take to remove what nobody needs, beyond the time for which it waits for a JobMaster.
const untidy = 2 * time.Minute

// partitionsGoWithTheirJobs looks for files of jobs that have ended, and for files that are not served though their host has ended.
func partitionsGoWithTheirJobs(w *watch) {
	type file struct {
		k    *worker
		path string
	}
	ended := make(map[ids.JobID]bool)
	left := make(lasting[file])
	w.told = append(w.told, func(job ids.JobID, _ msg.JobStatus) error {
		ended[job] = true
		return nil
	})
	w.turns = append(w.turns, func() error {
		for _, k := range w.w.runningWorkers() {
			alive := make(map[string]bool)
			for _, h := range k.hosts {
				alive[string(h.id)] = h.process.Alive()
			}
			isServed := make(map[string]bool)
			for _, p := range k.disks.served {
				isServed[p] = true
			}
			for _, path := range k.disks.paths() {
				counts := !k.process.Frozen() && (ended[k.disks.files[path].job] || !isServed[path] && !alive[writerOf(path)])
				lasts := left.note(file{k, path}, counts, w.w.since())
				if lasts > 0 && w.w.since()-max(w.w.calm, w.w.since()-lasts) > w.w.config.Duration(config.TaskManagerSlotTimeout)+untidy {
					return fmt.Errorf("worker %s has %s of %s, which nobody needs, for %v", k.id, path, k.disks.files[path].job, lasts)
				}
			}
		}
		return nil
	})
}

// servingWorkersStay models which workers have told their ResourceManager that they serve partitions. It releases them neither as idle
// nor because jobs avoid their nodes.
func servingWorkersStay(w *watch) {
	serves := make(map[ids.ResourceID]bool)
	w.said = append(w.said, func(over *wire, m msg.Message) error {
		k := over.worker
		switch m := m.(type) {
		case msg.RegisterTaskExecutor:
			serves[k.id] = len(m.Jobs) > 0
		case msg.SlotReport:
			serves[k.id] = m.Partitions
		}
		return nil
	})
	w.orders = append(w.orders, func(m *master, o resourcemanager.Orders) error {
		for _, r := range o.Release {
			if serves[r.Worker] && (strings.Contains(r.Cause, config.WorkerIdleTimeout.Name()) || strings.HasSuffix(r.Cause, "set its node aside")) {
				return fmt.Errorf("%s releases worker %s, which serves partitions: %s", m.address(), r.Worker, r.Cause)
			}
		}
		return nil
	})
}
