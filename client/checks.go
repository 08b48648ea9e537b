package client

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Errors of the checks before a submission, for errors.Is.
var (
	// ErrResources says that a container would exceed YARN's maximum.
	ErrResources = errors.New("container exceeds what YARN allows")
	// ErrQueue says that a queue does not exist or does not take the application.
	ErrQueue = errors.New("queue cannot be used")
	// ErrFileSystem says that a file system cannot hold staged files.
	ErrFileSystem = errors.New("file system is not shared with the cluster")
	// ErrMasterTooSmall says that the ApplicationMaster would not fit into its
	// container. A worker's is memory.ErrTooSmall.
	ErrMasterTooSmall = errors.New("container is too small for the ApplicationMaster")
)

// leastMaster is the memory that the ApplicationMaster needs to run at all, in
// MB.
const leastMaster = 64

// masterResource is what the ApplicationMaster's container asks for.
func masterResource(c config.Config) records.Resource {
	return records.Resource{
		MemoryMB: int64(c.Memory(config.JobManagerProcessSize).Megabytes()),
		VCores:   c.Int(config.YarnAppMasterVCores),
	}
}

// workerResource is what a TaskExecutor's container asks for: as many vcores as
// slots, unless yarn.containers.vcores says otherwise.
func workerResource(c config.Config) records.Resource {
	vcores := c.Int(config.YarnContainersVCores)
	if vcores < 1 {
		vcores = c.Int(config.TaskSlots)
	}
	return records.Resource{MemoryMB: int64(c.Memory(config.TaskManagerProcessSize).Megabytes()), VCores: vcores}
}

// checkContainers tells whether what runs in both kinds of container fits.
func checkContainers(c config.Config) error {
	var faults []error
	if needs := masterResource(c); needs.MemoryMB < leastMaster {
		faults = append(faults, fmt.Errorf("%w: %d MB, want %s of %dm or more (-jm)",
			ErrMasterTooSmall, needs.MemoryMB, config.JobManagerProcessSize, leastMaster))
	}
	if _, err := memory.SlotMB(int(workerResource(c).MemoryMB), c.Int(config.TaskSlots)); err != nil {
		faults = append(faults, fmt.Errorf("TaskExecutor (-tm, -s): %w", err))
	}
	return errors.Join(faults...)
}

// checkResources compares both kinds of container with YARN's maximum.
func checkResources(c config.Config, maximum records.Resource) error {
	var faults []error
	for _, container := range []struct {
		what, memory, vcores string
		needs                records.Resource
	}{
		{"ApplicationMaster", "-jm, jobmanager.memory.process.size", "yarn.appmaster.vcores", masterResource(c)},
		{"TaskExecutor", "-tm, taskmanager.memory.process.size", "-s, yarn.containers.vcores", workerResource(c)},
	} {
		if container.needs.MemoryMB > maximum.MemoryMB {
			faults = append(faults, fmt.Errorf("%w: the %s asks for %d MB, YARN's largest container has %d MB: lower it (%s)",
				ErrResources, container.what, container.needs.MemoryMB, maximum.MemoryMB, container.memory))
		}
		if container.needs.VCores > maximum.VCores {
			faults = append(faults, fmt.Errorf("%w: the %s asks for %d vcores, YARN's largest container has %d: lower it (%s)",
				ErrResources, container.what, container.needs.VCores, maximum.VCores, container.vcores))
		}
	}
	return errors.Join(faults...)
}

// checkQueue tells whether the user may submit to a queue. rights are the user's
// in all queues, which a scheduler may not tell.
func checkQueue(user string, queue records.QueueInfo, rights []records.QueueUserACL) error {
	if queue.State != records.QueueRunning {
		return fmt.Errorf("%w: %s is %s: choose another (-qu, %s)", ErrQueue, queue.Path, queue.State, config.YarnApplicationQueue)
	}
	if len(queue.Children) > 0 {
		names := make([]string, len(queue.Children))
		for i, child := range queue.Children {
			names[i] = child.Name
		}
		return fmt.Errorf("%w: %s is not a leaf queue: choose one of %s (-qu, %s)",
			ErrQueue, queue.Path, strings.Join(names, ", "), config.YarnApplicationQueue)
	}
	var open []string // where the user may submit
	refused := false
	for _, r := range rights {
		if slices.Contains(r.ACLs, records.QueueSubmitApplications) || slices.Contains(r.ACLs, records.QueueAdminister) {
			open = append(open, r.Queue)
		} else if r.Queue == queue.Path || r.Queue == queue.Name {
			refused = true
		}
	}
	if refused {
		return fmt.Errorf("%w: user %s may not submit to %s: choose one of %s (-qu, %s), or ask for the right (acl_submit_applications)",
			ErrQueue, user, queue.Path, cmp.Or(strings.Join(open, ", "), "none"), config.YarnApplicationQueue)
	}
	return nil
}
