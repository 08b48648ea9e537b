package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"
)

// Fault is something that goes wrong. It names its victim by a number among those that are there at this
// time, so that it means something without the other faults, too.
type Fault struct {
	// At is when it strikes, since the start.
	At time.Duration
	// Call makes the fault wait, from At on, for the first call to YARN or HDFS that this regular expression
	// matches. It strikes when the call arrives at its server, before the effect. A call's text is the process
	// and the method, for HDFS with its paths. "": the fault does not wait.
	Call string
	// Skip is how many such calls the fault lets pass. After lets it strike after the effect of its call.
	Skip   int
	After  bool
	Kind   FaultKind
	Victim int
	// Time is how long it takes. 0: for ever, or no time.
	Time time.Duration
}

func (f Fault) String() string {
	text := fmt.Sprintf("%v %s %d", f.At, f.Kind, f.Victim)
	if f.Time > 0 {
		text += fmt.Sprintf(" for %v", f.Time)
	}
	if f.Call == "" {
		return text
	}
	when := "at"
	if f.After {
		when = "after"
	}
	if f.Skip > 0 {
		return fmt.Sprintf("%s %s %s, the %d. time", text, when, f.Call, f.Skip+1)
	}
	return fmt.Sprintf("%s %s %s", text, when, f.Call)
}

// faultTime is the time in which drawn faults happen.
const faultTime = 2 * time.Minute

// drawnCalls are calls for which drawn faults wait: each is the step after which two processes may know
// different things.
var drawnCalls = []string{ //nolint:gochecknoglobals // a constant table
	"submitApplication", "registerApplicationMaster", "allocate", "finishApplicationMaster", "startContainers", "stopContainers",
	"(create|rename2) .*/access.json$", "rename2 .*/_temporary/", "rename2 .*/_SUCCESS", "delete",
	"renewDelegationToken",
}

// storeCalls are the calls that make what outlives a master: it leads, and ends; jobs, their cancellations, their commits
// and their results; the output of a job with a commit.
var storeCalls = []string{ //nolint:gochecknoglobals // a constant table
	"rename2 .*/live-[0-9]+ .*/live-[0-9]+$", "rename2 .*/live-[0-9]+ .*/ended-[0-9]+$", "rename2 .*/jobs/[^/]+$",
	"rename2 .*/cancelled$", "rename2 .*/commit(ted)?-[0-9]+$", "rename2 .*/result/[^/]+$", "rename2 .*/e[0-9]+ .*/e[0-9]+$",
}

// drawCall draws a call for which a fault waits.
func drawCall(r *rand.Rand) string {
	all := append(slices.Clone(drawnCalls), storeCalls...)
	return all[r.IntN(len(all))]
}

// drawDeaths draws masters that fail at a call of the store: before it is sent, before its effect, or after it.
func drawDeaths(r *rand.Rand) (deaths []Fault) {
	for r.IntN(3) == 0 {
		kinds := []FaultKind{KillMaster, KillMaster, FreezeMaster, MakeZombie}
		f := Fault{Call: storeCalls[r.IntN(len(storeCalls))], Kind: kinds[r.IntN(len(kinds))], Victim: r.IntN(16)}
		if r.IntN(2) == 0 {
			f.Victim = 0 // mostly there is one
		}
		if f.Kind != KillMaster {
			f.Time = between(r, time.Minute, 8*time.Minute)
		}
		switch r.IntN(3) {
		case 0:
			f.After = true
		case 1:
			deaths = append(deaths, Fault{Call: f.Call, Kind: LoseCall})
		}
		deaths = append(deaths, f)
	}
	return deaths
}

// drawFaults draws the faults of a run, in the order of their times.
func drawFaults(r *rand.Rand) []Fault {
	faults := append(drawHabits(r), drawDeaths(r)...)
	for range r.IntN(8) {
		drawn := kinds[r.IntN(len(kinds))]
		f := Fault{At: between(r, 0, faultTime), Kind: drawn.kind, Victim: r.IntN(16)}
		if r.IntN(3) > 0 { // most jobs are short
			f.At /= 10
		}
		if drawn.most > 0 {
			f.Time = between(r, 10*time.Millisecond, drawn.most)
			if r.IntN(2) > 0 {
				f.Time /= 20
			}
		}
		if drawn.call || r.IntN(4) == 0 {
			f.Call = drawCall(r)
			f.After = !drawn.call && r.IntN(3) == 0
		}
		faults = append(faults, f)
	}
	faults = append(faults, drawOutage(r)...)
	slices.SortFunc(faults, byTime)
	return faults
}

