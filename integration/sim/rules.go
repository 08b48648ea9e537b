package sim

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// slotsServeOne models the slots of each worker by what the worker tells the ResourceManager.
func slotsServeOne(w *watch) {
	tables := make(map[*worker]map[int]ids.AllocationID)
	w.said = append(w.said, func(k *worker, m msg.Message) error {
		table := tables[k]
		switch m := m.(type) {
		case msg.RegisterTaskExecutor: // what was sent over an earlier stream may be lost
			tables[k] = allocations(m.Slots)
		case msg.SlotReport:
			if got := allocations(m.Slots); !maps.Equal(got, table) {
				return fmt.Errorf("worker %s reports slots %v after it said %v", k.id, got, table)
			}
		case msg.SlotRequestsAnswered:
			for _, taken := range m.Taken {
				if held, occupied := table[taken.Index]; occupied && held != taken.Allocation {
					return fmt.Errorf("worker %s takes %s for slot %d, which serves %s", k.id, taken.Allocation, taken.Index, held)
				}
				if taken.Index < 0 || taken.Index >= k.slots {
					return fmt.Errorf("worker %s takes %s for slot %d of %d", k.id, taken.Allocation, taken.Index, k.slots)
				}
				table[taken.Index] = taken.Allocation
			}
		case msg.SlotsFreed:
			for _, freed := range m.Slots {
				if table[freed.Index] != freed.Allocation {
					return fmt.Errorf("worker %s frees %s of slot %d, which serves %q", k.id, freed.Allocation, freed.Index, table[freed.Index])
				}
				delete(table, freed.Index)
			}
		}
		return nil
	})
}

func allocations(slots []msg.SlotStatus) map[int]ids.AllocationID {
	table := make(map[int]ids.AllocationID)
	for _, s := range slots {
		if s.Allocation != "" {
			table[s.Index] = s.Allocation
		}
	}
	return table
}

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

// nothingIsLeft looks for processes after the end of all masters.
func nothingIsLeft(w *watch) {
	w.rest = append(w.rest, func() error {
		var left []error
		for _, m := range w.w.masters {
			if m.process.Alive() {
				left = append(left, fmt.Errorf("master %s runs", m.address()))
			}
		}
		for _, k := range w.w.runningWorkers() {
			left = append(left, fmt.Errorf("worker %s runs", k.id))
		}
		for _, h := range w.w.runningHosts() {
			left = append(left, fmt.Errorf("task host %s runs", h.id))
		}
		return errors.Join(left...)
	})
}

// outputsAreWhole reads what each job has left: one part for each sink with each name once, _SUCCESS, and
// nothing else.
func outputsAreWhole(w *watch) {
	w.rest = append(w.rest, func() error {
		for _, j := range w.w.jobs {
			var files, names []string
			for _, s := range w.w.hdfs.space.Tree(w.w.engine.Now(), "/out/"+string(j.id)) {
				if s.IsDir { // a late call of an attempt that was given up may make an empty _temporary again
					continue
				}
				files = append(files, path.Base(s.Path))
				content, _, err := w.w.hdfs.space.Read(w.w.engine.Now(), s.Path)
				if err != nil {
					return fmt.Errorf("read %s: %w", s.Path, err)
				}
				if path.Base(s.Path) != "_SUCCESS" {
					names = append(names, strings.Fields(string(content))...)
				}
			}
			want := []string{"_SUCCESS"}
			for i := range j.sinks {
				want = append(want, fmt.Sprintf("part-%05d", i))
			}
			if !slices.Equal(files, want) {
				return fmt.Errorf("the output of %s has %v, want %v", j.id, files, want)
			}
			slices.Sort(names)
			var each []string
			for i := range j.splits {
				each = append(each, fmt.Sprintf("name%d=1", i))
			}
			slices.Sort(each)
			if !slices.Equal(names, each) {
				return fmt.Errorf("the output of %s is %v, want %v", j.id, names, each)
			}
		}
		return nil
	})
}

// applicationsSucceed asks YARN how each application has ended.
func applicationsSucceed(w *watch) {
	w.rest = append(w.rest, func() error {
		for _, c := range w.w.clients {
			if c.fault != nil {
				return fmt.Errorf("client of %s: %w", c.name, c.fault)
			}
			if c.report.FinalStatus != records.FinalSucceeded {
				return fmt.Errorf("%s is %s, %s: %s", c.name, c.report.State, c.report.FinalStatus, c.report.Diagnostics)
			}
		}
		return nil
	})
}
