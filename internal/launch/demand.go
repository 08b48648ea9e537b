package launch

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Demand is what a job asks of a cluster's memory.
type Demand struct {
	Slots     int   // that it needs to run all at once
	PerWorker int   // slots of a TaskExecutor
	WorkerMB  int64 // its container
	MasterMB  int64 // the ApplicationMaster's, which takes its part of the nodes; 0: not counted
	// Wait is how long the job waits for a slot; 0: it is not known here.
	Wait time.Duration
}

// DemandOf is that of a job which has a cluster of these options for itself.
func DemandOf(c config.Config, slots int) Demand {
	return Demand{
		Slots: slots, PerWorker: c.Int(config.TaskSlots), Wait: c.Duration(config.SlotRequestTimeout),
		WorkerMB: int64(c.Memory(config.TaskManagerProcessSize).Megabytes()),
		MasterMB: int64(c.Memory(config.JobManagerProcessSize).Megabytes()),
	}
}

// TooLarge says, in a line, that the job needs more memory than all nodes have together, in
// MB; "" where it does not. It is a hint: parts of a batch job can run one after the other in
// fewer slots, and nodes may be added.
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
