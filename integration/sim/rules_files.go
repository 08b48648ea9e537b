package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// filesAreThere looks at a worker's copy of a job's cached file when a task of the job begins, and while its host
// has tasks.
func filesAreThere(w *watch) {
	running := make(map[*host]ids.JobID)
	check := func(h *host, job ids.JobID) error {
		if h.process.Alive() && w.w.cached(job) && !slices.Contains(slices.Collect(maps.Values(h.worker.copies.files)), cityText) {
			return fmt.Errorf("host %s runs tasks of %s, and worker %s does not have its file", h.id, job, h.worker.id)
		}
		return nil
	}
	w.tasks = append(w.tasks, func(h *host, job ids.JobID, _ ids.ExecutionAttemptID) error {
		running[h] = job
		return check(h, job)
	})
	w.turns = append(w.turns, func() error {
		for _, h := range w.w.runningHosts() {
			if job, has := running[h]; has {
				if err := check(h, job); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// cached tells whether a job has the cached file.
func (w *World) cached(id ids.JobID) bool {
	return slices.ContainsFunc(w.jobs, func(j *job) bool { return j.id == id && j.cached })
}

// kept is how long a worker may keep the file of jobs that have no slot there any more: its host ends first.
const kept = time.Minute

// filesGoWithTheirJobs models which jobs have slots on each worker, by what the worker and its ResourceManager say.
func filesGoWithTheirJobs(w *watch) {
	type table struct {
		asked map[ids.AllocationID]ids.JobID
		held  map[ids.AllocationID]ids.JobID
	}
	tables := make(map[*worker]*table)
	w.said = append(w.said, func(over *wire, m msg.Message) error {
		k := over.worker
		t := tables[k]
		if t == nil {
			t = &table{make(map[ids.AllocationID]ids.JobID), make(map[ids.AllocationID]ids.JobID)}
			tables[k] = t
		}
		report := func(slots []msg.SlotStatus) {
			clear(t.held)
			for _, s := range slots {
				if s.Allocation != "" {
					t.held[s.Allocation] = s.Job
				}
			}
		}
		switch m := m.(type) {
		case msg.RegisterTaskExecutor:
			report(m.Slots)
		case msg.SlotReport:
			report(m.Slots)
		case msg.RequestSlots:
			for _, s := range m.Slots {
				t.asked[s.Allocation] = m.Job
			}
		case msg.SlotRequestsAnswered:
			for _, s := range m.Taken {
				t.held[s.Allocation] = t.asked[s.Allocation]
			}
		case msg.SlotsFreed:
			for _, s := range m.Slots {
				delete(t.held, s.Allocation)
			}
		}
		return nil
	})
	useless := make(lasting[*worker])
	w.turns = append(w.turns, func() error {
		for _, k := range w.w.runningWorkers() {
			t := tables[k]
			used := t == nil || k.process.Frozen() ||
				slices.ContainsFunc(slices.Collect(maps.Values(t.held)), w.w.cached)
			if lasts := useless.note(k, len(k.copies.files) > 0 && !used, w.w.since()); lasts > kept {
				return fmt.Errorf("worker %s keeps a file for %v, and none of its jobs uses it", k.id, lasts)
			}
		}
		return nil
	})
}
