package launch

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// Demand is the memory that a job needs from a cluster.
type Demand struct {
	Slots     int   // to run all tasks at once
	PerWorker int   // slots of a TaskExecutor
	WorkerMB  int64 // of a TaskExecutor's container
	MasterMB  int64 // of the ApplicationMaster's container; 0: not counted
	// Wait is the time in which the job must get its slots; 0: not known here.
	Wait time.Duration
}

// DemandOf returns the demand of a job with this number of slots on a cluster of its own.
func DemandOf(slots int, worker memory.Worker, master memory.Master, wait time.Duration) Demand {
	return Demand{
		Slots: slots, PerWorker: worker.Slots, Wait: wait,
		WorkerMB: int64(worker.ContainerMB()), MasterMB: int64(master.ContainerMB()),
	}
}

// TooLarge returns a warning, in one line, if the job needs more memory than all nodes have
// together, in MB; otherwise "". It is only a hint: parts of a batch job can run one after the
// other in fewer slots, and the cluster may get more nodes.
func (d Demand) TooLarge(nodesMB int64) string {
	if d.Slots == 0 || d.PerWorker == 0 {
		return ""
	}
	workers := int64((d.Slots + d.PerWorker - 1) / d.PerWorker)
	need := workers*d.WorkerMB + d.MasterMB
	if need <= nodesMB {
		return ""
	}
	fails := ""
	if d.Wait > 0 {
		fails = fmt.Sprintf(", and the job fails if it gets no slot within %v (%s)", d.Wait, config.SlotRequestTimeout)
	}
	return fmt.Sprintf("the job may not fit: its %d slots take %d TaskExecutors of %d MB, %d MB in all, and the nodes have %d MB together. "+
		"Its parts run one after the other if they fit%s; lower -p or -tm, or raise -s",
		d.Slots, workers, d.WorkerMB, need, nodesMB, fails)
}
