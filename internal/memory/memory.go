// Package memory divides a worker's container among its processes, reads what
// they hold from /proc (resident.go), and tells which of them to end before YARN
// ends them all. All but resident.go are pure functions. The package imports of
// ours only config, for its units.
//
//	container ─┬─ reserve: 5 %, for what no limit sees
//	           ├─ TaskExecutor: heap limit, text and stacks
//	           └─ each slot: text and stacks of a host of its own, and the slot:
//	               ├─ managed: what operators may hold in tables and buffers
//	               ├─ network: buffers between tasks
//	               └─ heap: the rest
//
// A host that holds several slots of its job has the limits of all of them. The
// limits are Go's soft ones (GOMEMLIMIT): they count the heap and what the
// runtime manages, but not the pages of the program file, which YARN counts.
package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// ErrTooSmall says that a container cannot hold its slots.
var ErrTooSmall = errors.New("container is too small")

// The fixed parts, in MB.
const (
	// TaskExecutorLimit is the TaskExecutor's own limit.
	TaskExecutorLimit = 32
	// Overhead is what a process of ours takes beside its limit: 11 to 13 MB of
	// program text, and stacks.
	Overhead = 32
	// leastSlot is what a slot needs for a task to run at all.
	leastSlot = 32
)

// reserveFraction of the container is kept from everybody.
const reserveFraction = 0.05

// Options are the parts of the model that users set.
type Options struct {
	ManagedFraction float64
	NetworkFraction float64
	NetworkMin      config.Bytes
	NetworkMax      config.Bytes
}

// OptionsFrom reads them.
func OptionsFrom(c config.Config) Options {
	return Options{
		ManagedFraction: c.Fraction(config.TaskManagerManagedFraction),
		NetworkFraction: c.Fraction(config.TaskManagerNetworkFraction),
		NetworkMin:      c.Memory(config.TaskManagerNetworkMin),
		NetworkMax:      c.Memory(config.TaskManagerNetworkMax),
	}
}

// SlotMB gives the memory that comes with each of a container's slots, in MB;
// ErrTooSmall, with the size that would do, where it is too little to run a
// task.
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

// withReserve is the smallest container that has need MB left.
func withReserve(need int) int {
	size := int(float64(need) / (1 - reserveFraction))
	for size-reserveMB(size) < need {
		size++
	}
	return size
}

// Host is how a host divides the memory of its slots.
type Host struct {
	Limit   config.Bytes // GOMEMLIMIT
	Managed config.Bytes // for operators, all subtasks together
	Network config.Bytes // for buffers between tasks
}

// HostOf divides the memory of a host's slots, all together in MB.
func HostOf(slotsMB int, o Options) Host {
	limit := config.Bytes(slotsMB) * config.Mebibyte
	network := min(max(part(limit, o.NetworkFraction), o.NetworkMin), o.NetworkMax, limit/2)
	managed := min(part(limit, o.ManagedFraction), limit-network)
	return Host{Limit: limit, Managed: managed, Network: network}
}

// Worker is how a container is divided, all its hosts together. The parts make up the whole.
type Worker struct {
	Framework config.Bytes // the TaskExecutor's own limit
	Heap      config.Bytes // for the tasks' objects
	Managed   config.Bytes // for operators
	Network   config.Bytes // for buffers between tasks
	Overhead  config.Bytes // text and stacks of all processes, and the reserve
}

// WorkerOf divides a container as it is when each slot is used; ErrTooSmall.
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

// part is a fraction of the whole, at most all of it.
func part(whole config.Bytes, fraction float64) config.Bytes {
	return config.Bytes(float64(whole) * min(fraction, 1))
}

// Usage is what a host's process tree holds now, and what it may hold.
type Usage[ID cmp.Ordered] struct {
	ID       ID
	Resident config.Bytes // of its whole process tree
	Share    config.Bytes // its slots and its overhead
}

// criticalFraction of the container is where a host is ended: the NodeManager
// looks every 3 s and ends all at 100 %.
const criticalFraction = 0.97

// Victim names the host to end when the container is about to exceed its
// memory: the one furthest over its share. rest is what all other processes of
// the container hold. There is none while the container is within bounds, or
// when no host is over its share.
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
