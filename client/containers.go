package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrMasterTooSmall says that the ApplicationMaster does not fit into its container. The error for a worker is
// memory.ErrTooSmall.
var ErrMasterTooSmall = errors.New("container is too small for the ApplicationMaster")

// Containers are the two kinds of container that a cluster asks YARN for. launch.WorkerPlace says
// where the TaskExecutors' containers may be, and which other resources they have.
type Containers struct {
	Master records.Resource // the ApplicationMaster's
	Worker records.Resource // of each TaskExecutor
	// MasterMemory and WorkerMemory are how the processes divide their containers.
	MasterMemory memory.Master
	WorkerMemory memory.Worker
}

// leastMaster is the least memory of an ApplicationMaster, in MB.
const leastMaster = 64

// ContainersOf reads the options about containers of a cluster of this mode. Its error names each
// container that is too small for its process (ErrMasterTooSmall, memory.ErrTooSmall), and options that
// contradict each other or the size of a TaskExecutor (*config.Fault).
func ContainersOf(c config.Config, mode launch.Mode) (Containers, error) {
	var asked Containers
	var faults []error
	var err error
	if asked.MasterMemory, err = memory.MasterOf(c, mode.Programs()); err != nil {
		faults = append(faults, err)
	} else if size := asked.MasterMemory.ContainerMB(); size < leastMaster {
		faults = append(faults, fmt.Errorf("%w: %d MB: set %s to %dm or more (-jm)",
			ErrMasterTooSmall, size, asked.MasterMemory.By, leastMaster))
	}
	if asked.WorkerMemory, err = memory.WorkerOf(c); errors.Is(err, memory.ErrTooSmall) {
		faults = append(faults, fmt.Errorf("TaskExecutor (-tm, -s): %w", err))
	} else if err != nil {
		faults = append(faults, err)
	}
	asked.Master = records.Resource{MemoryMB: int64(asked.MasterMemory.ContainerMB()), VCores: c.Int(config.YarnAppMasterVCores)}
	asked.Worker = records.Resource{MemoryMB: int64(asked.WorkerMemory.ContainerMB()), VCores: config.WorkerVCores(c)}
	return asked, errors.Join(faults...)
}

// Within compares both kinds of container with YARN's largest one. Its error is a *Refusal, or
// several joined.
func (c Containers) Within(maximum records.Resource, place launch.WorkerPlace) error {
	var faults []error
	refuse := func(what, options string) {
		faults = append(faults, &Refusal{Kind: ErrResources, What: what, Remedy: "lower it (" + options + ")"})
	}
	for _, container := range []struct {
		what, memory, vcores string
		needs                records.Resource
	}{
		{"ApplicationMaster", "-jm, " + c.MasterMemory.By.Name(), "yarn.appmaster.vcores", c.Master},
		{"TaskExecutor", "-tm, " + c.WorkerMemory.By.Name(), "-s, yarn.containers.vcores, taskmanager.cpu.cores", c.Worker},
	} {
		if container.needs.MemoryMB > maximum.MemoryMB {
			refuse(fmt.Sprintf("the %s asks for %d MB, YARN's largest container has %d MB",
				container.what, container.needs.MemoryMB, maximum.MemoryMB), container.memory)
		}
		if container.needs.VCores > maximum.VCores {
			refuse(fmt.Sprintf("the %s asks for %d vcores, YARN's largest container has %d",
				container.what, container.needs.VCores, maximum.VCores), container.vcores)
		}
	}
	return errors.Join(append(faults, place.CheckExternal("the TaskExecutor", place.External, "external-resource.*.amount", maximum)...)...)
}

// crowded says, in one line, which of the first two containers, the ApplicationMaster's or a TaskExecutor's,
// fits on no node now; "" if both fit. It is a hint: queues, labels and other users' applications can still make
// either container wait, and the client does not know them. Flink's
// YarnClusterDescriptor#validateClusterResources gives the same warning. Of the job's workers, the largest counts.
func (c Containers) crowded(workers []launch.JobWorkers, nodes []records.NodeReport) string {
	if len(nodes) == 0 {
		return "the cluster has no running node: the application waits for one"
	}
	var most, next int64 // free memory of the two emptiest nodes, in MB
	for _, node := range nodes {
		free := max(0, node.Capability.MemoryMB-node.Used.MemoryMB)
		most, next = max(most, free), max(next, min(most, free))
	}
	master, worker := c.Master.MemoryMB, c.Worker.MemoryMB
	of, largest := "", int64(0)
	for _, w := range workers {
		if size := int64(w.Each.Memory.ContainerMB()); !w.Profile.IsDefault() && size > largest {
			of, largest = " of slot sharing group "+w.Names(), size
			worker = size
		}
	}
	switch {
	case master > most:
		return fmt.Sprintf("no node has %d MB free for the ApplicationMaster now, the emptiest has %d MB: the application waits until others end", master, most)
	case worker > most:
		return fmt.Sprintf("no node has %d MB free for a TaskExecutor%s now, the emptiest has %d MB: jobs wait until others end", worker, of, most)
	case master+worker > most && min(master, worker) > next:
		return fmt.Sprintf("no nodes have %d MB free for the ApplicationMaster and %d MB for a TaskExecutor%s now, the emptiest has %d MB: jobs wait until others end", master, worker, of, most)
	}
	return ""
}

// TooLarge says, in one line, that a job is probably too large for a running cluster; "" if it fits. slots
// are default slots, and supply is what the cluster reports of its slots. The line does not say how long the job waits for a slot, because that
// is an option of the cluster.
func (c *Cluster) TooLarge(ctx context.Context, slots int, supply msg.SlotSupply) (string, error) {
	if slots <= supply.Total {
		return "", nil
	}
	nodes, err := c.YARN.ClusterNodes(ctx, records.NodeRunning)
	if err != nil {
		return "", err
	}
	each := memory.Worker{Slots: supply.PerWorker, Process: config.Bytes(supply.WorkerMemoryMB) * config.Mebibyte}
	demand := launch.Demand{Workers: []launch.JobWorkers{{Slots: slots, Each: launch.WorkerSize{Memory: each}}}}
	return demand.TooLarge(memoryMB(nodes)), nil
}

// memoryMB is the sum of the nodes' memory.
func memoryMB(nodes []records.NodeReport) (total int64) {
	for _, node := range nodes {
		total += node.Capability.MemoryMB
	}
	return total
}

// RoundedUp tells how large, in MB, YARN has made the ApplicationMaster's container, if that is more than
// requested. YARN has a least size and a step of sizes, and reports neither in advance. ok is false if the
// container has the requested size, or the report does not tell.
func (app *Application) RoundedUp(report records.ApplicationReport) (asked, given int64, ok bool) {
	given = report.Usage.Used.MemoryMB
	return app.asked, given, report.Usage.UsedContainers == 1 && given > app.asked // the report has only the sum of all containers
}
