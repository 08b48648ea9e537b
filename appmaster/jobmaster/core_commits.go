package jobmaster

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
)

// A region that writes files has commit tasks, one for each output. A commit task learns which attempts have
// written the parts, reports these winners, and waits for leave. When all other tasks of the region have finished
// and all its commit tasks have reported, the core has the winners stored, and then gives leave.
//
//	open ──▶ complete ──▶ storing ──▶ recorded ──▶ leave ──▶ committed
//	  ▲          │
//	  └──────────┘ the region fails: all its tasks run again
//
// From storing on, a later master may find the record. So the winners are final from then on, and only the commit
// tasks of the region run again, after any failure and whatever the failover strategy is: before the leave as well as
// during the commit. While a record is being stored, the region does not restart. The store may not answer for long;
// without it, nothing may be committed anyway.
//
// A commit task that reads blocking partitions is in a region of its own. So that the writers need not run again after the commit,
// it waits until all other regions that read from them are done.
//
// When a region has committed, its output belongs to those who read it: they may move or replace it. So the core has this
// stored, too, if other regions still run: a later master must not look for that output. Nothing waits for it.
//
// A job that ends without a result cancels its commit tasks, also those that have leave. An output of theirs is
// complete if it has _SUCCESS. Without it, all files of a commit that has begun stay: see package output.

// maxStoring bounds the records that are stored at the same time, and so the calls to HDFS for them. It also bounds those
// that store that regions have committed.
const maxStoring = 16

// commitPhase is the progress of a region's commit.
type commitPhase int

const (
	open     commitPhase = iota + 1 // its tasks run
	complete                        // its record is known, and waits until it is stored
	storing                         // its record is being stored
	recorded                        // its record is stored: only its commit tasks run again
)

// commit is the commit of a region.
type commit struct {
	phase   commitPhase
	tasks   []*executiongraph.Execution // its commit tasks
	winners map[int][]string            // by vertex, of the commit tasks that have reported
	covers  []int                       // other regions that never run again with this commit: its record has them, too
	free    []executiongraph.Held       // partitions that nobody reads once the record is stored
}

// findCommits finds the commit tasks of the regions.
func (c *core) findCommits() {
	c.commits = make([]*commit, len(c.regions))
	for v, vertex := range c.config.Graph.Vertices {
		if !vertex.Commit {
			continue
		}
		task := &c.graph.Vertex(v)[0]
		k := c.commits[task.Region]
		if k == nil {
			k = &commit{phase: open, winners: make(map[int][]string)}
			c.commits[task.Region] = k
		}
		k.tasks = append(k.tasks, task)
	}
}

// isRecorded tells whether only the commit tasks of a region run again.
func (c *core) isRecorded(r int) bool { return c.commits[r] != nil && c.commits[r].phase == recorded }

// commitsOnly tells whether a region has only commit tasks.
func (c *core) commitsOnly(r int) bool {
	k := c.commits[r]
	return k != nil && len(k.tasks) == c.graph.Size(r)
}

// isFinal tells whether only the commit tasks of a region may run again.
func (c *core) isFinal(r int) bool { return c.isStoring(r) || c.isRecorded(r) }

// isCommitted tells whether a region has committed its output. It never runs again.
func (c *core) isCommitted(r int) bool {
	return c.isRecorded(r) && !slices.ContainsFunc(c.commits[r].tasks, func(e *executiongraph.Execution) bool {
		return e.State != msg.ExecutionFinished
	})
}

// isOver tells whether no task of a region runs again: it has committed its output, or the record of another region has it, too.
func (c *core) isOver(r int) bool { return c.covered[r] || c.isCommitted(r) }

// committed has it stored that a region has committed. If the job ends with that, its result says so.
func (c *core) committed(r int) {
	if !c.graph.Finished() {
		c.emit(storeCommitted{Region: r})
	}
}

// isStoring tells whether the record of a region is being stored.
func (c *core) isStoring(r int) bool { return c.commits[r] != nil && c.commits[r].phase == storing }

// mayCommit tells whether a task needs no leave, or has it.
func (c *core) mayCommit(e *executiongraph.Execution) bool {
	return !c.config.Graph.Vertices[e.ID.Vertex].Commit || c.isRecorded(e.Region)
}

// winners are what a task commits without leave; nil for a task that runs as any other.
func (c *core) winners(e *executiongraph.Execution) []string {
	if !c.isRecorded(e.Region) {
		return nil
	}
	return c.commits[e.Region].winners[e.ID.Vertex]
}

// commitPrepared notes what a commit task is about to commit.
func (c *core) commitPrepared(w *worker, said taskExecutorSaid) {
	m := said.Message.(msg.CommitPrepared)
	e := c.task(w, m.Execution, said)
	if e == nil || e.State == msg.ExecutionCanceling {
		return
	}
	v := e.ID.Vertex
	if err := c.checkWinners(v, m.Winners); err != nil {
		c.misbehaved(w, e, err)
		return
	}
	k := c.commits[e.Region]
	if _, reported := k.winners[v]; reported {
		c.emit(dropped{From: said.From, Message: m, Why: "the winners of the output are known already"})
		return
	}
	k.winners[v] = m.Winners
	c.completeCommit(e.Region)
}

