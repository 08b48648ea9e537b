// Package memory divides a worker's container among its processes, reads their memory from /proc
// (resident.go), and chooses the process to end before YARN ends the whole container. All but
// resident.go is pure functions. Of this module the package imports only config, for its units.
//
//	container ─┬─ reserve: 5 %, for memory that no limit covers
//	           ├─ TaskExecutor: heap limit, text and stacks
//	           └─ each slot: text and stacks of a host of its own, and the slot:
//	               ├─ managed: tables and buffers of operators
//	               ├─ network: buffers between tasks
//	               └─ heap: the rest
//
// A host with several slots of its job has the limits of all of them. The limits are Go's soft ones
// (GOMEMLIMIT). They count the heap and other memory of Go's runtime, but not the pages of the
// program file, which YARN counts.
package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// ErrTooSmall says that a container has too little memory for its slots.
var ErrTooSmall = errors.New("container is too small")

// The fixed parts, in MB.
const (
	// TaskExecutorLimit is the limit of the TaskExecutor itself.
	TaskExecutorLimit = 32
	// Overhead is the memory of a process beside its limit: 11 to 13 MB of program text, and
	// stacks.
	Overhead = 32
	// leastSlot is the least memory of a slot in which a task can run.
	leastSlot = 32
)

// reserveFraction is the part of the container that no process gets.
const reserveFraction = 0.05

// Options are the parameters that users set.
type Options struct {
	ManagedFraction float64
	NetworkFraction float64
	NetworkMin      config.Bytes
	NetworkMax      config.Bytes
}

// OptionsFrom reads the Options.
func OptionsFrom(c config.Config) Options {
	return Options{
		ManagedFraction: c.Fraction(config.TaskManagerManagedFraction),
		NetworkFraction: c.Fraction(config.TaskManagerNetworkFraction),
		NetworkMin:      c.Memory(config.TaskManagerNetworkMin),
		NetworkMax:      c.Memory(config.TaskManagerNetworkMax),
	}
}

// SlotMB returns the memory of each of a container's slots, in MB. If that is too little for a
// task, the error wraps ErrTooSmall and names a sufficient size.
func SlotMB(containerMB, slots int) (int, error) {
	reserve := reserveMB(containerMB)
	slot := (containerMB-reserve-TaskExecutorLimit-Overhead)/slots - Overhead
	if slot < leastSlot {
		need := TaskExecutorLimit + Overhead + slots*(Overhead+leastSlot)
		return 0, fmt.Errorf("%d MB for %d slots, want %s of %dm or more: %w",
			containerMB, slots, config.TaskManagerProcessSize, withReserve(need), ErrTooSmall)
	}
	return slot, nil
}

func reserveMB(containerMB int) int { return int(float64(containerMB)*reserveFraction) + 1 }

// withReserve returns the smallest container that has need MB beside its reserve.
func withReserve(need int) int {
	size := int(float64(need) / (1 - reserveFraction))
	for size-reserveMB(size) < need {
		size++
	}
	return size
}

// Host is the division of the memory of a host's slots.
type Host struct {
	Limit   config.Bytes // GOMEMLIMIT
	Managed config.Bytes // for operators of all subtasks
	Network config.Bytes // for buffers between tasks
}

// HostOf divides the memory of all slots of a host, in MB.
func HostOf(slotsMB int, o Options) Host {
	limit := config.Bytes(slotsMB) * config.Mebibyte
	network := min(max(part(limit, o.NetworkFraction), o.NetworkMin), o.NetworkMax, limit/2)
	managed := min(part(limit, o.ManagedFraction), limit-network)
	return Host{Limit: limit, Managed: managed, Network: network}
}

// Worker is the division of a container, with all its hosts. Its parts add up to the whole.
type Worker struct {
	Framework config.Bytes // the limit of the TaskExecutor itself
	Heap      config.Bytes // for the tasks' objects
	Managed   config.Bytes // for operators
	Network   config.Bytes // for buffers between tasks
	Overhead  config.Bytes // text and stacks of all processes, and the reserve
}

// WorkerOf divides a container in which each slot is used. The error wraps ErrTooSmall.
func WorkerOf(containerMB, slots int, o Options) (Worker, error) {
	slot, err := SlotMB(containerMB, slots)
	if err != nil {
		return Worker{}, err
	}
	host := HostOf(slot*slots, o)
	w := Worker{Framework: TaskExecutorLimit * config.Mebibyte, Managed: host.Managed, Network: host.Network}
	w.Heap = host.Limit - host.Managed - host.Network
	w.Overhead = config.Bytes(containerMB)*config.Mebibyte - w.Framework - host.Limit
	return w, nil
}

// part returns a fraction of the whole, at most the whole.
func part(whole config.Bytes, fraction float64) config.Bytes {
	return config.Bytes(float64(whole) * min(fraction, 1))
}

// Usage is the memory that a host's process tree uses, and its share.
type Usage[ID cmp.Ordered] struct {
	ID       ID
	Resident config.Bytes // of its whole process tree
	Share    config.Bytes // of its slots and its overhead
}

// criticalFraction is the part of the container's memory at which a host is ended. The NodeManager
// checks every 3 s and ends the container at 100 %.
const criticalFraction = 0.97

// Victim returns the host to end if the container is about to exceed its memory: the host that is
// furthest above its share. rest is the memory of all other processes in the container. It returns
// false if the container is within its limit, or no host is above its share.
func Victim[ID cmp.Ordered](containerMB int, rest config.Bytes, hosts []Usage[ID]) (Usage[ID], bool) {
	total := rest
	for _, h := range hosts {
		total += h.Resident
	}
	if len(hosts) == 0 || float64(total) < float64(config.Bytes(containerMB)*config.Mebibyte)*criticalFraction {
		return Usage[ID]{}, false
	}
	worst := slices.MaxFunc(hosts, func(a, b Usage[ID]) int {
		return cmp.Or(cmp.Compare(a.Resident-a.Share, b.Resident-b.Share), cmp.Compare(b.ID, a.ID))
	})
	return worst, worst.Resident > worst.Share
}
