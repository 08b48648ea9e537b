package sim

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// outputsAreWhole reads what each job has left: one part for each sink with each name once, _SUCCESS, and
// nothing else. These jobs may have an output without _SUCCESS: cancelled ones, those that may not restart, and
// those of an application that need not succeed and has not succeeded.
func outputsAreWhole(w *watch) {
	w.rest = append(w.rest, func() error {
		for _, c := range w.w.clients {
			// A session may succeed without its jobs.
			lacks := w.w.schedule.Mode == Session || c.report.FinalStatus != records.FinalSucceeded
			for _, j := range c.jobs {
				for _, dir := range j.outputs() {
					if (lacks && (c.excused() || j.canceled) || j.failed) && !w.w.hdfs.exists(dir+"/_SUCCESS") {
						continue
					}
					if err := w.w.isWhole(j, dir); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// isWhole compares one output of a job with what it should be.
func (w *World) isWhole(j *job, dir string) error {
	// A commit that has succeeded does not repeat the calls that tidy up.
	untidy := w.facts[factOf(lost, string(dfsmodel.Delete))]+w.facts[factOf(lost, string(dfsmodel.GetListing))]+w.facts[factOf(unanswered, string(dfsmodel.GetListing))] > 0
	var files, names []string
	for _, s := range w.hdfs.space.Tree(w.engine.Now(), dir) {
		if s.IsDir { // a late call of an attempt that was given up may make an empty _temporary again
			continue
		}
		if untidy && strings.HasPrefix(s.Path, dir+"/_temporary/") {
			continue
		}
		files = append(files, path.Base(s.Path))
		content, _, err := w.hdfs.space.Read(w.engine.Now(), s.Path)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.Path, err)
		}
		if path.Base(s.Path) != "_SUCCESS" {
			names = append(names, strings.Fields(string(content))...)
		}
	}
	want := []string{"_SUCCESS"}
	for i := range j.sinks {
		want = append(want, fmt.Sprintf("part-%05d", i))
	}
	if !slices.Equal(files, want) {
		return fmt.Errorf("the output %s has %v, want %v", dir, files, want)
	}
	slices.Sort(names)
	var each []string
	for i := range j.splits {
		each = append(each, fmt.Sprintf("name%d=1", i))
	}
	slices.Sort(each)
	if !slices.Equal(names, each) {
		return fmt.Errorf("the output %s is %v, want %v", dir, names, each)
	}
	return nil
}

// outputsAreCommittedOnce watches each output after its _SUCCESS: nobody changes it.
func outputsAreCommittedOnce(w *watch) {
	done := make(map[string]bool) // the folders with a _SUCCESS
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		if op.Kind != dfsmodel.Rename && op.Kind != dfsmodel.Delete && op.Kind != dfsmodel.Create {
			return nil
		}
		for _, changed := range []string{op.Path, op.Target} {
			dir, name := path.Split(changed)
			if done[path.Clean(dir)] && name != "_temporary" || done[changed] {
				return fmt.Errorf("%s: %s, after _SUCCESS", op.Client, op)
			}
		}
		if op.Kind == dfsmodel.Rename && path.Base(op.Target) == "_SUCCESS" {
			done[path.Dir(op.Target)] = true
		}
		return nil
	})
}

// lostJobsLeaveNothing looks for files of jobs that a session has told to be CANCELED or FAILED, and of cancelled
// jobs whose application has ended. If the commit has begun, all files stay. So does what a worker writes at the
// very end of an application.
func lostJobsLeaveNothing(w *watch) {
	ended := make(map[ids.JobID]time.Time)
	w.told = append(w.told, func(job ids.JobID, end msg.JobStatus) error {
		if end != msg.JobFinished {
			ended[job] = w.w.engine.Now()
		}
		return nil
	})
	w.rest = append(w.rest, func() error {
		for _, m := range w.w.masters {
			for _, c := range w.w.clients {
				if c.app == m.attempt.Application && c.withdrawn() && c.report.FinalStatus == records.FinalKilled && m.exit == records.ExitSuccess {
					ended[c.jobs[0].id] = m.ended.Add(-time.Second)
				}
			}
		}
		for _, j := range w.w.jobs {
			end, lost := ended[j.id]
			if !lost || end.Before(w.w.hdfs.disturbed().Add(time.Minute)) {
				continue
			}
			for _, dir := range j.outputs() {
				for _, s := range w.w.hdfs.space.Tree(w.w.engine.Now(), dir) {
					if !s.IsDir && w.w.commits[dir] == 0 && s.ModTime.Before(end) {
						return fmt.Errorf("%s leaves %s", j.id, s.Path)
					}
				}
			}
		}
		return nil
	})
}

// finishedJobsHaveOutputs looks for the outputs of jobs of which a session has said that they are FINISHED.
func finishedJobsHaveOutputs(w *watch) {
	w.told = append(w.told, func(job ids.JobID, end msg.JobStatus) error {
		for _, j := range w.w.jobs {
			if j.id == job && end == msg.JobFinished {
				return w.w.hasOutputs(j)
			}
		}
		return nil
	})
}

// hasOutputs looks for the _SUCCESS of each output of a FINISHED job.
func (w *World) hasOutputs(j *job) error {
	for _, dir := range j.outputs() {
		if !w.hdfs.exists(dir + "/_SUCCESS") {
			return fmt.Errorf("%s is FINISHED without %s", j.id, dir)
		}
	}
	return nil
}
