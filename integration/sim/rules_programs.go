package sim

import (
	"fmt"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// programsAreTold checks what a program is told of each of its jobs: that it is accepted, under an id that
// no other job has, and how this job ends. If the job is FINISHED, its outputs are there, and its counters
// have counted each split once.
func programsAreTold(w *watch) {
	known := make(map[ids.JobID]bool)
	running := make(map[*planner]ids.JobID)
	w.answers = append(w.answers, func(p *planner, j *job, m msg.Message) error {
		switch m := m.(type) {
		case msg.JobAccepted:
			if m.Application != p.master.attempt.Application.String() || known[m.Job] || running[p] != "" {
				return fmt.Errorf("%s executes %s, and is told %+v", p.process.Name, j.id, m)
			}
			known[m.Job], running[p] = true, m.Job
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
	for _, dir := range j.outputs() {
		if !w.hdfs.exists(dir + "/_SUCCESS") {
			return fmt.Errorf("%s is FINISHED without %s", j.id, dir)
		}
	}
	if read, want := ended.Counters[readCounter], int64(max(1, j.parts)*j.splits); read != want {
		return fmt.Errorf("%s has read %d splits, want %d", j.id, read, want)
	}
	return nil
}

// attemptsShareOutputs looks for jobs that fail because an earlier attempt of their application has written
// their output, or has begun to. A later attempt runs the program from its start, and its jobs have other ids.
// Such an application need not succeed.
func attemptsShareOutputs(w *watch) {
	began := make(map[string]int32) // the attempt that has begun to commit an output
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		dir, name := path.Split(op.Target)
		if dir = path.Clean(dir); op.Kind == dfsmodel.Rename && strings.HasPrefix(name, "_committing-") && began[dir] == 0 {
			began[dir] = w.w.attemptOf(op.Client)
		}
		return nil
	})
	w.answers = append(w.answers, func(p *planner, j *job, m msg.Message) error {
		ended, is := m.(msg.JobEnded)
		if !is || ended.Failure == nil || !strings.Contains(ended.Failure.Message, "output exists already") {
			return nil
		}
		for _, dir := range j.outputs() {
			if attempt := began[dir]; attempt > 0 && attempt < p.master.attempt.Attempt {
				w.w.excuse(p.master.attempt.Application, "an earlier attempt has written its output")
				return fmt.Errorf("%s of %s fails after attempt %d has written %s: %s", j.id, p.process.Name, attempt, dir, ended.Failure.Message)
			}
		}
		return nil
	})
}

// attemptOf returns the number of the attempt to which a task host belongs; 0: it is none.
func (w *World) attemptOf(process string) int32 {
	for _, k := range w.containers {
		for _, h := range k.hosts {
			if h.process.Name == process {
				return k.container.Attempt.Attempt
			}
		}
	}
	return 0
}
