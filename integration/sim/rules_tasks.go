package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// attemptsRunOnce counts the starts of each attempt that a master has made.
func attemptsRunOnce(w *watch) {
	type key struct {
		m *master
		j ids.JobID
		e ids.ExecutionAttemptID
	}
	begun := make(map[key]ids.HostID)
	w.tasks = append(w.tasks, func(h *host, job ids.JobID, e ids.ExecutionAttemptID) error {
		k := key{h.worker.master, job, e}
		if before, twice := begun[k]; twice {
			return fmt.Errorf("%s of %s runs on host %s and on host %s", e, job, before, h.id)
		}
		begun[k] = h.id
		return nil
	})
}

// jobsEndOnce compares what clients learn of the end of a job.
func jobsEndOnce(w *watch) {
	ends := make(map[ids.JobID]msg.JobStatus)
	w.told = append(w.told, func(job ids.JobID, end msg.JobStatus) error {
		if before := ends[job]; before != "" && before != end {
			return fmt.Errorf("%s has ended as %s, and then as %s", job, before, end)
		}
		ends[job] = end
		return nil
	})
}

// fullRestartsAll counts the attempts of the tasks of each job that has finished. If all tasks restart
// together, the last attempts of all tasks have the same number. Commits run again alone, and so does what is left of a
// job of several parts once the winners of one are recorded, or of one whose finished partitions a later master has taken over.
// A job that begins anew in waves leaves out the tasks that have not run. Attempts that run at the same time have different numbers.
func fullRestartsAll(w *watch) {
	if w.w.schedule.Failover != full {
		return
	}
	type run struct {
		epoch ids.Epoch
		j     ids.JobID
	}
	last := make(map[run]map[[2]int]int) // attempt of each task
	newest := ids.Epoch(0)               // YARN may have started attempts that never became masters
	w.tasks = append(w.tasks, func(_ *host, job ids.JobID, e ids.ExecutionAttemptID) error {
		r := run{e.Epoch, job}
		if last[r] == nil {
			last[r] = make(map[[2]int]int)
		}
		newest = max(newest, e.Epoch)
		task := [2]int{e.Vertex, e.Subtask}
		last[r][task] = max(last[r][task], e.Attempt) // a lost worker may begin an earlier attempt late
		return nil
	})
	check := func(j *job) error {
		if j.parts > 1 || w.w.facts[Held] > 0 || w.w.facts[Further] > 0 || w.w.schedule.Edges == Later {
			return nil
		}
		for epoch := newest; epoch > 0; epoch-- { // a later master begins the job from its start
			attempts := last[run{epoch, j.id}]
			if _, begun := attempts[[2]int{}]; !begun {
				continue
			}
			for v, vertex := range j.graph.Vertices {
				for s := range vertex.Parallelism {
					if vertex.Commit {
						continue
					}
					if attempt, ran := attempts[[2]int{v, s}]; !ran || attempt != attempts[[2]int{}] {
						return fmt.Errorf("%s is FINISHED, and the last attempts of its tasks are %v", j.id, attempts)
					}
				}
			}
			return nil
		}
		return nil
	}
	w.told = append(w.told, func(job ids.JobID, end msg.JobStatus) error {
		for _, j := range w.w.jobs {
			if j.id == job && end == msg.JobFinished {
				return check(j)
			}
		}
		return nil
	})
	w.rest = append(w.rest, func() error {
		for _, c := range w.w.clients {
			if w.w.schedule.Mode != PerJob || c.report.FinalStatus != records.FinalSucceeded {
				continue
			}
			if err := check(c.jobs[0]); err != nil {
				return err
			}
		}
		return nil
	})
}

func byText(a, b ids.ExecutionAttemptID) int { return strings.Compare(a.String(), b.String()) }

// cancelledTasksEnd looks at the tasks that still run though they were cancelled. Their hosts end after
// task.cancellation.timeout.
func cancelledTasksEnd(w *watch) {
	type run struct {
		host      *host
		execution ids.ExecutionAttemptID
	}
	stuck := make(lasting[run])
	w.turns = append(w.turns, func() error {
		for _, h := range w.w.runningHosts() {
			for _, e := range slices.SortedFunc(maps.Keys(h.tasks), byText) {
				counts := h.tasks[e]() != nil && !h.process.Frozen()
				if lasts := stuck.note(run{h, e}, counts, w.w.since()); lasts > w.w.config.Duration(config.TaskCancellationTimeout)+lookEvery {
					return fmt.Errorf("task %s still runs in host %s, %v after it was cancelled", e, h.id, lasts)
				}
			}
		}
		return nil
	})
}
