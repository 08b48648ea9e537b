package output_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
)

// The files of a failed job count against the directory's quota. The test would catch parts that stay,
// and a clean-up that removes the files of other jobs, or of a job that just begins.
func TestWhatAFailedJobLeftIsRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after map[string]string }{
		"parts": {
			map[string]string{"/out/_temporary/job/e2/1/part-00000": "x", "/out/_temporary/job/e2/2/part-00001": "y"},
			map[string]string{"/out/": ""},
		},
		"parts of earlier masters": {
			map[string]string{"/out/_temporary/job/e2/": "", "/out/_temporary/job/e1/1/part-00000": "x", "/out/_temporary/job/e1.2/2/part-00001": "y"},
			map[string]string{"/out/": ""},
		},
		"beside another job's": {
			map[string]string{"/out/_temporary/job/e2/1/part-00000": "x", "/out/_temporary/other/e1/1/part-00000": "theirs"},
			map[string]string{"/out/_temporary/other/e1/1/part-00000": "theirs"},
		},
		"beside old content": {
			map[string]string{"/out/_temporary/job/e2/1/part-00000": "x", "/out/part-00000": "old", "/out/_SUCCESS": ""},
			map[string]string{"/out/part-00000": "old", "/out/_SUCCESS": ""},
		},
		"what its commit has left": {
			map[string]string{"/out/_temporary/job/e2.1/1/part-00000": "lost", "/out/part-00000": "new", "/out/_SUCCESS": "job\n"},
			map[string]string{"/out/part-00000": "new", "/out/_SUCCESS": "job\n"},
		},
		"nothing":          {nil, map[string]string{}},
		"nothing of this":  {map[string]string{"/out/part-00000": "old"}, map[string]string{"/out/part-00000": "old"}},
		"an earlier try's": {map[string]string{"/out/_temporary/job/discarded-0/1/part-00000": "x"}, map[string]string{"/out/": ""}},
		"and of a late one": {
			map[string]string{"/out/_temporary/job/discarded-0/1/p": "x", "/out/_temporary/job/e2/2/p": "y", "/out/_temporary/job/e1.1/2/p": "y"},
			map[string]string{"/out/": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filesystemOf(t, c.before)
			for range 2 {
				if err := (output.Output{Dir: "mem:///out", Job: "job", Epoch: 2}).Discard(t.Context(), f); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.after, f.Files()); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// The test would catch a second job of the output that begins between the listing of _temporary and its
// removal, and loses its files.
func TestAJobThatBeginsMeanwhileKeepsItsFiles(t *testing.T) {
	t.Parallel()
	calls := 0
	for ended := false; !ended; calls++ {
		f := filesystemOf(t, map[string]string{"/out/_temporary/job/e1/1/part-00000": "x"})
		p := begin(f, asGiven, output.Output{Dir: "mem:///out", Job: "job", Epoch: 1}.Discard)
		p.run(calls)
		ended = p.ended
		f.Write("/out/_temporary/other/e1/1/part-00000", "theirs")
		p.finish(proceed)
		if diff := cmp.Diff(map[string]string{"/out/_temporary/other/e1/1/part-00000": "theirs"}, f.Files()); p.err != nil || diff != "" {
			t.Fatalf("at call %d: %v (-want +got):\n%s", calls, p.err, diff)
		}
	}
	if calls < 8 {
		t.Errorf("it makes only %d calls", calls)
	}
}

// If a job is cancelled while it replaces an output, the old content stays in _temporary. The test would
// catch a clean-up that removes this only copy.
func TestACommitThatHadBegunLosesNothing(t *testing.T) {
	t.Parallel()
	f := filesystemOf(t, map[string]string{
		"/out/_committing-job-e1-1": "job\n", "/out/_temporary/job/e1.1/aside-1-0/old-part-00000": "old", "/out/_temporary/job/e1.1/1/part-00000": "new",
	})
	before := f.Files()
	if err := (output.Output{Dir: "mem:///out", Job: "job", Epoch: 2}).Discard(t.Context(), f); !errors.Is(err, output.ErrCommitBegun) {
		t.Errorf("error %v, want ErrCommitBegun", err)
	}
	if diff := cmp.Diff(before, f.Files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// The test would catch a master that was given up, and removes the files of its successor.
func TestAnOldMasterDiscardsNothing(t *testing.T) {
	t.Parallel()
	f := memfs.New(map[string]string{"/out/_temporary/job/e2/1/part-00000": "x", "/out/_temporary/job/e1/": ""})
	before := f.Files()
	if err := (output.Output{Dir: "mem:///out", Job: "job", Epoch: 1}).Discard(t.Context(), f); !errors.Is(err, output.ErrFenced) {
		t.Errorf("error %v, want ErrFenced", err)
	}
	if diff := cmp.Diff(before, f.Files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A job has moved the old content away and died. Another one takes its files, dies at any call, and is cleaned up. The test
// would catch the removal of the only copy of the old content.
func TestACleanUpKeepsWhatWasTakenOfAnotherJob(t *testing.T) {
	t.Parallel()
	for _, mode := range []output.Mode{output.Fail, output.Replace} {
		for calls, ended := 0, false; !ended; calls++ {
			f := memfs.New(oldContent)
			a, writtenA := written("a", output.Replace)
			b, writtenB := written("b", mode)
			if err := writtenA(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			w := &watch{f: f, old: oldContent, jobs: []*job{a, b}, fatalf: t.Fatalf}
			first := begin(f, asGiven, a.committing(1, 0))
			first.stopBefore(t, 1, "Mkdir", "mem:///out/_temporary/a/e1.e1-v1-s0-a0/placing")
			first.finish(dieBefore)
			if err := writtenB(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			second := begin(f, asGiven, b.committing(1, 0))
			second.run(calls)
			ended = second.ended
			second.finish(dieBefore)
			if err := b.output.Discard(t.Context(), f); err != nil && !errors.Is(err, output.ErrCommitBegun) {
				t.Fatal(err)
			}
			w.check()
		}
	}
}
