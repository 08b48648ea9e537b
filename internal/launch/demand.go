package launch

import (
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// Demand is the memory that a job needs from a cluster.
type Demand struct {
	Workers  []JobWorkers // to run all tasks at once
	MasterMB int64        // of the ApplicationMaster's container; 0: not counted
	// Wait is the time in which the job must get its slots; 0: not known here.
	Wait time.Duration
}

// DemandOf returns the demand of a job with these workers on a cluster of its own.
func DemandOf(workers []JobWorkers, master memory.Master, wait time.Duration) Demand {
	return Demand{Workers: workers, Wait: wait, MasterMB: int64(master.ContainerMB())}
}

// TooLarge returns a warning, in one line, if the job needs more memory than all nodes have
// together, in MB; otherwise "". It is only a hint: parts of a batch job can run one after the
// other in fewer slots, and the cluster may get more nodes.
func (d Demand) TooLarge(nodesMB int64) string {
	need, slots, remedy := d.MasterMB, 0, "lower -p or -tm, or raise -s"
	var parts []string
	for _, w := range d.Workers {
		n, each := w.count(w.Slots), int64(w.Each.Memory.ContainerMB())
		if n == 0 {
			continue
		}
		need += n * each
		slots += w.Slots
		part := fmt.Sprintf("%d TaskExecutors of %d MB", n, each)
		if !w.Profile.IsDefault() {
			part += fmt.Sprintf(" (slot sharing group %s)", w.Names())
			remedy = "lower -p, or the resources of slot sharing groups"
		}
		parts = append(parts, part)
	}
	if slots == 0 || need <= nodesMB {
		return ""
	}
	fails := ""
	if d.Wait > 0 {
		fails = fmt.Sprintf(", and the job fails if it gets no slot within %v (%s)", d.Wait, config.SlotRequestTimeout)
	}
	return fmt.Sprintf("the job may not fit: its %d slots take %s, %d MB in all, and the nodes have %d MB together. "+
		"Its parts run one after the other if they fit%s; %s",
		slots, strings.Join(parts, " and "), need, nodesMB, fails, remedy)
}
