package msg

import (
	"fmt"
	"slices"
	"strings"
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
	Jobs           []SlotDemand
}

// SlotDemand is the number of slots that a job needs and holds.
type SlotDemand struct {
	Job    ids.JobID
	Needed int
	Held   int
	Since  time.Time // when it began to lack slots; zero: it lacks none
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

// Explain describes in words what a job waits for. clock formats a time.
func (s SlotSupply) Explain(d SlotDemand, clock func(time.Time) string) string {
	parts := []string{fmt.Sprintf("it needs %d slots and has %d", d.Needed, d.Held)}
	if others := s.Others(d); others > 0 {
		parts = append(parts, fmt.Sprintf("other jobs hold %d", others))
	}
	switch {
	case s.Refused != "":
		parts = append(parts, "YARN gives no more containers: "+s.Refused)
	case s.Requested > 0:
		parts = append(parts, fmt.Sprintf("containers requested from YARN: %d, since %s", s.Requested, clock(s.RequestedSince)))
	case s.Starting == 0:
		parts = append(parts, "no containers are requested")
	}
	if s.Starting > 0 {
		parts = append(parts, fmt.Sprintf("workers starting: %d", s.Starting))
	}
	return strings.Join(parts, "; ")
}