func byTime(a, b Fault) int { return cmp.Compare(a.At, b.At) }

// drawOutage draws, in some runs, an outage of HDFS that is longer than what one call waits.
func drawOutage(r *rand.Rand) []Fault {
	if r.IntN(12) > 0 {
		return nil
	}
	f := Fault{At: between(r, 0, faultTime/4), Kind: StopHDFS, Time: between(r, 5*time.Minute, 10*time.Minute)}
	if r.IntN(2) == 0 {
		f.Call = drawCall(r)
	}
	return []Fault{f}
}

// drawHabits draws what happens more often than that something fails: clusters are full, and users change
// their minds.
func drawHabits(r *rand.Rand) (habits []Fault) {
	if r.IntN(4) == 0 {
		full := Fault{At: between(r, 0, 5*time.Second), Kind: FillNodes, Time: between(r, 10*time.Second, 3*time.Minute)}
		if r.IntN(3) > 0 {
			full.At, full.Call = 0, "registerApplicationMaster" // before the first workers
		}
		habits = append(habits, full)
	}
	for r.IntN(3) == 0 {
		habits = append(habits, Fault{At: between(r, 0, faultTime/2), Kind: CancelJob, Victim: r.IntN(16)})
	}
	return habits
}

// waiting is a fault that waits for a call.
type waiting struct {
	Fault
	call *regexp.Regexp
	left *int // of Skip
}

var (
	errKind   = errors.New("there is no such kind")
	errNoCall = errors.New("this kind needs a call")
)

// plan makes the events of faults. The error says that a fault is wrong.
func (w *World) plan(faults []Fault) error {
	for _, f := range faults {
		switch k, known := f.describe(); {
		case !known:
			return fmt.Errorf("plan fault %s: %w", f, errKind)
		case k.call && f.Call == "":
			return fmt.Errorf("plan fault %s: %w", f, errNoCall)
		}
		if f.Call == "" {
			w.engine.At(epoch.Add(f.At), nil, func() { w.strike(f) })
			continue
		}
		call, err := regexp.Compile(f.Call)
		if err != nil {
			return fmt.Errorf("read the call of fault %s: %w", f, err)
		}
		w.engine.At(epoch.Add(f.At), nil, func() { w.waiting = append(w.waiting, waiting{f, call, &f.Skip}) })
	}
	return nil
}

// arrives shows a call that arrives at its server to the faults that wait for it. It returns the fate that one
// of them has for the call; "": none has. done lets the faults strike that come after the effect of the call.
func (w *World) arrives(process string, call fmt.Stringer) (special fate, done func()) {
	if len(w.waiting) == 0 {
		return "", func() {}
	}
	text := process + " " + call.String()
	var struck, later []Fault
	w.waiting = slices.DeleteFunc(w.waiting, func(f waiting) bool {
		switch {
		case !f.call.MatchString(text):
			return false
		case *f.left > 0:
			*f.left--
			return false
		case f.After:
			later = append(later, f.Fault)
		default:
			struck = append(struck, f.Fault)
		}
		return true
	})
	w.facts[Struck] += len(struck) + len(later)
	for _, f := range struck {
		switch f.Kind {
		case LoseCall:
			special = lost
		case LoseAnswer:
			special = unanswered
		default:
			w.strike(f)
			continue
		}
		w.logger.WithField("fault", f).Info("fault")
	}
	return special, func() {
		for _, f := range later {
			w.strike(f)
		}
		later = nil // a call that is held may come twice
	}
}

// failedShare is how many calls there are for one that fails while its server is unsure.
const failedShare = 6

// chance draws the fate of a call while its server is unsure.
func chance(r *rand.Rand) fate {
	switch {
	case r.IntN(failedShare) > 0:
		return answered
	case r.IntN(2) == 0:
		return lost
	default:
		return unanswered
	}
}
