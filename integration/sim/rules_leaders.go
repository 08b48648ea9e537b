package sim

import (
	"fmt"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// endedJobsRest looks for tasks of jobs whose result is stored. An old master, which does not know yet that it has been
// replaced, may start tasks: they change nothing.
func endedJobsRest(w *watch) {
	ended := make(map[ids.JobID]ids.Epoch) // in which the result was stored
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		dir, name := path.Split(op.Target)
		m := w.w.masterAt(op.Client)
		if op.Kind != dfsmodel.Rename || path.Base(dir) != "result" || m == nil {
			return nil
		}
		job, _, _ := strings.Cut(name, ".")
		if epoch, twice := ended[ids.JobID(job)]; twice {
			return fmt.Errorf("%s: %s, and epoch %d has stored a result", op.Client, op, epoch)
		}
		ended[ids.JobID(job)] = ids.Epoch(m.attempt.Attempt)
		return nil
	})
	w.tasks = append(w.tasks, func(h *host, job ids.JobID, e ids.ExecutionAttemptID) error {
		if epoch, is := ended[job]; is && e.Epoch >= epoch {
			return fmt.Errorf("%s runs %s of %s, whose result is stored", h.id, e, job)
		}
		return nil
	})
}

// oneLeads looks at the directories of applications: each has at most one, live or ended.
func oneLeads(w *watch) {
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		if op.Kind != dfsmodel.Rename && op.Kind != dfsmodel.Mkdirs {
			return nil
		}
		changed := op.Path
		if op.Kind == dfsmodel.Rename {
			changed = op.Target
		}
		dir, name := path.Split(changed)
		if !strings.HasPrefix(name, "live-") && !strings.HasPrefix(name, "ended-") {
			return nil
		}
		found := 0
		for _, s := range w.w.hdfs.space.Tree(w.w.engine.Now(), path.Clean(dir)) {
			if at, of := path.Split(s.Path); at == dir && (strings.HasPrefix(of, "live-") || strings.HasPrefix(of, "ended-")) {
				found++
			}
		}
		if found > 1 {
			return fmt.Errorf("%s: %s, and there are %d leaders", op.Client, op, found)
		}
		return nil
	})
}

// oldLeadersAreFenced looks for a master that changes what is stored after a later one has. Files that it had opened
// before are left out: it may go on with them, wherever they are now, and nobody reads them.
func oldLeadersAreFenced(w *watch) {
	latest := make(map[string]int32) // attempt, by the directory of the application
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		m := w.w.masterAt(op.Client)
		switch op.Kind {
		case dfsmodel.Mkdirs, dfsmodel.Create, dfsmodel.Rename, dfsmodel.Delete:
		default:
			return nil
		}
		app, _, stored := strings.Cut(op.Path, "/live-")
		if m == nil || !stored {
			return nil
		}
		if later := latest[app]; m.attempt.Attempt < later {
			return fmt.Errorf("%s: %s, and attempt %d has changed what is stored", op.Client, op, later)
		}
		latest[app] = m.attempt.Attempt
		return nil
	})
}

// endsAreKept looks for tasks that a later master runs although a client has learned how their job has ended.
func endsAreKept(w *watch) {
	if w.w.schedule.Unprotected {
		return
	}
	newest := make(map[ids.JobID]ids.Epoch) // of the job's tasks
	last := make(map[ids.JobID]ids.Epoch)   // newest, when a client learned of the end
	w.told = append(w.told, func(job ids.JobID, _ msg.JobStatus) error {
		if _, before := last[job]; !before {
			last[job] = newest[job]
		}
		return nil
	})
	w.tasks = append(w.tasks, func(h *host, job ids.JobID, e ids.ExecutionAttemptID) error {
		newest[job] = max(newest[job], e.Epoch)
		if epoch, ended := last[job]; ended && e.Epoch > epoch {
			return fmt.Errorf("%s runs %s of %s, and a client has learned how the job has ended", h.id, e, job)
		}
		return nil
	})
}
