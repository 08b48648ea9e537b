package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Mode is how the jobs of a schedule run.
type Mode int

// The modes.
const (
	PerJob      Mode = iota // each job is an application
	Session                 // the jobs share a session
	Application             // the program of one application executes the jobs, one after the other
)

// GoString returns the mode as Go text.
func (m Mode) GoString() string {
	return [...]string{"sim.PerJob", "sim.Session", "sim.Application"}[m]
}

// drawMode draws a mode: most jobs have an application each.
func drawMode(r *rand.Rand) Mode { return [...]Mode{PerJob, PerJob, Session, Application}[r.IntN(4)] }

// Schedule is a run: jobs, and what goes wrong meanwhile. Draw makes one from a seed.
type Schedule struct {
	Seed uint64
	// Jobs is how many of the seed's jobs run.
	Jobs int
	Mode Mode
	// Attempts is how many attempts of an application YARN starts. 0: 50, enough for each application to succeed.
	Attempts int
	// Uber makes room for a worker in the container of each per-job application (yarn.application.uber), also for
	// jobs that need more than one. Clients do not: so the simulation shows how the providers of workers share.
	Uber bool
	// Restarts is restart-strategy.fixed-delay.attempts. 0: so many that each job finishes; NoRestarts: none.
	Restarts int
	// Strategy is restart-strategy.type, with as many restarts as each job needs. "": fixed-delay.
	Strategy string
	// Failover is jobmanager.execution.failover-strategy. "": region.
	Failover string
	// SlotTimeout is slot.request.timeout. 0: a day, for which each job waits.
	SlotTimeout time.Duration
	// Tasks bounds the tasks of each vertex. 0: as many as the seed draws.
	Tasks int
	// Slots is the most slots of all workers. 0: 8, for which the jobs of a session compete.
	Slots int
	// Redundant is slotmanager.redundant-taskmanager-num, and Floor the least slots of all workers.
	Redundant, Floor int
	// Total is how the options express Slots and Floor: as "cpu" or "memory" (slotmanager.max-total-resource.* and
	// min-total-resource.*). "": as slots (slotmanager.number-of-slots.*).
	Total string
	// Balance is taskmanager.load-balance.mode. "": the default.
	Balance string
	// Groups says that the sources and the sinks of jobs are in two slot sharing groups with resources of their own.
	Groups bool
	// Edges is which edges of jobs are blocking: Pipelined, Mixed, Blocking, Automatic, or Later.
	Edges Edges
	// Large says that jobs have more tasks than all workers have slots. Their exchanges must not be pipelined.
	Large bool
	// Speculation is how many attempts of a slow task may run at a time (execution.batch.speculative.max-concurrent-executions). 0: it
	// gets no further ones.
	Speculation int
	// SlowAfter and SlowPercent are slow-task-detector.execution-time.baseline-lower-bound and .baseline-ratio.
	SlowAfter   time.Duration
	SlowPercent int
	// Stubborn says that the sources of jobs ignore that they are cancelled while they read a split.
	Stubborn bool
	// Interval is how long delegation tokens last. 0: as long as the seed draws.
	Interval time.Duration
	// Unprotected says that high-availability.type is NONE.
	Unprotected bool
	// Archive says that jobs are archived for history servers (jobmanager.archive.fs.dir).
	Archive bool
	// Faults are what goes wrong, in the order of their times.
	Faults []Fault
}

// NoRestarts is a value of Schedule.Restarts.
const NoRestarts = -1

