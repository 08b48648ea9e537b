package jobmaster

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
)

var errOtherJob = errors.New("the record is not of this job")

// recoverCommits takes over the regions of which an earlier master has stored what they commit: only their commit
// tasks run, or nothing if they have committed.
func (c *core) recoverCommits() error {
	regions := slices.Sorted(maps.Keys(c.config.Recovered))
	for _, r := range regions {
		if waves := c.config.Recovered[r].Waves; waves != "" { // the regions of all records are numbered alike
			if err := c.inWaves(waves); err != nil {
				return fmt.Errorf("%w: %w", errOtherJob, err)
			}
			break
		}
	}
	for _, r := range regions {
		if err := c.recoverCommit(r, c.config.Recovered[r]); err != nil {
			return fmt.Errorf("take over region %d from an earlier ApplicationMaster: %w", r, err)
		}
	}
	return nil
}

// takenOver tells whether an earlier master may have run the job.
func (c *core) takenOver() bool { return !c.config.TakenOver.IsZero() }

// tellRecovered tells which regions earlier masters have brought to their commit.
func (c *core) tellRecovered() {
	var recovered commitsRecovered
	for r := range c.regions {
		if c.isRecorded(r) {
			recovered.Regions++
		}
		if c.isCommitted(r) {
			recovered.Committed++
		}
	}
	if recovered.Regions > 0 {
		c.emit(recovered)
	}
}

func (c *core) recoverCommit(r int, record commitrecord.Record) error {
	if r < 0 || r >= len(c.commits) || c.commits[r] == nil {
		return fmt.Errorf("%w: the job has no such region that commits", errOtherJob)
	}
	k := c.commits[r]
	for _, e := range k.tasks {
		if err := c.checkWinners(e.ID.Vertex, record.Winners[e.ID.Vertex]); err != nil {
			return fmt.Errorf("%w: vertex %d: %w", errOtherJob, e.ID.Vertex, err)
		}
	}
	if len(record.Winners) > len(k.tasks) {
		return fmt.Errorf("%w: it has winners of %d outputs, and the region writes %d", errOtherJob, len(record.Winners), len(k.tasks))
	}
	if err := c.recoverRegions(r, record.Regions); err != nil {
		return err
	}
	if err := c.recoverTasks(r, record); err != nil {
		return err
	}
	if err := c.recoverResults(r, record); err != nil {
		return err
	}
	if err := c.recoverCounters(r, record.Counters); err != nil {
		return err
	}
	k.phase, k.winners = recorded, record.Winners
	finished := append(slices.Clone(record.Regions), r)
	for _, f := range finished {
		c.graph.Consume(f)
	}
	for _, f := range finished {
		c.graph.Settle(f)
	}
	return nil
}

// recoverRegions takes over the other regions of a record.
func (c *core) recoverRegions(r int, others []int) error {
	for i, other := range others {
		if i > 0 && other <= others[i-1] || other < 0 || other >= len(c.regions) || other == r || c.covered[other] || c.commits[other] != nil {
			return fmt.Errorf("%w: it cannot have region %d", errOtherJob, other)
		}
		c.covered[other], c.regions[other].phase = true, deployed
	}
	return nil
}

// recoverTasks takes over the tasks of a region that have finished. Of a commit that is done, only that is known.
func (c *core) recoverTasks(r int, record commitrecord.Record) error {
	finished, last := record.Finished, -1
	var tasks []msg.Subtask // of the last vertex that have not been taken over
	for _, e := range c.commits[r].tasks {
		if record.Committed {
			c.graph.Recover(e, msg.TaskAttempt{})
		}
	}
	for e := range c.recordedTasks(r, record.Regions) {
		v := e.ID.Vertex
		if v != last {
			if len(finished) == 0 || finished[0].Vertex != v || len(tasks) > 0 {
				return fmt.Errorf("%w: it says nothing about vertex %d", errOtherJob, v)
			}
			var err error
			if tasks, err = subtasks.Decode(finished[0].Tasks); err != nil {
				return fmt.Errorf("%w: vertex %d: %w", errOtherJob, v, err)
			}
			last, finished = v, finished[1:]
		}
		if len(tasks) == 0 {
			return fmt.Errorf("%w: it does not have all tasks of vertex %d", errOtherJob, v)
		}
		c.graph.Recover(e, tasks[0].TaskAttempt)
		tasks = tasks[1:]
	}
	if len(finished) > 0 || len(tasks) > 0 {
		return fmt.Errorf("%w: it has %d vertices and %d tasks too many", errOtherJob, len(finished), len(tasks))
	}
	return nil
}

// recoverCounters takes over what the tasks of a region have counted, by vertex.
func (c *core) recoverCounters(r int, counted map[int]map[string]int64) error {
	for _, v := range slices.Sorted(maps.Keys(counted)) {
		if v < 0 || v >= len(c.config.Graph.Vertices) {
			return fmt.Errorf("%w: it has counters of vertex %d", errOtherJob, v)
		}
		if err := c.counters.fit(r, v, counted[v]); err != nil {
			return fmt.Errorf("%w: %w", errOtherJob, err)
		}
		c.counters.add(r, v, counted[v])
	}
	c.counters.keep(r)
	return nil
}

// recoverResults takes over what the tasks of a region have collected. A client that has read a part goes on.
func (c *core) recoverResults(r int, record commitrecord.Record) error {
	taken, results := 0, record.Results
	for e := range c.recordedTasks(r, record.Regions) {
		name := c.config.Graph.Vertices[e.ID.Vertex].Collect
		if name == "" {
			continue
		}
		buffer, rest, err := collect.Decode(results[name])
		if err != nil {
			return fmt.Errorf("%w: result %q: %w", errOtherJob, name, err)
		}
		if len(rest) > 0 {
			return fmt.Errorf("%w: result %q is followed by %d bytes", errOtherJob, name, len(rest))
		}
		if c.config.KeepRead {
			buffer.Keep(c.config.ResultBytes)
		}
		c.results[name] = buffer
		taken++
	}
	if taken < len(results) {
		return fmt.Errorf("%w: it has %d results of %d", errOtherJob, len(results), taken)
	}
	return nil
}
