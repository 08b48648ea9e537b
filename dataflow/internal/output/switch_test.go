package output_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// act is what a process does in a scenario.
type act func(ctx context.Context, f filesystem.FileSystem) error

// scenario is two processes on one output.
type scenario struct {
	old           map[string]string
	prepare       act // undisturbed, before both
	first, second act
	jobs          []*job
	// end says what is wrong when both have ended.
	end func(f *memfs.FS, first, second error) error
}

// interrupt runs the two processes in all interleavings in which each is interrupted at most once: the first one stops
// after some calls, then the second one, then the first one ends, then the second one. It returns the number of
// interleavings.
func (s scenario) interrupt(t *testing.T) (n int) {
	t.Helper()
	for calls := 0; ; calls++ {
		var firstEnded bool
		for more, secondEnded := 0, false; !secondEnded; more++ {
			f := memfs.New(s.old)
			if err := s.prepare(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			where := ""
			w := &watch{f: f, old: s.old, jobs: s.jobs, fatalf: func(format string, args ...any) { t.Fatalf(where+": "+format, args...) }}
			first := begin(f, asGiven, s.first)
			first.run(calls)
			second := begin(f, asGiven, s.second)
			second.run(more)
			firstEnded, secondEnded = first.ended, second.ended
			where = fmt.Sprintf("first stops before %v, second before %v", first.next, second.next)
			for _, p := range []*process{first, second} {
				for !p.step(proceed) {
					w.check()
				}
			}
			w.check()
			if err := s.end(f, first.err, second.err); err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			n++
		}
		if firstEnded {
			return n
		}
	}
}

// both runs the scenario with each of the two first.
func (s scenario) both(t *testing.T) {
	t.Helper()
	n := s.interrupt(t)
	s.first, s.second = s.second, s.first
	end := s.end
	s.end = func(f *memfs.FS, first, second error) error { return end(f, second, first) }
	if n += s.interrupt(t); n < 200 {
		t.Errorf("only %d interleavings", n)
	}
}

// winnersOf are the winners of a job of which the first attempts won.
func winnersOf(epoch int) []string {
	winners := make([]string, parts)
	for i := range winners {
		winners[i] = fmt.Sprintf("e%d-v0-s%d-a0", epoch, i)
	}
	return winners
}

// written gives a job whose tasks have ended below the master of epoch 1, and what its processes did so.
func written(name string, mode output.Mode) (*job, act) {
	j := &job{output: output.Output{Dir: "mem:///out", Job: name, Epoch: 1, Mode: mode}, winners: winnersOf(1)}
	return j, func(ctx context.Context, f filesystem.FileSystem) error {
		if err := j.output.Open(ctx, f, output.Dropped); err != nil {
			return err
		}
		for i, winner := range j.winners {
			if err := write(ctx, f, j.output, winner, i); err != nil {
				return err
			}
		}
		return nil
	}
}

// committing is a try of the commit.
func (j *job) committing(epoch, attempt int) act {
	o := j.output
	o.Epoch = epoch
	return func(ctx context.Context, f filesystem.FileSystem) error {
		return o.Commit(ctx, f, fmt.Sprintf("e%d-v1-s0-a%d", epoch, attempt), j.winners)
	}
}

// opening is the start of a master.
func (j *job) opening(epoch int, earlier output.Earlier) act {
	o := j.output
	o.Epoch = epoch
	return func(ctx context.Context, f filesystem.FileSystem) error { return o.Open(ctx, f, earlier) }
}

func then(all ...act) act {
	return func(ctx context.Context, f filesystem.FileSystem) error {
		for _, do := range all {
			if err := do(ctx, f); err != nil {
				return err
			}
		}
		return nil
	}
}

// isWhole compares files with the whole result of a job.
func (j *job) isWhole(files map[string]string) error {
	if diff := cmp.Diff(result(j.output.Job, j.winners), files); diff != "" {
		return fmt.Errorf("not one whole result (-want +got):\n%s", diff)
	}
	return nil
}

// left names the files that are left of jobs.
func left(f *memfs.FS) (names []string) {
	for name, content := range f.Files() {
		if content != "" && strings.Contains(name, "/_temporary/") || strings.Contains(name, "_committing") {
			names = append(names, name)
		}
	}
	return names
}

// modes are the ways to write an output, with what may be there before.
func modes(t *testing.T, test func(t *testing.T, old map[string]string, mode output.Mode)) {
	t.Helper()
	t.Run("new", func(t *testing.T) { t.Parallel(); test(t, nil, output.Fail) })
	t.Run("replaced", func(t *testing.T) { t.Parallel(); test(t, oldContent, output.Replace) })
}

// A commit below a master that was given up is interrupted anywhere, and goes on while its successor commits. The
// successor must succeed, whatever the first one does.
func TestALateCommitOfAnEarlierEpochIsHarmless(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		j, prepare := written("job", mode)
		scenario{
			old: old, jobs: []*job{j}, prepare: prepare,
			first: j.committing(1, 0), second: then(j.opening(2, output.Recorded), j.committing(2, 0)),
			end: func(f *memfs.FS, _, second error) error { return errors.Join(second, j.isWhole(f.Files())) },
		}.both(t)
	})
}