// Draw draws the schedule of a seed.
func Draw(seed uint64) Schedule {
	s := Schedule{
		Seed: seed, Jobs: 1 + stream(seed, "number of jobs").IntN(mostJobs), Mode: drawMode(stream(seed, "mode")),
		Attempts: drawAttempts(stream(seed, "attempts")), Faults: drawFaults(stream(seed, "faults")),
		Failover:  drawFailover(stream(seed, "failover strategy")),
		Redundant: max(stream(seed, "redundant").IntN(5)-2, 0), Floor: max(stream(seed, "floor").IntN(8)-3, 0),
		Balance: drawBalance(stream(seed, "balance")), Uber: stream(seed, "uber").IntN(3) == 0,
		SlotTimeout: drawSlotTimeout(stream(seed, "slot time-out")),
		Slots:       drawSlots(stream(seed, "slots")), Total: drawTotal(stream(seed, "total")), Stubborn: stream(seed, "stubborn").IntN(6) == 0,
		Unprotected: stream(seed, "high availability").IntN(5) == 0, Archive: stream(seed, "archive").IntN(3) == 0,
	}
	s.Strategy = drawStrategy(stream(seed, "restart strategy"), s.Mode)
	s.Floor = min(s.Floor, s.mostSlots())
	if s.Groups = stream(seed, "groups").IntN(4) == 0; s.Groups {
		s.Slots = 0 // a job with groups may need 7 slots, and fails under a lower ceiling
	}
	s.Edges = drawEdgesMode(stream(seed, "edges"))
	s.drawSpeculation(stream(seed, "speculation"))
	s.Large = s.Edges != Pipelined && s.Edges != Mixed && !s.Groups && stream(seed, "large").IntN(2) == 0
	return s
}

// drawStrategy draws a restart strategy. Only jobs of a session may fail.
func drawStrategy(r *rand.Rand, m Mode) string {
	drawn := [...]string{"", "", "exponential-delay", "failure-rate", none}[r.IntN(5)]
	if drawn == none && m != Session {
		return ""
	}
	return drawn
}

// none is a value of Schedule.Strategy: a job fails with its first failure.
const none = "none"

// mayFail says that jobs need not finish.
func (s Schedule) mayFail() bool { return s.Restarts == NoRestarts || s.Strategy == none }

// drawSlots draws the most slots of all workers.
func drawSlots(r *rand.Rand) int { return [...]int{0, 0, 4, 6}[r.IntN(4)] }

// The ways to express limits of all workers, beside slots.
const totalCPU, totalMemory = "cpu", "memory"

// drawTotal draws how the options express limits of all workers.
func drawTotal(r *rand.Rand) string { return [...]string{"", "", totalCPU, totalMemory}[r.IntN(4)] }

// limits are the options for the limits of all workers.
func (s Schedule) limits() map[string]string {
	switch s.Total {
	case totalCPU: // a worker has one vcore for each slot
		return map[string]string{
			config.MaxTotalCPU.Name(): strconv.Itoa(s.mostSlots()),
			config.MinTotalCPU.Name(): strconv.Itoa(s.Floor),
		}
	case totalMemory:
		return map[string]string{
			config.MaxTotalMemory.Name(): fmt.Sprintf("%d m", s.mostSlots()/slotsPerWorker*workerMB),
			config.MinTotalMemory.Name(): fmt.Sprintf("%d m", (s.Floor+slotsPerWorker-1)/slotsPerWorker*workerMB),
		}
	default:
		return map[string]string{
			config.SlotsMax.Name(): strconv.Itoa(s.mostSlots()),
			config.SlotsMin.Name(): strconv.Itoa(s.Floor),
		}
	}
}

// workerMB is the default of taskmanager.memory.process.size.
const workerMB = 1024

// drawFailover draws a failover strategy: all tasks restart in every third schedule.
func drawFailover(r *rand.Rand) string { return [...]string{"", "", full}[r.IntN(3)] }

// drawSlotTimeout draws how long a job waits for slots until its waiting tasks fail and restart.
func drawSlotTimeout(r *rand.Rand) time.Duration {
	return [...]time.Duration{0, 0, time.Minute}[r.IntN(3)]
}

// full is a value of Schedule.Failover.
const full = "full"

// drawBalance draws how slots are chosen.
func drawBalance(r *rand.Rand) string {
	modes := config.Choices(config.LoadBalanceMode.Name())
	return modes[r.IntN(len(modes))]
}

