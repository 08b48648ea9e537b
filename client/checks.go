package client

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Errors of the checks before a submission, for errors.Is.
var (
	// ErrResources says that a container would exceed YARN's maximum.
	ErrResources = errors.New("container exceeds what YARN allows")
	// ErrQueue says that a queue does not exist or takes no applications.
	ErrQueue = errors.New("queue cannot be used")
	// ErrFileSystem says that the default file system cannot hold staged files.
	ErrFileSystem = errors.New("default file system is not shared with the cluster")
)

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

// checkQueue tells whether a queue may take the application, as far as its state
// says; who may submit is only known to the ResourceManager.
func checkQueue(name string, queue records.QueueInfo) error {
	if queue.State != records.QueueRunning {
		return fmt.Errorf("%w: queue %s is %s", ErrQueue, name, queue.State)
	}
	if len(queue.Children) > 0 {
		names := make([]string, len(queue.Children))
		for i, child := range queue.Children {
			names[i] = child.Name
		}
		return fmt.Errorf("%w: %s is not a leaf queue: choose one of %s (-qu)", ErrQueue, name, strings.Join(names, ", "))
	}
	return nil
}
