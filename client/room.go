package client

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// crowded says, in a line, which of the first two containers, the ApplicationMaster's and a
// TaskExecutor's, finds no node with room for it now; "" where both do. It is a hint: queues,
// labels and other people's applications, of which YARN tells nothing here, can make either
// wait all the same. Flink's YarnClusterDescriptor#validateClusterResources warns of the same.
func (c Containers) crowded(nodes []records.NodeReport) string {
	if len(nodes) == 0 {
		return "the cluster has no node that runs: the application waits for one"
	}
	var most, next int64 // free memory of the two emptiest nodes, in MB
	for _, node := range nodes {
		free := max(0, node.Capability.MemoryMB-node.Used.MemoryMB)
		most, next = max(most, free), max(next, min(most, free))
	}
	master, worker := c.Master.MemoryMB, c.Worker.MemoryMB
	switch {
	case master > most:
		return fmt.Sprintf("no node has the ApplicationMaster's %d MB free now, the emptiest has %d MB: the application waits until others end", master, most)
	case worker > most:
		return fmt.Sprintf("no node has a TaskExecutor's %d MB free now, the emptiest has %d MB: jobs wait until others end", worker, most)
	case master+worker > most && min(master, worker) > next:
		return fmt.Sprintf("no nodes have the ApplicationMaster's %d MB and a TaskExecutor's %d MB free now, the emptiest has %d MB: jobs wait until others end", master, worker, most)
	}
	return ""
}

// TooLarge says, in a line, that a job can hardly fit which goes to a cluster that runs, by what
// that tells of itself; "" where it can. Nodes are those of YARN; wait is how long the job waits
// for a slot.
func (c *Cluster) TooLarge(ctx context.Context, slots int, supply msg.SlotSupply, wait time.Duration) (string, error) {
	if slots <= supply.Total {
		return "", nil
	}
	nodes, err := c.YARN.ClusterNodes(ctx, records.NodeRunning)
	if err != nil {
		return "", err
	}
	demand := launch.Demand{Slots: slots, PerWorker: supply.PerWorker, WorkerMB: int64(supply.WorkerMemoryMB), Wait: wait}
	return demand.TooLarge(memoryMB(nodes)), nil
}

// memoryMB is what nodes have together.
func memoryMB(nodes []records.NodeReport) (total int64) {
	for _, node := range nodes {
		total += node.Capability.MemoryMB
	}
	return total
}

// RoundedUp tells how large, in MB, YARN has made the ApplicationMaster's container, if that is
// more than was asked for: YARN has a least size and a step of sizes, and tells them to nobody
// before. ok is false where it is not, or a report does not tell.
func (app *Application) RoundedUp(report records.ApplicationReport) (asked, given int64, ok bool) {
	given = report.Usage.Used.MemoryMB
	return app.asked, given, report.Usage.UsedContainers == 1 && given > app.asked // with another, the size of neither is known
}
