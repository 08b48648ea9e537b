package sim

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Duty is a duty of the roles that a schedule may ask for.
type Duty struct {
	Name  string
	Asked bool
}

// Duties lists the duties that only some schedules ask for, always in the same order. Faults are not among them.
func (s Schedule) Duties() []Duty {
	jobs := drawJobs(&World{schedule: s})
	return []Duty{
		{"spare workers", s.Redundant > 0},
		{"floor of slots", s.Floor > 0 && s.Total == ""},
		{"floor of cpu", s.Floor > 0 && s.Total == totalCPU},
		{"floor of memory", s.Floor > 0 && s.Total == totalMemory},
		{"lower ceiling of slots", s.Slots > 0 && s.Total == ""},
		{"ceiling of cpu", s.Total == totalCPU},
		{"ceiling of memory", s.Total == totalMemory},
		{"load balance SLOTS", s.Balance == config.BalanceSlots},
		{"load balance TASKS", s.Balance == config.BalanceTasks},
		{"groups with resources", s.Groups},
		{"worker beside its master", s.Uber && s.Mode == PerJob},
		{"cached files", slices.ContainsFunc(jobs, func(j *job) bool { return j.cached })},
		{"slot time-out", s.SlotTimeout > 0},
		{"full failover", s.Failover == full},
		{"exponential delay", s.Strategy == "exponential-delay"},
		{"failure rate", s.Strategy == "failure-rate"},
		{"no restarts", s.Strategy == none},
		{"some edges blocking", s.Edges == Mixed},
		{"all exchanges blocking", s.Edges == Blocking},
		{"exchanges blocking if slots are too few", s.Edges == Automatic},
		{"slots are too few for a later part", s.Edges == Later && s.Large},
		{"jobs larger than the cluster", s.Large},
		{"further attempts of slow tasks", s.Speculation > 0},
		{"three attempts at a time", s.Speculation > 2},
		{"diamonds", slices.ContainsFunc(jobs, func(j *job) bool { return j.diamond })},
		{"cancelled tasks that stay", s.Stubborn},
		{"session", s.Mode == Session},
		{"program of an application", s.Mode == Application},
		{"archives", s.Archive},
	}
}
