package sim

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// programsAreTold checks what a program is told of each of its jobs: that it is accepted, under an id that
// no other job has, and how this job ends. If the job is FINISHED, its outputs are there, and its counters
// have counted each split once.
func programsAreTold(w *watch) {
	known := make(map[ids.JobID]*job)
	running := make(map[*planner]ids.JobID)
	w.answers = append(w.answers, func(p *planner, j *job, m msg.Message) error {
		switch m := m.(type) {
		case msg.JobAccepted:
			if m.Application != p.master.attempt.Application.String() || known[m.Job] != nil && known[m.Job] != j || running[p] != "" {
				return fmt.Errorf("%s executes %s, and is told %+v", p.process.Name, j.id, m)
			}
			known[m.Job], running[p] = j, m.Job
		case msg.JobEnded:
			if m.Job != running[p] || m.Status != msg.JobFinished && m.Status != msg.JobFailed {
				return fmt.Errorf("%s executes %s as %s, and is told %+v", p.process.Name, j.id, running[p], m)
			}
			running[p] = ""
			if m.Status == msg.JobFinished {
				return w.w.hasFinished(j, m)
			}
		}
		return nil
	})
}

// hasFinished compares what a program is told of a FINISHED job with what the job should have done.
func (w *World) hasFinished(j *job, ended msg.JobEnded) error {
	if err := w.hasOutputs(j); err != nil {
		return err
	}
	if read, want := ended.Counters[readCounter], int64(max(1, j.parts)*j.splits); read != want {
		return fmt.Errorf("%s has read %d splits, want %d", j.id, read, want)
	}
	return nil
}

// attemptsShareOutputs looks for jobs that fail because an earlier attempt of their application has written
// their output: see deniedBy.
func attemptsShareOutputs(w *watch) {
	if w.w.schedule.Unprotected {
		return
	}
	w.answers = append(w.answers, func(p *planner, j *job, m msg.Message) error {
		if attempt := p.deniedBy(j, m); attempt > 0 {
			return fmt.Errorf("%s of %s fails after attempt %d has written: %+v", j.id, p.process.Name, attempt, m)
		}
		return nil
	})
}
