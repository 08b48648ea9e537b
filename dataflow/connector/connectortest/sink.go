package connectortest

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// Sink describes a sink to TestSink.
type Sink[T any] struct {
	// Target makes a new place to write, such as an empty table. Each scenario gets one of its own.
	Target func() Target[T]
	// Elements are what jobs write, at least 4. Some should be equal.
	Elements []T
	// Text is the text of an element, as Target.Visible gives it. The default is fmt.Sprint.
	Text func(T) string
}

// Target is a place to write.
type Target[T any] struct {
	// New makes the sink as a plan function does. Each call stands for a process, so the values must share nothing that
	// processes do not share.
	New func() connector.Sink[T]
	// Visible gives the texts of the elements that readers of the target see now, in any order.
	Visible func(ctx context.Context) ([]string, error)
	// FileSystem is that of the job. The default is an empty one in memory.
	FileSystem filesystem.FileSystem
}

// scenario is a part of TestSink, and the rule that its result is about.
type scenario[T any] struct {
	rule Rule
	play func(j *job[T]) error
}

// TestSink checks a sink in several scenarios, each with a new target.
func TestSink[T any](ctx context.Context, s Sink[T]) error {
	if len(s.Elements) < 4 {
		return fmt.Errorf("sink test: there are %d elements, want at least 4", len(s.Elements))
	}
	if s.Text == nil {
		s.Text = func(v T) string { return fmt.Sprint(v) }
	}
	scenarios := []scenario[T]{
		{CheckIsFree, (*job[T]).checkTwice},
		{NothingEarly, (*job[T]).plain},
		{TakenOver, (*job[T]).nextMaster},
		{CommitRepeats, (*job[T]).commitAgain},
		{Discarded, (*job[T]).noResult},
		{Epochs, func(j *job[T]) error { return j.again(false) }},
		{Epochs, func(j *job[T]) error { return j.again(true) }},
	}
	for winner := range 2 {
		scenarios = append(scenarios, scenario[T]{OneAttempt, func(j *job[T]) error { return j.twoAttempts(winner) }})
	}
	var faults []error
	for _, c := range scenarios {
		j := &job[T]{ctx: ctx, sink: s, target: s.Target(), epoch: 1}
		if j.target.FileSystem == nil {
			j.target.FileSystem = dataflowtest.NewFiles(nil)
		}
		err := c.play(j)
		if err != nil && !errors.As(err, new(*Violation)) {
			err = &Violation{c.rule, err}
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// subtasks is the number of subtasks of a sink. The last one gets no elements.
const subtasks = 3

// job is a job that writes into a target.
type job[T any] struct {
	ctx         context.Context //nolint:containedctx // of the test
	sink        Sink[T]
	target      Target[T]
	name        string
	epoch       int // of the master
	directories []string
}

// begin does what the planner and the first master do.
func (j *job[T]) begin(name string) error {
	j.name = name
	directories, err := j.target.New().Check(j.ctx, planning(j.target.FileSystem, subtasks))
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	j.directories = directories
	return j.master(j.epoch, dataflow.PartsDropped)
}

// master does what a master does before tasks run.
func (j *job[T]) master(epoch int, earlier dataflow.EarlierParts) error {
	j.epoch = epoch
	for _, dir := range j.directories {
		if err := dataflow.OpenOutput(j.ctx, j.target.FileSystem, dir, j.name, epoch, earlier); err != nil {
			return err
		}
	}
	return nil
}

func (j *job[T]) environment(vertex, subtask, parallelism, attempt int) connector.Environment {
	e := environment(j.target.FileSystem, j.epoch, vertex, subtask, parallelism, attempt, func() {})
	e.Job = j.name
	return e
}

// attempt begins an attempt of a subtask, and writes its elements.
func (j *job[T]) attempt(subtask, attempt int) (connector.Writer[T], error) {
	w, err := j.target.New().NewWriter(j.ctx, j.environment(1, subtask, subtasks, attempt))
	if err != nil {
		return nil, fmt.Errorf("new writer: %w", err)
	}
	for i, e := range j.sink.Elements {
		if i%(subtasks-1) != subtask {
			continue
		}
		if err := w.Write(e); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
	}
	return w, nil
}

// prepare ends an attempt.
func (j *job[T]) prepare(w connector.Writer[T]) (string, error) {
	committable, err := w.Prepare(j.ctx)
	if err != nil {
		return "", fmt.Errorf("prepare: %w", err)
	}
	if len(committable) > connector.MaxCommittable || !utf8.ValidString(committable) {
		return "", &Violation{Committables, fmt.Errorf("it has %d bytes: %.80q", len(committable), committable)}
	}
	return committable, nil
}

// writeAll runs an attempt of each subtask, and returns what it has to commit.
func (j *job[T]) writeAll(attempt int) ([]string, error) {
	committables := make([]string, subtasks)
	for i := range subtasks {
		w, err := j.attempt(i, attempt)
		if err != nil {
			return nil, err
		}
		if err := j.see(NothingEarly, nil); err != nil {
			return nil, err
		}
		if committables[i], err = j.prepare(w); err != nil {
			return nil, err
		}
		for range 2 {
			if err := w.Close(); err != nil {
				return nil, &Violation{Closing, err}
			}
		}
	}
	return committables, j.see(NothingEarly, nil)
}

// commit runs an attempt of the commit.
func (j *job[T]) commit(attempt int, committables []string) error {
	err := j.target.New().Commit(j.ctx, j.environment(2, 0, 1, attempt), append([]string{}, committables...))
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// see compares what is visible.
func (j *job[T]) see(rule Rule, want []string) error {
	got, err := j.target.Visible(j.ctx)
	if err != nil {
		return fmt.Errorf("look at the target: %w", err)
	}
	if err := differ(want, got); err != nil {
		return &Violation{rule, err}
	}
	return nil
}

// all are the texts of the result.
func (j *job[T]) all() []string { return texts(j.sink.Text, j.sink.Elements) }
