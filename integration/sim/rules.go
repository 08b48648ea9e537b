package sim

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	dfs "github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// slotsServeOne models the slots of each worker by what the worker tells the ResourceManager.
func slotsServeOne(w *watch) {
	tables := make(map[*worker]map[int]ids.AllocationID)
	registering := make(map[*worker]bool) // slots that become free meanwhile are told by the next report
	w.said = append(w.said, func(k *worker, m msg.Message) error {
		table := tables[k]
		switch m := m.(type) {
		case msg.RegisterTaskExecutor: // what was sent over an earlier stream may be lost
			tables[k], registering[k] = allocations(m.Slots), true
		case msg.SlotReport:
			told := allocations(m.Slots)
			if registering[k] {
				registering[k] = false
				maps.DeleteFunc(table, func(i int, _ ids.AllocationID) bool { return told[i] == "" })
			}
			if !maps.Equal(told, table) {
				return fmt.Errorf("worker %s reports slots %v after it said %v", k.id, told, table)
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
		for _, p := range w.w.runningPrograms() {
			left = append(left, fmt.Errorf("%s runs", p.process.Name))
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
// nothing else. An output without _SUCCESS belongs to an application that need not succeed, and has not succeeded.
func outputsAreWhole(w *watch) {
	w.rest = append(w.rest, func() error {
		for _, c := range w.w.clients {
			// A session may succeed without its jobs.
			excused := w.w.excused[c.app] && (w.w.mode == Session || c.report.FinalStatus != records.FinalSucceeded)
			for _, j := range c.jobs {
				for _, dir := range j.outputs() {
					if excused && !w.w.hdfs.exists(dir+"/_SUCCESS") {
						continue
					}
					if err := w.w.isWhole(j, dir); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// isWhole compares one output of a job with what it should be.
func (w *World) isWhole(j *job, dir string) error {
	var files, names []string
	for _, s := range w.hdfs.space.Tree(w.engine.Now(), dir) {
		if s.IsDir { // a late call of an attempt that was given up may make an empty _temporary again
			continue
		}
		files = append(files, path.Base(s.Path))
		content, _, err := w.hdfs.space.Read(w.engine.Now(), s.Path)
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
		return fmt.Errorf("the output %s has %v, want %v", dir, files, want)
	}
	slices.Sort(names)
	var each []string
	for i := range j.splits {
		each = append(each, fmt.Sprintf("name%d=1", i))
	}
	slices.Sort(each)
	if !slices.Equal(names, each) {
		return fmt.Errorf("the output %s is %v, want %v", dir, names, each)
	}
	return nil
}

// applicationsSucceed asks YARN how each application has ended.
func applicationsSucceed(w *watch) {
	w.rest = append(w.rest, func() error {
		for _, c := range w.w.clients {
			if w.w.excused[c.app] {
				continue
			}
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

// outputsAreCommittedOnce watches each output after its _SUCCESS: nobody changes it.
func outputsAreCommittedOnce(w *watch) {
	done := make(map[string]bool) // the folders with a _SUCCESS
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		if op.Kind != dfsmodel.Rename && op.Kind != dfsmodel.Delete && op.Kind != dfsmodel.Create {
			return nil
		}
		for _, changed := range []string{op.Path, op.Target} {
			dir, name := path.Split(changed)
			if done[path.Clean(dir)] && name != "_temporary" || done[changed] {
				return fmt.Errorf("%s: %s, after _SUCCESS", op.Client, op)
			}
		}
		if op.Kind == dfsmodel.Rename && path.Base(op.Target) == "_SUCCESS" {
			done[path.Dir(op.Target)] = true
		}
		return nil
	})
}

// mastersRemoveNothing asks YARN at each removal by a master whether the application has ended.
func mastersRemoveNothing(w *watch) {
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		// Each attempt replaces access.json, and a session gives up programs.
		if op.Kind != dfsmodel.Delete || path.Base(op.Path) == launch.AccessFile || strings.Contains(op.Path, "/refs.d/") || strings.Contains(op.Path, "/cache/") {
			return nil
		}
		// A job that fails before its application ends leaves nothing.
		if w.w.mode == Application && (strings.Contains(op.Path, "/_temporary/discarded-") || path.Base(op.Path) == "_temporary" && !op.Recursive) {
			return nil
		}
		for _, m := range w.w.masters {
			if app, _ := w.w.yarn.look(m); m.address() == op.Client && app.Final == records.FinalUndefined {
				return fmt.Errorf("%s: %s, while its application runs", op.Client, op)
			}
		}
		return nil
	})
}

// mastersStay asks YARN at each end of a master whether it counts on this attempt. A master may end because
// HDFS fails while it starts: then YARN starts another one.
func mastersStay(w *watch) {
	w.masters = append(w.masters, func(m *master) error {
		call, lost := errors.AsType[*yarnrpc.CallError](m.fault)
		if m.mux == nil && (lost && call.Address == dfsmodel.Authority || errors.Is(m.fault, dfs.ErrUnreachable) || errors.Is(m.fault, dfs.ErrPipeline)) {
			return nil
		}
		if app, attempt := w.w.yarn.look(m); attempt.Live && app.Final == records.FinalUndefined {
			return fmt.Errorf("%s ends: %w", m.address(), m.fault)
		}
		return nil
	})
}

// unused is how long a container may be of no use to the master that has it.
const unused = 6 * time.Minute // longer than resourcemanager.taskmanager-registration.timeout

// containersAreUsed looks at the containers of the masters when the faults are over: in each of them a
// worker lives.
func containersAreUsed(w *watch) {
	since := make(map[records.ContainerID]time.Duration)
	w.turns = append(w.turns, func() error {
		if w.w.since() < w.w.calm {
			return nil
		}
		for _, m := range w.w.runningMasters() {
			app, attempt := w.w.yarn.look(m)
			if !attempt.Live || !attempt.Registered || attempt.Finishing {
				continue
			}
			for _, c := range app.Containers {
				if c.Owner != m.attempt || c.Master || c.State == records.ContainerComplete || w.w.serves(c.ID) {
					delete(since, c.ID)
				} else if begin, known := since[c.ID]; !known {
					since[c.ID] = w.w.since()
				} else if w.w.since()-begin > unused {
					return fmt.Errorf("%s of %s has served nobody for %v", c.ID, m.address(), w.w.since()-begin)
				}
			}
		}
		return nil
	})
}

// serves reports whether a worker lives in a container.
func (w *World) serves(id records.ContainerID) bool {
	return slices.ContainsFunc(w.containers, func(k *worker) bool {
		return k.container == id && k.process.Alive() && !k.process.Frozen()
	})
}

// stagedFilesAreRemoved looks for the staged files of applications whose last master has ended as it should,
// while HDFS was there.
func stagedFilesAreRemoved(w *watch) {
	w.rest = append(w.rest, func() error {
		disturbed := w.w.hdfs.away
		if disturbed.Before(w.w.hdfs.failed) {
			disturbed = w.w.hdfs.failed
		}
		for _, m := range w.w.masters {
			if m.exit != records.ExitSuccess || m.ended.Before(disturbed.Add(time.Minute)) {
				continue
			}
			left := "/user/alice/.bobbin/" + m.attempt.Application.String()
			if len(w.w.hdfs.space.Tree(w.w.engine.Now(), left)) > 0 {
				return fmt.Errorf("%s leaves %s", m.address(), left)
			}
		}
		return nil
	})
}
