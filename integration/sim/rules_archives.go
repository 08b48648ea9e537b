package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// archives is the directory for history servers.
const archives = "/history"

// endsAreArchived looks for the archives of jobs whose ends were told, when their applications have ended. A master that
// archives may die, and no other attempt follows. Then it has no archive. HDFS may refuse one, or be away when the application
// ends. If it was away before, the master has tried again.
func endsAreArchived(w *watch) {
	if !w.w.schedule.Archive {
		return
	}
	told := make(map[ids.JobID]time.Time)
	known := make(map[*planner]ids.JobID) // the present jobs of programs
	of := make(map[ids.JobID]records.ApplicationID)
	denied := make(map[*engine.Process]bool)
	w.told = append(w.told, func(job ids.JobID, _ msg.JobStatus) error {
		told[job] = w.w.engine.Now()
		return nil
	})
	w.answers = append(w.answers, func(p *planner, _ *job, m msg.Message) error {
		switch m := m.(type) {
		case msg.JobAccepted:
			known[p] = m.Job
		case msg.JobEnded:
			if id := known[p]; id != "" {
				told[id], of[id] = w.w.engine.Now(), p.master.attempt.Application
			}
		}
		return nil
	})
	w.refused = append(w.refused, func(p *engine.Process, _ dfsmodel.Operation, _ *time.Time) error {
		denied[p] = true
		return nil
	})
	w.rest = append(w.rest, func() error {
		for _, c := range w.w.clients {
			for _, j := range c.jobs {
				of[j.id] = c.app
				if c.report.FinalStatus == records.FinalSucceeded && w.w.schedule.Mode == PerJob {
					told[j.id] = w.w.last(c.app).ended
				}
			}
		}
		for _, job := range slices.Sorted(maps.Keys(told)) {
			at := told[job]
			m := w.w.last(of[job])
			if m == nil || m.exit != records.ExitSuccess || denied[m.process] || w.w.schedule.Unprotected && w.w.schedule.Mode != PerJob && m.attempt.Attempt > 1 {
				continue
			}
			disturbed := latest(w.w.hdfs.disturbed(), w.w.disturbed[m.process])
			if disturbed.Before(at.Add(-time.Minute)) && !w.w.hdfs.exists(archives+"/"+string(job)) {
				return fmt.Errorf("%s has told the end of %s, which is not archived", m.address(), job)
			}
		}
		return nil
	})
}

// last is the newest master of an application; nil: it has none.
func (w *World) last(app records.ApplicationID) (newest *master) {
	for _, m := range w.masters {
		if m.attempt.Application == app {
			newest = m
		}
	}
	return newest
}

// archivesTellTheEnd compares archives with the results that masters have stored. Only without high availability, a master
// removes one: that of an earlier master, because it runs the job again.
func archivesTellTheEnd(w *watch) {
	stored := make(map[ids.JobID]msg.JobStatus)
	writers := make(map[string]*master) // of archives, by their names
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		m := w.w.masterAt(op.Client)
		if op.Kind == dfsmodel.Delete && path.Dir(op.Path) == archives && !strings.HasPrefix(path.Base(op.Path), ".") {
			if by := writers[op.Path]; !w.w.schedule.Unprotected || m == nil || by == nil || by.attempt.Attempt >= m.attempt.Attempt {
				return fmt.Errorf("%s: %s, which is not the archive of an earlier master", op.Client, op)
			}
			return nil
		}
		dir, name := path.Split(op.Target)
		if op.Kind != dfsmodel.Rename {
			return nil
		}
		if path.Base(dir) == "result" {
			job, status, _ := strings.Cut(name, ".")
			stored[ids.JobID(job)] = msg.JobStatus(status)
			return nil
		}
		if path.Clean(dir) != archives || strings.HasPrefix(name, ".") {
			return nil
		}
		w.w.facts[Archived]++
		writers[op.Target] = m
		tells, err := w.w.archived(op.Target)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", op.Client, op, err)
		}
		is := stored[ids.JobID(name)]
		if w.w.schedule.Unprotected { // nothing is stored
			is = tells
		}
		if tells != is || !tells.GloballyTerminal() {
			return fmt.Errorf("%s: %s, and it tells that the job is %q; stored is %q", op.Client, op, tells, is)
		}
		return nil
	})
}

// archived is the state of a job in its archive.
func (w *World) archived(name string) (msg.JobStatus, error) {
	content, _, err := w.hdfs.space.Read(w.engine.Now(), name)
	if err != nil {
		return "", err
	}
	var read struct {
		Archive []struct{ Path, JSON string }
	}
	if err := json.Unmarshal(content, &read); err != nil {
		return "", err
	}
	var list struct {
		Jobs []struct{ State msg.JobStatus }
	}
	for _, e := range read.Archive {
		if e.Path == "/jobs/overview" {
			err = json.Unmarshal([]byte(e.JSON), &list)
		}
	}
	if err != nil || len(list.Jobs) != 1 {
		return "", fmt.Errorf("it lists %d jobs: %w", len(list.Jobs), err)
	}
	return list.Jobs[0].State, nil
}
