package sim

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
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
