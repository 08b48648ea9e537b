package connectortest

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// checkTwice checks without writing.
func (j *job[T]) checkTwice() error {
	for range 2 {
		if _, err := j.target.New().Check(j.ctx, planning(j.target.FileSystem, subtasks)); err != nil {
			return err
		}
	}
	return j.see(CheckIsFree, nil)
}

// plain is a job to which nothing happens.
func (j *job[T]) plain() error {
	if err := j.begin("job-1"); err != nil {
		return err
	}
	committables, err := j.writeAll(0)
	if err != nil {
		return err
	}
	if err := j.commit(0, committables); err != nil {
		return &Violation{Result, err}
	}
	return j.see(Result, j.all())
}

// nextMaster loses the master when some subtasks have finished, and others have not. The next one runs only the others.
func (j *job[T]) nextMaster() error {
	if err := j.begin("job-1"); err != nil {
		return err
	}
	committables := make([]string, subtasks)
	finish := func(subtask int) error {
		w, err := j.attempt(subtask, 0)
		if err != nil {
			return err
		}
		if committables[subtask], err = j.prepare(w); err != nil {
			return err
		}
		return w.Close()
	}
	if err := finish(0); err != nil {
		return err
	}
	lost, err := j.attempt(1, 0)
	if err != nil {
		return err
	}
	if err := j.master(2, dataflow.PartsKept); err != nil {
		return err
	}
	_ = lost.Close() // an error is as good as success
	for subtask := 1; subtask < subtasks; subtask++ {
		if err := finish(subtask); err != nil {
			return err
		}
	}
	if err := j.commit(0, committables); err != nil {
		return err
	}
	return j.see(TakenOver, j.all())
}

// commitAgain repeats the commit, also under the next master, which has the committables of the first one.
func (j *job[T]) commitAgain() error {
	if err := j.begin("job-1"); err != nil {
		return err
	}
	committables, err := j.writeAll(0)
	if err != nil {
		return err
	}
	if err := j.master(2, dataflow.PartsRecorded); err != nil { // the first master is lost before it can commit
		return err
	}
	for try := range 3 {
		if try == 2 {
			if err := j.master(3, dataflow.PartsRecorded); err != nil {
				return err
			}
		}
		if err := j.commit(try, committables); err != nil {
			return fmt.Errorf("call %d: %w", try, err)
		}
		if err := j.see(CommitRepeats, j.all()); err != nil {
			return err
		}
	}
	return nil
}

// twoAttempts runs each subtask of a job twice at a time, and commits one of the two. A third attempt ends without its Prepare.
// A fourth goes on after the commit.
func (j *job[T]) twoAttempts(winner int) error {
	if err := j.begin("job-1"); err != nil {
		return err
	}
	var committables [2][]string
	for subtask := range subtasks {
		first, err := j.attempt(subtask, 0)
		if err != nil {
			return err
		}
		second, err := j.attempt(subtask, 1)
		if err != nil {
			return err
		}
		third, err := j.attempt(subtask, 2)
		if err != nil {
			return err
		}
		a, err := j.prepare(first)
		if err != nil {
			return err
		}
		b, err := j.prepare(second)
		if err != nil {
			return err
		}
		committables[0], committables[1] = append(committables[0], a), append(committables[1], b)
		if err := errors.Join(first.Close(), third.Close(), third.Close(), second.Close()); err != nil {
			return &Violation{Closing, err}
		}
	}
	late, err := j.attempt(0, 3)
	if err != nil {
		return err
	}
	defer func() { _ = late.Close() }()
	prepared, err := j.attempt(1, 3)
	if err != nil {
		return err
	}
	if _, err := j.prepare(prepared); err != nil {
		return err
	}
	if err := j.commit(0, committables[winner]); err != nil {
		return err
	}
	if err := j.see(OneAttempt, j.all()); err != nil {
		return err
	}
	_ = late.Write(j.sink.Elements[0]) // an error is as good as success
	_, _ = late.Prepare(j.ctx)
	_, _ = late.Close(), prepared.Close()
	return j.see(OneAttempt, j.all())
}

// again loses the master and its memory, before or after the commit. So the whole job runs again. The first commit may still
// run, and go on at any time.
func (j *job[T]) again(committed bool) error {
	if err := j.begin("job-1"); err != nil {
		return err
	}
	old, err := j.writeAll(0)
	if err != nil {
		return err
	}
	commitOld := func(try int) {
		now := j.epoch
		j.epoch = 1
		_ = j.commit(try, old) // an error is as good as success
		j.epoch = now
	}
	if committed {
		if err := j.commit(0, old); err != nil {
			return err
		}
	}
	if err := j.master(2, dataflow.PartsDropped); err != nil {
		return err
	}
	fresh := make([]string, subtasks)
	for subtask := range subtasks {
		w, err := j.attempt(subtask, 0)
		if err != nil {
			return err
		}
		if fresh[subtask], err = j.prepare(w); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return &Violation{Closing, err}
		}
	}
	commitOld(1)
	if err := j.commit(0, fresh); err != nil {
		return err
	}
	if err := j.see(Epochs, j.all()); err != nil {
		return err
	}
	commitOld(2)
	return j.see(Epochs, j.all())
}

// noResult ends a job before its commit, and runs the next one.
func (j *job[T]) noResult() error {
	if err := j.begin("job-1"); err != nil {
		return err
	}
	if _, err := j.writeAll(0); err != nil {
		return err
	}
	lost, err := j.attempt(0, 1) // nothing ends it
	if err != nil {
		return err
	}
	defer func() { _ = lost.Close() }()
	for _, dir := range j.directories {
		if err := dataflow.Discard(j.ctx, j.target.FileSystem, dir, j.name, j.epoch); err != nil {
			return err
		}
	}
	if err := j.see(Discarded, nil); err != nil {
		return err
	}
	if err := j.begin("job-2"); err != nil {
		return err
	}
	committables, err := j.writeAll(0)
	if err != nil {
		return err
	}
	if err := j.commit(0, committables); err != nil {
		return err
	}
	return j.see(Discarded, j.all())
}