// checkWinners checks the winners that a task of a vertex has reported.
func (c *core) checkWinners(v int, winners []string) error {
	if !c.config.Graph.Vertices[v].Commit {
		return errors.New("task asks for leave to commit but commits nothing")
	}
	parts := 0
	for _, producer := range c.layout.producers[v] {
		parts += c.config.Graph.Vertices[producer].Parallelism
	}
	if len(winners) == 0 || len(winners) > parts {
		return fmt.Errorf("task commits %d parts, and %d tasks write them", len(winners), parts)
	}
	total := 0
	for _, winner := range winners {
		if total += len(winner); len(winner) > jobgraph.MaxCommittable || total > jobgraph.MaxCommittables {
			return fmt.Errorf("task commits a part with a committable of %d bytes, and %d bytes together with those before", len(winner), total)
		}
	}
	return nil
}

// completeCommit notes that the record of a region can be stored, once all tasks have finished and reported. Of a
// failed region no report is known.
func (c *core) completeCommit(r int) {
	k := c.commits[r]
	if k == nil || k.phase != open || len(k.winners) < len(k.tasks) || c.graph.Unended(r) > len(k.tasks) {
		return
	}
	if !c.graph.MayCommit(r) || c.restsOnOther(r) || c.asksFirst() {
		c.onHold = append(c.onHold, r)
		return
	}
	k.phase = complete
	c.toStore = append(c.toStore, r)
}

// restsOnOther tells whether a record of the same part is being stored. Regions may be done only because of that record. A later master
// that finds the record of this region alone would run them again, and could not run what they read.
func (c *core) restsOnOther(r int) bool {
	for other := range c.commits {
		if c.isStoring(other) && c.partOf(other) == c.partOf(r) {
			return true
		}
	}
	return false
}

// reopenCommit forgets what the commit tasks of a failed region have reported, unless its record may be stored
// already.
func (c *core) reopenCommit(r int) {
	k := c.commits[r]
	if k == nil || k.phase != open && k.phase != complete {
		return
	}
	k.phase = open
	clear(k.winners)
	c.toStore = slices.DeleteFunc(c.toStore, func(other int) bool { return other == r })
}

// storeCommits has records stored, several at a time.
func (c *core) storeCommits() {
	for len(c.toStore) > 0 && c.storing < maxStoring && c.active() {
		r := c.toStore[0]
		c.toStore = c.toStore[1:]
		k := c.commits[r]
		k.phase = storing
		c.storing++
		k.free = c.graph.Consume(r)
		c.settle(r)
		c.cover(r)
		c.emit(storeCommit{Region: r, Record: c.record(r)})
	}
}

// cover finds the regions that are done with a commit. Their tasks never run again, so its record has them.
func (c *core) cover(r int) {
	if !c.graph.Blocking() {
		return
	}
	part := c.partOf(r)
	for other := range c.regions {
		if c.graph.Done(other) && !c.covered[other] && !c.isFinal(other) && c.partOf(other) == part {
			c.covered[other] = true
			c.commits[r].covers = append(c.commits[r].covers, other)
		}
	}
}

// recordedTasks gives the tasks that have finished and are in the record of a region, by vertex and subtask.
func (c *core) recordedTasks(r int, covers []int) iter.Seq[*executiongraph.Execution] {
	all := c.graph.Region(r)
	if len(covers) > 0 {
		all = c.graph.All()
	}
	return func(yield func(*executiongraph.Execution) bool) {
		for e := range all {
			_, covered := slices.BinarySearch(covers, e.Region)
			if (e.Region == r || covered) && !c.config.Graph.Vertices[e.ID.Vertex].Commit && !yield(e) {
				return
			}
		}
	}
}

// record is what is stored of a region whose tasks have finished, except those that commit.
func (c *core) record(r int) commitrecord.Record {
	k := c.commits[r]
	record := commitrecord.Record{
		Winners: maps.Clone(k.winners), Counters: c.counters.of(r, k.covers...), Regions: slices.Clone(k.covers), Waves: c.waves,
	}
	var tasks []msg.Subtask // of the last vertex
	flush := func() {
		if last := len(record.Finished) - 1; last >= 0 {
			record.Finished[last].Tasks = subtasks.Encode(tasks)
		}
		tasks = tasks[:0]
	}
	for e := range c.recordedTasks(r, k.covers) {
		if last := len(record.Finished) - 1; last < 0 || record.Finished[last].Vertex != e.ID.Vertex {
			flush()
			record.Finished = append(record.Finished, commitrecord.Finished{Vertex: e.ID.Vertex})
		}
		tasks = append(tasks, msg.Subtask{TaskAttempt: e.Attempt(c.now)})
		if name := c.config.Graph.Vertices[e.ID.Vertex].Collect; name != "" {
			if record.Results == nil {
				record.Results = make(map[string][]byte)
			}
			record.Results[name] = c.results[name].AppendTo(nil)
		}
	}
	flush()
	return record
}

// commitStored gives leave to commit once the record of a region is stored. If a commit task was lost meanwhile,
// the region restarts, and needs no leave.
func (c *core) commitStored(stored commitStored) {
	r := stored.Region
	k := c.commits[r]
	c.storing--
	if stored.Err != nil {
		k.phase = open
		c.failJob(fmt.Sprintf("store what region %d of the job commits: %v", r, stored.Err))
		return
	}
	k.phase = recorded
	c.counters.keep(r)
	for _, covered := range k.covers {
		c.counters.keep(covered)
	}
	for _, p := range k.free {
		c.free(p.Resource, p.Partition)
	}
	k.free = nil
	c.settled = true // see restsOnOther
	if !c.active() {
		return
	}
	for _, e := range k.tasks {
		if w := c.byHost[e.Host]; w != nil && (e.State == msg.ExecutionDeploying || e.State == msg.ExecutionRunning) {
			c.send(w, msg.CommitGranted{Execution: e.ID})
		}
	}
}
