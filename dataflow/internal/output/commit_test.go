package output_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Each call of one, two or three tries fails in turn, before or after its effect. A last try must succeed, with the same
// winners, because there are no others. The number of calls proves that the test reaches all of them.
func TestTheCommitIsRepeatableAtEveryStep(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		for _, how := range []command{dieBefore, dieAfter, failBefore, failAfter} {
			for tries := 1; tries <= 3; tries++ {
				for _, masters := range []bool{false, true} { // one for all tries, or one for each
					calls := 0
					for repeated(t, old, mode, how, tries, masters, calls) {
						calls++
					}
					if calls < 15 {
						t.Errorf("a try makes only %d calls", calls)
					}
				}
			}
		}
	})
}

// repeated lets this number of tries fail, each at its n-th call, and then one succeed. It reports whether the first try
// had that many calls.
func repeated(t *testing.T, old map[string]string, mode output.Mode, how command, tries int, masters bool, n int) (reached bool) {
	t.Helper()
	f := memfs.New(old)
	j, written := written("job", mode)
	if err := written(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	w := &watch{f: f, old: old, jobs: []*job{j}, fatalf: t.Fatalf}
	for try := range tries + 1 {
		epoch := 1
		if masters && try > 0 {
			epoch += try
			if err := j.opening(epoch, output.Recorded)(t.Context(), f); err != nil {
				t.Fatalf("master %d after calls that failed at call %d: %v", epoch, n, err)
			}
		}
		p := begin(f, asGiven, j.committing(epoch, try))
		if try < tries {
			p.run(n)
			reached = reached || try == 0 && !p.ended
			p.step(how)
		}
		for !p.step(proceed) {
			w.check()
		}
		if try == tries && p.err != nil {
			t.Fatalf("after %d tries that failed at call %d: %v", tries, n, p.err)
		}
	}
	w.check()
	if err := j.isWhole(visible(f)); err != nil {
		t.Fatalf("after calls that failed at call %d: %v", n, err)
	}
	return reached
}

// TestJobsOfOneOutputLeaveEachOtherAlone would catch a job that is refused at its
// commit, and removes the other job's parts.
func TestJobsOfOneOutputLeaveEachOtherAlone(t *testing.T) {
	t.Parallel()
	f := filesystemOf(t, map[string]string{
		"/out/part-00000": "precious", "/out/_committing-other-e1-v1-s0-a0": "other\n", "/out/_temporary/other/e1/1/part-00001": "more",
	})
	before := f.Files()
	if err := run(t.Context(), f, "job", output.Fail); !errors.Is(err, output.ErrExists) {
		t.Errorf("Commit: %v, want ErrExists", err)
	}
	if diff := cmp.Diff(before, f.Files()); diff != "" {
		t.Errorf("files of the other job (-want +got):\n%s", diff)
	}
}

// TestARepeatedCommitLeavesTheNextJobsFiles would catch a commit whose answer was lost, and whose repetition
// removes files of the output's next job, or the old content that this job has moved away.
func TestARepeatedCommitLeavesTheNextJobsFiles(t *testing.T) {
	t.Parallel()
	f := memfs.New(nil)
	if err := run(t.Context(), f, "job", output.Fail); err != nil {
		t.Fatal(err)
	}
	f.Write("/out/_temporary/next/e1/1/part-00000", "theirs")
	f.Write("/out/_temporary/next/e1.2/aside-2-0/old-part-00009", "precious")
	before := f.Files()
	j, _ := written("job", output.Fail)
	for name, again := range map[string]act{
		"the same once more": j.committing(1, 0), "a later try": j.committing(1, 1), "a later master's": then(j.opening(2, output.Recorded), j.committing(2, 0)),
	} {
		if err := again(t.Context(), f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, f.Files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// The answer to the last rename is lost. The test would catch a job that fails although its output is complete, because
// its restart strategy allows no other try.
func TestALostAnswerToTheLastRenameIsNoFailure(t *testing.T) {
	t.Parallel()
	f := memfs.New(nil)
	j, written := written("job", output.Fail)
	if err := written(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	p := begin(f, asGiven, j.committing(1, 0))
	p.stopBefore(t, 1, "Rename", "mem:///out/_committing-job-e1-v1-s0-a0")
	p.step(failAfter)
	p.finish(proceed)
	if err := errors.Join(p.err, j.isWhole(f.Files())); err != nil {
		t.Error(err)
	}
}

// A call of an old master that comes late makes the directory of its epoch again. The test would catch an old try of the
// commit that takes this directory for that with the parts: it would treat the parts in place as old content, and the
// output could never be complete.
func TestADirectoryThatWasMadeAgainIsNotCommitted(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, old map[string]string, mode output.Mode) {
		f := memfs.New(old)
		j, written := written("job", mode)
		if err := then(written, j.opening(2, output.Recorded))(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		second := begin(f, asGiven, j.committing(2, 0))
		second.stopBefore(t, 1, "Rename", "mem:///out/_temporary/job/e2.e2-v1-s0-a0/e1-v0-s1-a0/part-00001")
		if err := f.MkdirAll(t.Context(), "/out/_temporary/job/e3"); err != nil { // newer than any: the try finds only this one
			t.Fatal(err)
		}
		before := f.Files()
		err := j.committing(3, 0)(t.Context(), f)
		if !errors.Is(err, output.ErrFenced) || !errors.Is(err, operator.ErrPermanent) {
			t.Errorf("the commit from a directory without parts: %v, want a permanent ErrFenced", err)
		}
		after := f.Files()
		delete(before, "/out/_temporary/job/e3/")
		delete(after, "/out/_temporary/job/e3.e3-v1-s0-a0/")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		second.finish(proceed)
		if err := errors.Join(second.err, j.isWhole(visible(f))); err != nil {
			t.Error(err)
		}
	})
}

// A job replaces the output of another one whose commit is about to rename its marker to _SUCCESS. The test would catch
// a _SUCCESS that appears while the parts are being moved away.
func TestAnotherJobsMarkerGoesFirst(t *testing.T) {
	t.Parallel()
	a, writtenA := written("a", output.Replace)
	b, writtenB := written("b", output.Replace)
	for calls, ended := 0, false; !ended; calls++ {
		f := memfs.New(oldContent)
		if err := writtenA(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		w := &watch{f: f, old: oldContent, jobs: []*job{a, b}, fatalf: t.Fatalf}
		late := begin(f, asGiven, a.committing(1, 0))
		late.stopBefore(t, 1, "Rename", "mem:///out/_committing-a-e1-v1-s0-a0")
		if err := writtenB(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		p := begin(f, backwards, b.committing(1, 0))
		for range calls {
			p.step(proceed)
			w.check()
		}
		ended = p.ended
		for _, p := range []*process{late, p} {
			for !p.step(proceed) {
				w.check()
			}
		}
		if err := errors.Join(p.err, b.isWhole(visible(f))); err != nil {
			t.Fatalf("the late one goes on after %d calls: %v", calls, err)
		}
	}
}

// backwards is the order of RenameAll that moves what comes last first.
func backwards(n int, swap func(i, j int)) {
	for i := range n / 2 {
		swap(i, n-1-i)
	}
}

// A try died when the first part was in place, and another program writes a file with the name of the second part. The
// test would catch a try that takes the file for the part. A job that may not replace anything must not move it.
func TestAStrangersFileIsNoPart(t *testing.T) {
	t.Parallel()
	for _, mode := range []output.Mode{output.Fail, output.Replace} {
		f := memfs.New(nil)
		j, written := written("job", mode)
		if err := written(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		p := begin(f, asGiven, j.committing(1, 0))
		p.stopBefore(t, 1, "Rename", "mem:///out/_temporary/job/e1.e1-v1-s0-a0/e1-v0-s1-a0/part-00001")
		p.finish(dieBefore)
		f.Write("/out/part-00001", "strange")
		before := visible(f)
		err := j.committing(1, 1)(t.Context(), f)
		if mode == output.Replace {
			if err := errors.Join(err, j.isWhole(f.Files())); err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, output.ErrExists) || !errors.Is(err, operator.ErrPermanent) {
			t.Errorf("Commit: %v, want a permanent ErrExists", err)
		}
		if diff := cmp.Diff(before, visible(f)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
}

// A try finds content that the job may not replace, and is frozen before it removes the job's own files. Meanwhile the
// content goes, and a later try or master commits. The test would catch the removal of its files and its marker.
func TestALateRefusalRemovesNothingOfItsSuccessor(t *testing.T) {
	t.Parallel()
	for name, successor := range map[string]func(j *job) act{
		"later try":    func(j *job) act { return j.committing(1, 1) },
		"later master": func(j *job) act { return then(j.opening(2, output.Recorded), j.committing(2, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, written := written("job", output.Fail)
			scenario{
				jobs: []*job{j},
				prepare: then(written, func(ctx context.Context, f filesystem.FileSystem) error {
					file, err := f.Create(ctx, "/out/x", filesystem.ExistingParents)
					if err != nil {
						return err
					}
					return file.Close()
				}),
				first: j.committing(1, 0),
				second: then(func(ctx context.Context, f filesystem.FileSystem) error {
					entries, err := f.List(ctx, "/out/_temporary")
					if err != nil || len(entries) == 0 { // the first one has removed its files: there is no successor
						return errors.Join(err, errRefused)
					}
					return f.Remove(ctx, "/out/x")
				}, successor(j)),
				end: func(f *memfs.FS, first, second error) error {
					complete := j.isWhole(f.Files()) == nil
					if !complete && (first == nil || second == nil || len(left(f)) > 0) {
						return fmt.Errorf("the first try: %w, its successor: %w, there are %v", first, second, f.Files())
					}
					return nil
				},
			}.interrupt(t)
		})
	}
}

var errRefused = errors.New("the job was refused")

// Another program writes a file just when the commit begins. The test would catch a refused job that leaves its marker,
// which looks like content to the next job.
func TestALateRefusalLeavesNoMarker(t *testing.T) {
	t.Parallel()
	f := memfs.New(nil)
	j, written := written("job", output.Fail)
	if err := written(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	p := begin(f, asGiven, j.committing(1, 0))
	p.stopBefore(t, 2, "List", "mem:///out") // the marker is there
	f.Write("/out/x", "strange")
	p.finish(proceed)
	if !errors.Is(p.err, output.ErrExists) || !errors.Is(p.err, operator.ErrPermanent) {
		t.Errorf("Commit: %v, want a permanent ErrExists", p.err)
	}
	if diff := cmp.Diff(map[string]string{"/out/x": "strange"}, f.Files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// Another program writes a file again that a try has moved away. The test would catch a later try that cannot move it,
// because its name is taken: the output could never be complete.
func TestAFileThatComesAgainIsMovedAgain(t *testing.T) {
	t.Parallel()
	f := memfs.New(oldContent)
	j, written := written("job", output.Replace)
	if err := written(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	p := begin(f, asGiven, j.committing(1, 0))
	p.stopBefore(t, 1, "Mkdir", "mem:///out/_temporary/job/e1.e1-v1-s0-a0/placing")
	p.finish(dieBefore)
	f.Write("/out/part-00009", "again")
	if err := errors.Join(j.committing(1, 1)(t.Context(), f), j.isWhole(f.Files())); err != nil {
		t.Error(err)
	}
}
