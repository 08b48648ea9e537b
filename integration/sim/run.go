package sim

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Result is what one run has shown.
type Result struct {
	Seed   uint64
	Faults []fmt.Stringer
	Events int
	Time   time.Duration // virtual
	// Err is the first rule that the run has broken; nil: none.
	Err error
}

// errLate says that a run goes on although its faults have ended long ago.
var errLate = errors.New("the job has not ended")

// mostTime is how long a run may take. Faults end long before.
const mostTime = time.Hour

// Run runs the schedule of a seed: a job, and faults. The log gets the transcript; it may be nil. The
// error says that the run could not begin.
func Run(seed uint64, log io.Writer) (Result, error) {
	w, err := newWorld(seed, log)
	if err != nil {
		return Result{}, fmt.Errorf("make world of seed %d: %w", seed, err)
	}
	defer w.engine.Close()
	faults := drawFaults(w.stream("faults"))
	w.plan(faults)
	m := w.startMaster("j1")
	for m.process.Alive() && w.since() < mostTime && w.engine.Step() { // until the master has ended
	}
	r := Result{Seed: seed, Events: w.engine.Events(), Time: w.since(), Err: w.engine.Err()}
	for _, f := range faults {
		r.Faults = append(r.Faults, f)
	}
	if r.Err == nil {
		r.Err = m.check(w.program)
	}
	return r, nil
}

// check says what is wrong with the end of the job.
func (m *master) check(p *program) error {
	switch {
	case m.fault != nil:
		return fmt.Errorf("the master ends: %w", m.fault)
	case m.outcome == nil:
		return errLate
	case m.details.Status != msg.JobFinished:
		return fmt.Errorf("the job is %s: %+v", m.details.Status, m.details.Root)
	}
	for _, counter := range []string{readCounter, seenCounter} {
		if got := m.details.Counters[counter]; got != int64(p.splits) {
			return fmt.Errorf("counter %q is %d after %d splits", counter, got, p.splits)
		}
	}
	return nil
}
