package sim

import (
	"fmt"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// replaced reports whether YARN has started another attempt after this master's.
func (y *yarn) replaced(m *master) bool {
	app, _ := y.look(m)
	return len(app.Attempts) > 0 && app.Attempts[len(app.Attempts)-1].ID.Attempt > m.attempt.Attempt
}

// oldMastersChangeNothing asks YARN at each change by a master whether another attempt has replaced it.
// A master that was frozen may add a program to its session's, or take one away, as a client asked it to.
func oldMastersChangeNothing(w *watch) {
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		if path.Base(op.Path) == launch.AccessFile || strings.Contains(op.Path, "/refs.d/") || strings.Contains(op.Path, "/cache/") {
			return nil // see mastersKeepAccess
		}
		return w.w.oldMasterChanges(op)
	})
}

// mastersKeepAccess looks for old masters that remove or write the file of their successor. Each attempt
// removes it and writes it again, without a fence.
func mastersKeepAccess(w *watch) {
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		if path.Base(op.Path) != launch.AccessFile {
			return nil
		}
		return w.w.oldMasterChanges(op)
	})
}

func (w *World) oldMasterChanges(op dfsmodel.Operation) error {
	for _, m := range w.masters {
		if m.address() == op.Client && w.yarn.replaced(m) {
			return fmt.Errorf("%s: %s, after another attempt has begun", op.Client, op)
		}
	}
	return nil
}

// mastersActInTime looks for old masters that start or stop containers. A master trusts an answer of YARN
// from its receipt on, which may be long after YARN has sent it, and a start waits for no such answer.
func mastersActInTime(w *watch) {
	w.acts = append(w.acts, func(m *master, method string, on records.NodeID) error {
		if (method == "startContainers" || method == "stopContainers") && w.w.yarn.replaced(m) {
			return fmt.Errorf("%s: %s on %s, after another attempt has begun", m.address(), method, on)
		}
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