// An attempt of the commit was presumed dead, and the next one runs. The next one must succeed.
func TestALateCommitOfTheSameEpochIsHarmless(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		j, prepare := written("job", mode)
		scenario{
			old: old, jobs: []*job{j}, prepare: prepare,
			first: j.committing(1, 9), second: j.committing(1, 10),
			end: func(f *memfs.FS, _, second error) error { return errors.Join(second, j.isWhole(f.Files())) },
		}.both(t)
	})
}

// Two jobs commit to one output at the same time. One must succeed, and the other one fail for good. Its clean-up must not
// lose what it has taken.
func TestOfTwoJobsOneSucceeds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		a, prepareA := written("a", output.Replace)
		b, prepareB := written("b", mode)
		cleaned := func(j *job) act {
			return func(ctx context.Context, f filesystem.FileSystem) error {
				err := j.committing(1, 0)(ctx, f)
				for range 2 { // as the JobMaster does
					if err == nil || errors.Is(err, operator.ErrPermanent) {
						break
					}
					err = j.committing(1, 1)(ctx, f)
				}
				if err != nil {
					err = errors.Join(err, j.output.Discard(ctx, f))
				}
				return err
			}
		}
		scenario{
			old: old, jobs: []*job{a, b}, prepare: then(prepareA, prepareB),
			first: cleaned(a), second: cleaned(b),
			end: func(f *memfs.FS, first, second error) error {
				for _, err := range []error{first, second} {
					if err != nil && !errors.Is(err, operator.ErrPermanent) {
						return fmt.Errorf("the job can never end: %w", err)
					}
				}
				if _, complete := f.Files()["/out/_SUCCESS"]; !complete || first != nil && second != nil {
					return fmt.Errorf("nobody succeeds: %w; %w; there are %v", first, second, f.Files())
				}
				return nil
			},
		}.both(t)
	})
}

// The clean-up of a job that has failed meets a late commit.
func TestACleanUpAndALateCommitLoseNothing(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		j, prepare := written("job", mode)
		scenario{
			old: old, jobs: []*job{j}, prepare: prepare,
			first: j.committing(1, 0), second: j.output.Discard,
			end: func(f *memfs.FS, _, second error) error {
				if errors.Is(second, output.ErrCommitBegun) {
					return nil
				}
				if names := left(f); len(names) > 0 {
					return fmt.Errorf("%v are left; the clean-up: %w", names, second)
				}
				return second
			},
		}.both(t)
	})
}

// A master is frozen when it opens the output of a new job, and goes on while its successor runs the whole job.
func TestALateOpenIsHarmless(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		j := &job{output: output.Output{Dir: "mem:///out", Job: "job", Epoch: 2, Mode: mode}, winners: winnersOf(2)}
		run := j.opening(2, output.Dropped)
		for i, winner := range j.winners {
			run = then(run, func(ctx context.Context, f filesystem.FileSystem) error { return write(ctx, f, j.output, winner, i) })
		}
		scenario{
			old: old, jobs: []*job{j}, prepare: func(context.Context, filesystem.FileSystem) error { return nil },
			first: j.opening(1, output.Dropped), second: then(run, j.committing(2, 0)),
			end: func(f *memfs.FS, first, second error) error {
				if second != nil || first != nil && !errors.Is(first, output.ErrFenced) || len(left(f)) > 0 {
					return fmt.Errorf("the old master: %w, the new one: %w, %v are left", first, second, left(f))
				}
				return j.isWhole(visible(f))
			},
		}.interrupt(t)
	})
}
