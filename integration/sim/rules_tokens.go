package sim

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
)

// delivery is how long new tokens may take from the NameNode over the master to all workers and task hosts after a
// fault, also over streams that a worker opens again.
const delivery = 30 * time.Second

// tokensComeInTime looks at the calls that HDFS refuses because their token has ended. Only task hosts and workers,
// which fetch cached files, may make such calls, and only if new tokens need not have reached them: see cutOff. Each
// other one has had new tokens for a quarter of the life of the old ones.
func tokensComeInTime(w *watch) {
	w.refused = append(w.refused, func(p *engine.Process, op dfsmodel.Operation, ended *time.Time) error {
		if ended == nil {
			return fmt.Errorf("%s: %s, without a token", p.Name, op)
		}
		if k := w.w.workerOf(p); k != nil && w.w.cutOff(k, p) {
			return nil
		}
		return fmt.Errorf("%s: %s, with a token that has ended at %v", p.Name, op, ended.Sub(epoch))
	})
}

// cutOff reports whether new tokens need not have reached a worker, or a task host of it: its master or the worker has
// ended or does not run; HDFS or the KDC did not answer, and the master has not tried again since; or the master, the
// worker, its streams or the host were disturbed.
func (w *World) cutOff(k *worker, p *engine.Process) bool {
	master, worker := k.master, k.process
	if !master.process.Alive() || master.process.Frozen() || worker.Frozen() {
		return true
	}
	for _, over := range []time.Time{
		w.hdfs.away, w.hdfs.failed, w.hdfs.tokens.away, master.retryBy,
		w.disturbed[master.process], w.disturbed[worker], w.disturbed[p],
	} {
		if w.engine.Now().Before(over.Add(delivery)) {
			return true
		}
	}
	return false
}
