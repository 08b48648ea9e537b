package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Schedule is a run: jobs, and what goes wrong meanwhile. Draw makes one from a seed.
type Schedule struct {
	Seed uint64
	// Jobs is how many of the seed's jobs run.
	Jobs int
	// Session is true if the jobs share a session. Otherwise each is an application.
	Session bool
	// Faults are what goes wrong, in the order of their times.
	Faults []Fault
}

// Draw draws the schedule of a seed.
func Draw(seed uint64) Schedule {
	return Schedule{Seed: seed, Jobs: 1 + stream(seed, "number of jobs").IntN(mostJobs), Session: stream(seed, "mode").IntN(3) == 0, Faults: drawFaults(stream(seed, "faults"))}
}

// String returns the schedule as Go text, for a named regression.
func (s Schedule) String() string {
	var faults strings.Builder
	for _, f := range s.Faults {
		fmt.Fprintf(&faults, "\n\t%#v,", f)
	}
	if len(s.Faults) > 0 {
		faults.WriteByte('\n')
	}
	return fmt.Sprintf("sim.Schedule{Seed: %d, Jobs: %d, Session: %t, Faults: []sim.Fault{%s}}", s.Seed, s.Jobs, s.Session, &faults)
}

// Fault is something that goes wrong at a time. It names its victim by a number among those that are
// there at this time, so that it means something without the other faults, too.
type Fault struct {
	At     time.Duration // since the start
	Kind   FaultKind
	Victim int
	Time   time.Duration // how long it takes; 0: for ever
}

func (f Fault) String() string {
	if f.Time == 0 {
		return fmt.Sprintf("%v %s %d", f.At, f.Kind, f.Victim)
	}
	return fmt.Sprintf("%v %s %d for %v", f.At, f.Kind, f.Victim, f.Time)
}

// Shrink returns a smaller schedule that breaks the same rule: it leaves out faults and jobs as long as
// the rule stays broken. s must break the rule.
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

// smaller returns the schedules that lack one fault, or the last job, or take half the time for a fault.
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
