package memory

import "github.com/bobbin-yarn/bobbin/internal/config"

// Part is a part of a container, for logs and pages.
type Part struct {
	Name   string
	Size   config.Bytes
	Option string // an option that changes it
	Shared bool   // by all slots of the container, in equal parts
}

// Parts lists the parts of a TaskExecutor's container. Together they are the container.
func (w Worker) Parts() []Part {
	return []Part{
		{"framework heap", w.Framework, config.TaskManagerFrameworkHeapSize.Name(), false},
		{"task heap", w.Tasks.Heap, config.TaskManagerTaskHeapSize.Name(), true},
		{"task off-heap", w.Tasks.OffHeap, config.TaskManagerTaskOffHeapSize.Name(), true},
		{"managed", w.Tasks.Managed, config.TaskManagerManagedFraction.Name(), true},
		{"network", w.Tasks.Network, config.TaskManagerNetworkFraction.Name(), true},
		{"overhead", w.Overhead, config.TaskManagerOverheadFraction.Name(), false},
	}
}

// Parts lists the parts of an ApplicationMaster's container. Together they are the container.
func (m Master) Parts() []Part {
	return []Part{
		{"heap", m.Heap, config.JobManagerHeapSize.Name(), false},
		{"off-heap", m.OffHeap, config.JobManagerOffHeapSize.Name(), false},
		{"overhead", m.Overhead, config.JobManagerOverheadFraction.Name(), false},
	}
}

// Parts lists the parts of a task host's share.
func (s Slot) Parts() []Part {
	return []Part{
		{"task heap", s.Heap, config.TaskManagerTaskHeapSize.Name(), false},
		{"task off-heap", s.OffHeap, config.TaskManagerTaskOffHeapSize.Name(), false},
		{"managed", s.Managed, config.TaskManagerManagedFraction.Name(), false},
		{"network", s.Network, config.TaskManagerNetworkFraction.Name(), false},
		{"overhead", ProcessOverhead, config.TaskManagerOverheadFraction.Name(), false},
	}
}