// drawAttempts draws how many attempts an application may have: most may have as many as they need.
func drawAttempts(r *rand.Rand) int {
	if r.IntN(4) > 0 {
		return 0
	}
	return 1 + r.IntN(2)
}

// mostSlots is slotmanager.number-of-slots.max.
func (s Schedule) mostSlots() int { return cmp.Or(s.Slots, 8) }

// mostAttempts is how many attempts of an application YARN starts.
func (s Schedule) mostAttempts() int { return cmp.Or(s.Attempts, 50) }

// String returns the schedule as Go text, for a named regression.
func (s Schedule) String() string {
	var faults strings.Builder
	for _, f := range s.Faults {
		fmt.Fprintf(&faults, "\n\t%#v,", f)
	}
	if len(s.Faults) > 0 {
		faults.WriteByte('\n')
	}
	return fmt.Sprintf("sim.Schedule{Seed: %d, Jobs: %d, Mode: %#v, Attempts: %d, Uber: %t, Restarts: %d, Strategy: %q, Failover: %q, SlotTimeout: %d, Tasks: %d, Slots: %d, Redundant: %d, Floor: %d, Total: %q, Balance: %q, Groups: %t, Edges: %q, Large: %t, Speculation: %d, SlowAfter: %d, SlowPercent: %d, Stubborn: %t, Interval: %d, Unprotected: %t, Archive: %t, Faults: []sim.Fault{%s}}",
		s.Seed, s.Jobs, s.Mode, s.Attempts, s.Uber, s.Restarts, s.Strategy, s.Failover, s.SlotTimeout, s.Tasks, s.Slots, s.Redundant, s.Floor, s.Total, s.Balance, s.Groups, s.Edges, s.Large, s.Speculation, s.SlowAfter, s.SlowPercent, s.Stubborn, s.Interval, s.Unprotected, s.Archive, &faults)
}

// Shrink returns a smaller schedule that breaks the same rule: it leaves out faults, jobs and tasks, and
// with these workers, as long as the rule stays broken. s must break the rule.
func Shrink(s Schedule, rule string) (Schedule, error) {
	for smaller := true; smaller; {
		smaller = false
		for _, candidate := range s.smaller() {
			r, err := candidate.Run(nil)
			if err != nil {
				return s, err
			}
			if r.Broken != nil && r.Broken.Rule == rule {
				s, smaller = candidate, true
				break
			}
		}
	}
	return s, nil
}

// smaller returns the schedules that lack one fault, the last job or tasks, have high availability, no archives or no further
// attempts, or take half the time for a fault.
func (s Schedule) smaller() []Schedule {
	var all []Schedule
	for i := range s.Faults {
		one := s
		one.Faults = slices.Delete(slices.Clone(s.Faults), i, i+1)
		all = append(all, one)
	}
	if s.Jobs > 1 {
		one := s
		one.Jobs--
		all = append(all, one)
	}
	if s.Redundant > 0 || s.Floor > 0 || s.Balance != "" {
		one := s
		one.Redundant, one.Floor, one.Balance = 0, 0, ""
		all = append(all, one)
	}
	if s.Unprotected {
		one := s
		one.Unprotected = false
		all = append(all, one)
	}
	if s.Archive {
		one := s
		one.Archive = false
		all = append(all, one)
	}
	if s.Large {
		one := s
		one.Large = false
		all = append(all, one)
	}
	if s.Speculation > 0 {
		one := s
		one.Speculation, one.SlowAfter, one.SlowPercent = 0, 0, 0
		all = append(all, one)
	}
	for tasks := 1; tasks < mostTasks && (s.Tasks == 0 || tasks < s.Tasks); tasks++ {
		one := s
		one.Tasks = tasks
		all = append(all, one)
	}
	for i, f := range s.Faults {
		if f.Time > time.Second {
			one := s
			one.Faults = slices.Clone(s.Faults)
			one.Faults[i].Time = (f.Time / 2).Round(time.Millisecond)
			all = append(all, one)
		}
	}
	return all
}
