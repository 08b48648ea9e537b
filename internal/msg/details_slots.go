package msg

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// SlotSupply is what a cluster has of slots, what is to come, and what its jobs need, as
// people see it.
type SlotSupply struct {
	Total, Free    int       // slots of registered workers
	PerWorker      int       // slots of each
	WorkerMemoryMB int       // of its container
	Starting       int       // workers that have a container and have not registered
	Requested      int       // containers that YARN is asked for
	RequestedSince time.Time // since when some are; zero: none is
	Refused        string    // why YARN gives no more; "" while it may
	Jobs           []SlotDemand
}

// SlotDemand is what a job needs of slots.
type SlotDemand struct {
	Job    ids.JobID
	Needed int
	Held   int
	Since  time.Time // it has had fewer than it needs; zero: it has them
}

// Of is what a job needs; false: it needs none, or is not known.
func (s SlotSupply) Of(job ids.JobID) (SlotDemand, bool) {
	i := slices.IndexFunc(s.Jobs, func(d SlotDemand) bool { return d.Job == job })
	if i < 0 {
		return SlotDemand{}, false
	}
	return s.Jobs[i], true
}

// Waits tells whether the job has fewer slots than it needs.
func (d SlotDemand) Waits() bool { return d.Held < d.Needed }

// Others is how many slots other jobs hold.
func (s SlotSupply) Others(d SlotDemand) int { return max(0, s.Total-s.Free-d.Held) }

// Explain says in words what a job waits for. clock writes a time.
func (s SlotSupply) Explain(d SlotDemand, clock func(time.Time) string) string {
	parts := []string{fmt.Sprintf("it needs %d slots and has %d", d.Needed, d.Held)}
	if others := s.Others(d); others > 0 {
		parts = append(parts, fmt.Sprintf("other jobs hold %d", others))
	}
	switch {
	case s.Refused != "":
		parts = append(parts, "YARN gives no more containers: "+s.Refused)
	case s.Requested > 0:
		parts = append(parts, fmt.Sprintf("containers asked of YARN: %d, since %s", s.Requested, clock(s.RequestedSince)))
	case s.Starting == 0:
		parts = append(parts, "no containers are asked for")
	}
	if s.Starting > 0 {
		parts = append(parts, fmt.Sprintf("workers starting: %d", s.Starting))
	}
	return strings.Join(parts, "; ")
}
