package memory

import "github.com/bobbin-yarn/bobbin/internal/config"

// Names of parts.
const (
	frameworkHeap = "framework heap"
	taskHeap      = "task heap"
	taskOffHeap   = "task off-heap"
	managed       = "managed"
	network       = "network"
	overhead      = "overhead"
	heap          = "heap"
	offHeap       = "off-heap"
)

// Part is a part of a container, for logs and pages.
type Part struct {
	Name   string
	Size   config.Bytes
	Option string // that decides the size; "" if the list is not from WorkerParts or MasterParts
	Shared bool   // by all slots of the container, in equal parts
}

// WorkerParts is Worker.Parts of WorkerOf, with the option that decides each part. The error is that of WorkerOf.
func WorkerParts(c config.Config) ([]Part, error) {
	o := read(c)
	w, err := divideWorker(o)
	return o.decided(w.Parts()), err
}

// MasterParts is Master.Parts of MasterOf, with the option that decides each part.
func MasterParts(c config.Config, programs int) ([]Part, error) {
	o := read(c)
	m, err := divideMaster(o, programs)
	return o.decided(m.Parts()), err
}

// Parts lists the parts of a TaskExecutor's container. Together they are the container.
func (w Worker) Parts() []Part {
	return []Part{
		{frameworkHeap, w.Framework, "", false},
		{taskHeap, w.Tasks.Heap, "", true},
		{taskOffHeap, w.Tasks.OffHeap, "", true},
		{managed, w.Tasks.Managed, "", true},
		{network, w.Tasks.Network, "", true},
		{overhead, w.Overhead, "", false},
	}
}

// Parts lists the parts of an ApplicationMaster's container. Together they are the container.
func (m Master) Parts() []Part {
	return []Part{
		{heap, m.Heap, "", false},
		{offHeap, m.OffHeap, "", false},
		{overhead, m.Overhead, "", false},
	}
}

// Parts lists the parts of a task host's share.
func (s Slot) Parts() []Part {
	return []Part{
		{taskHeap, s.Heap, "", false},
		{taskOffHeap, s.OffHeap, "", false},
		{managed, s.Managed, "", false},
		{network, s.Network, "", false},
		{overhead, ProcessOverhead, "", false},
	}
}
