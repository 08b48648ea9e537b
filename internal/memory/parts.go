package memory

import "github.com/bobbin-yarn/bobbin/internal/config"

// Part is a part of a container, for logs and pages.
type Part struct {
	Name   string
	Size   config.Bytes
	Option string // an option that changes it
}

// Parts lists the parts of a TaskExecutor's container. Together they are the container.
func (w Worker) Parts() []Part {
	return []Part{
		{"framework heap", w.Framework, config.TaskManagerFrameworkHeapSize.Name()},
		{"task heap", w.Tasks.Heap, config.TaskManagerTaskHeapSize.Name()},
		{"task off-heap", w.Tasks.OffHeap, config.TaskManagerTaskOffHeapSize.Name()},
		{"managed", w.Tasks.Managed, config.TaskManagerManagedFraction.Name()},
		{"network", w.Tasks.Network, config.TaskManagerNetworkFraction.Name()},
		{"overhead", w.Overhead, config.TaskManagerOverheadFraction.Name()},
	}
}

// Parts lists the parts of an ApplicationMaster's container. Together they are the container.
func (m Master) Parts() []Part {
	return []Part{
		{"heap", m.Heap, config.JobManagerHeapSize.Name()},
		{"off-heap", m.OffHeap, config.JobManagerOffHeapSize.Name()},
		{"overhead", m.Overhead, config.JobManagerOverheadFraction.Name()},
	}
}

// Parts lists the parts of a task host's share.
func (s Slot) Parts() []Part {
	return []Part{
		{"task heap", s.Heap, config.TaskManagerTaskHeapSize.Name()},
		{"task off-heap", s.OffHeap, config.TaskManagerTaskOffHeapSize.Name()},
		{"managed", s.Managed, config.TaskManagerManagedFraction.Name()},
		{"network", s.Network, config.TaskManagerNetworkFraction.Name()},
		{"overhead", ProcessOverhead, config.TaskManagerOverheadFraction.Name()},
	}
}
