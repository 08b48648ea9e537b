package output_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// A master that has recorded nothing is replaced while its commit runs, and the commit goes on. The next master must find
// the old content, and nothing else, or the whole result.
func TestACommitOfWhichNothingIsRecordedIsUndone(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		j, prepare := written("job", mode)
		scenario{
			old: old, jobs: []*job{j}, prepare: prepare,
			first: j.committing(1, 0), second: j.opening(2, output.Dropped),
			end: func(f *memfs.FS, _, second error) error {
				if names := left(f); second != nil || len(names) > 0 {
					return fmt.Errorf("open: %w; left are %v", second, names)
				}
				return isOldOr(f, old, j)
			},
		}.both(t)
	})
}

// isOldOr returns an error unless a reader sees the old content, or the whole result of one of the jobs.
func isOldOr(f *memfs.FS, old map[string]string, jobs ...*job) error {
	seen := visible(f)
	for _, j := range jobs {
		if j.isWhole(seen) == nil {
			return nil
		}
	}
	if !maps.Equal(seen, visibleOf(old)) {
		return fmt.Errorf("a reader sees %v, the old content is %v", seen, old)
	}
	return nil
}

// The same, and the next master runs the job again. It must end with one whole result.
func TestAJobOfWhichNothingIsRecordedRunsAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		one, prepare := written("job", mode)
		two := &job{output: output.Output{Dir: "mem:///out", Job: "job", Epoch: 2, Mode: mode}, winners: winnersOf(2)}
		again := two.opening(2, output.Dropped)
		for i, winner := range two.winners {
			again = then(again, func(ctx context.Context, f filesystem.FileSystem) error { return write(ctx, f, two.output, winner, i) })
		}
		scenario{
			old: old, jobs: []*job{one, two}, prepare: prepare,
			first: one.committing(1, 0), second: then(again, two.committing(2, 0)),
			end: func(f *memfs.FS, _, second error) error {
				if err := one.isWhole(visible(f)); second == nil && err == nil {
					return nil
				}
				return errors.Join(second, two.isWhole(visible(f)))
			},
		}.both(t)
	})
}

// The master that undoes a commit is replaced, too, and comes back. Commits are interrupted at each of their calls.
func TestAnUndoIsRepeatableAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		for calls, ended := 0, false; !ended; calls++ {
			j, prepare := written("job", mode)
			scenario{
				old: old, jobs: []*job{j},
				prepare: then(prepare, func(_ context.Context, f filesystem.FileSystem) error {
					p := begin(f.(*memfs.FS), asGiven, j.committing(1, 0))
					p.run(calls)
					ended = p.ended
					p.finish(dieBefore)
					return nil
				}),
				first: j.opening(2, output.Dropped), second: j.opening(3, output.Dropped),
				end: func(f *memfs.FS, _, second error) error {
					if names := left(f); second != nil || len(names) > 0 {
						return fmt.Errorf("the commit died after %d calls; open: %w; left are %v", calls, second, names)
					}
					return isOldOr(f, old, j)
				},
			}.interrupt(t)
		}
	})
}

// A job ends without a result while a commit is being undone. Its clean-up must not remove old content.
func TestACleanUpEndsAnUndo(t *testing.T) {
	t.Parallel()
	j, prepare := written("job", output.Replace)
	cleaning := j.output
	cleaning.Epoch = 3
	for undone := 0; ; undone++ {
		f := memfs.New(oldContent)
		if err := prepare(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		commit := begin(f, asGiven, j.committing(1, 0))
		commit.stopBefore(t, 1, "Rename", "mem:///out/_committing-job-e1-v1-s0-a0")
		commit.finish(dieBefore)
		undo := begin(f, asGiven, j.opening(2, output.Dropped))
		undo.run(undone)
		ended := undo.ended
		undo.finish(dieBefore)
		err := cleaning.Discard(t.Context(), f)
		for errors.Is(err, output.ErrCommitBegun) { // the marker was still there
			if undone > 5 {
				t.Fatalf("after %d calls of the undo: %v", undone, err)
			}
			if err := j.opening(3, output.Dropped)(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			err = cleaning.Discard(t.Context(), f)
		}
		if names := left(f); err != nil || len(names) > 0 {
			t.Errorf("after %d calls of the undo: %v, left are %v", undone, err, names)
		}
		if err := isOldOr(f, oldContent); err != nil {
			t.Errorf("after %d calls of the undo: %v", undone, err)
		}
		if ended {
			return
		}
	}
}

// Somebody has taken the place of old content. The undo must not overwrite it, and must not remove the only copy of the old
// content.
func TestAnUndoKeepsOldContentWhosePlaceIsTaken(t *testing.T) {
	t.Parallel()
	before := map[string]string{
		"/out/part-00000": "a stranger's", "/out/_committing-job-e4-b": "job\n", "/out/_temporary/job/e4.b/aside-b-0/old-part-00000": "old",
	}
	f := filesystemOf(t, before)
	o := output.Output{Dir: "mem:///out", Job: "job", Epoch: 5, Mode: output.Replace}
	for range 2 {
		if err := o.Open(t.Context(), f, output.Dropped); !errors.Is(err, output.ErrCommitBegun) || !errors.Is(err, operator.ErrPermanent) {
			t.Errorf("error %v", err)
		}
	}
	if kept := f.Files()["/out/_temporary/job/e5.undo/aside-b-0/old-part-00000"]; kept != "old" || f.Files()["/out/part-00000"] != "a stranger's" {
		t.Errorf("there are %v", f.Files())
	}
}
