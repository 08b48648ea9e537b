package msg

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// SlotSupply lists the slots of a cluster, the expected slots and the needs of its jobs,
// for users.
type SlotSupply struct {
	Total, Free    int       // slots of registered workers
	PerWorker      int       // slots of each
	WorkerMemoryMB int       // of its container
	Starting       int       // workers with a container that have not registered
	Requested      int       // containers requested from YARN
	RequestedSince time.Time // since when any are requested; zero: none
	Refused        string    // why YARN gives no more; "" if it may give more
	Spares         int       // workers without a used slot that stay to replace lost ones
	Floor          int       // workers without a used slot that stay because of FloorBy
	FloorBy        string    // the option that gives the least number of workers, with its value; "": none does
	Earlier        int       // workers of an earlier ApplicationMaster that may return, while no others are ordered
	Kinds          []WorkerSupply
	Jobs           []SlotDemand
}

// SlotDemand is the number of slots that a job needs and holds.
type SlotDemand struct {
	Job    ids.JobID
	Needed int
	Held   int
	Since  time.Time // when it began to lack slots; zero: it lacks none
	Lacks  []int     // SlotSupply.Kinds whose slots it lacks
	// Turn says that another job gets new workers first. Blocked says that the job has set aside all nodes.
	Turn, Blocked bool
}

// Of returns the demand of a job. It returns false if the job needs no slots or is
// unknown.
func (s SlotSupply) Of(job ids.JobID) (SlotDemand, bool) {
	i := slices.IndexFunc(s.Jobs, func(d SlotDemand) bool { return d.Job == job })
	if i < 0 {
		return SlotDemand{}, false
	}
	return s.Jobs[i], true
}

// Waits reports whether the job has fewer slots than it needs.
func (d SlotDemand) Waits() bool { return d.Held < d.Needed }

// Others returns the number of slots that other jobs hold.
func (s SlotSupply) Others(d SlotDemand) int { return max(0, s.Total-s.Free-d.Held) }
