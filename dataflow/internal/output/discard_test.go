package output_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
)

// The files of a failed job count against the directory's quota. The test would catch parts that stay,
// and a clean-up that removes the files of other jobs, or of a job that just begins.
func TestWhatAFailedJobLeftIsRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after map[string]string }{
		"parts": {
			map[string]string{"/out/_temporary/job/1/part-00000": "x", "/out/_temporary/job/2/part-00001": "y"},
			map[string]string{"/out/": ""},
		},
		"beside another job's": {
			map[string]string{"/out/_temporary/job/1/part-00000": "x", "/out/_temporary/other/1/part-00000": "theirs"},
			map[string]string{"/out/_temporary/other/1/part-00000": "theirs"},
		},
		"beside old content": {
			map[string]string{"/out/_temporary/job/1/part-00000": "x", "/out/part-00000": "old", "/out/_SUCCESS": ""},
			map[string]string{"/out/part-00000": "old", "/out/_SUCCESS": ""},
		},
		"nothing":           {nil, map[string]string{}},
		"nothing of this":   {map[string]string{"/out/part-00000": "old"}, map[string]string{"/out/part-00000": "old"}},
		"an earlier try's":  {map[string]string{"/out/_temporary/discarded-job-0/1/part-00000": "x"}, map[string]string{"/out/": ""}},
		"and of a late one": {map[string]string{"/out/_temporary/discarded-job-0/1/p": "x", "/out/_temporary/job/2/p": "y"}, map[string]string{"/out/": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filesystemOf(t, c.before)
			for range 2 {
				if err := (output.Output{Dir: "mem:///out", Job: "job"}).Discard(t.Context(), f); err != nil {
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
	f := filesystemOf(t, map[string]string{"/out/_temporary/job/1/part-00000": "x"})
	calls := 0
	for ended := false; !ended; calls++ {
		call := 0
		view := f.View(func(memfs.Call) error {
			if call++; call == calls+1 {
				f.Write("/out/_temporary/other/1/part-00000", "theirs")
			}
			ended = call <= calls
			return nil
		})
		f.Write("/out/_temporary/job/1/part-00000", "x")
		if err := (output.Output{Dir: "mem:///out", Job: "job"}).Discard(t.Context(), view); err != nil {
			t.Fatal(err)
		}
		if files := f.Files(); !ended && files["/out/_temporary/other/1/part-00000"] != "theirs" {
			t.Fatalf("at call %d: %v", calls, files)
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
		"/out/_committing-job-1": "job\n", "/out/_temporary/job/1/replaced-part-00000": "old", "/out/_temporary/job/1/part-00000": "new",
	})
	before := f.Files()
	if err := (output.Output{Dir: "mem:///out", Job: "job"}).Discard(t.Context(), f); !errors.Is(err, output.ErrCommitBegun) {
		t.Errorf("error %v, want ErrCommitBegun", err)
	}
	if diff := cmp.Diff(before, f.Files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// An attempt whose worker was declared dead continues, in any interleaving with the clean-up of its job.
// The clean-up may die at any call and be repeated. The old content must stay in the output or below
// _temporary, unless one complete result has replaced it.
func TestNoInterleavingOfACleanUpLosesTheOldContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old := map[string]string{"/out/_SUCCESS": "", "/out/part-00000": "precious 0", "/out/part-00009": "precious 9"}
		f := memfs.New(old)
		o := output.Output{Dir: "mem:///out", Job: "job", Mode: output.Replace}
		running := []*process{start(f, o, "late"), begin(f, o.Discard)} // in the end two clean-ups at a time
		for range rapid.IntRange(0, 40).Draw(t, "bursts") {
			i := rapid.IntRange(0, len(running)-1).Draw(t, "process")
			ended := false
			for range rapid.IntRange(1, 12).Draw(t, "calls") {
				if ended = running[i].step(proceed); ended {
					break
				}
				checkVisible(f, old, t.Fatalf)
				checkKept(f, t.Fatalf)
			}
			how := rapid.SampledFrom([]command{proceed, proceed, dieBefore, dieAfter}).Draw(t, "how")
			if !ended && how != proceed {
				ended = running[i].step(how)
				checkKept(f, t.Fatalf)
			}
			if ended { // the clean-up is repeated; of a late attempt there is one
				running = append(running[:i:i], running[i+1:]...)
			}
			if ended && len(running) < 2 {
				running = append(running, begin(f, o.Discard))
			}
		}
		for _, p := range running {
			for !p.step(dieBefore) { // every later call fails too
			}
		}
		checkKept(f, t.Fatalf)
	})
}

// begin runs a function as a process.
func begin(f *memfs.FS, do func(context.Context, filesystem.FileSystem) error) *process {
	p := &process{waiting: make(chan struct{}), command: make(chan command)}
	go func() { // ends with do, which the test steps to its end
		defer close(p.waiting)
		p.err = do(context.Background(), f.View(p.fault))
	}()
	<-p.waiting
	return p
}

// checkKept fails if the old content is gone before all new parts are in place.
func checkKept(f *memfs.FS, fatalf func(string, ...any)) {
	files := f.Files()
	moved := 0
	for i := range parts {
		if files[fmt.Sprintf("/out/part-%05d", i)] == content("job", "late", i) {
			moved++
		}
	}
	if moved == parts {
		return
	}
	var contents []string
	for _, content := range files {
		contents = append(contents, content)
	}
	for _, precious := range []string{"precious 0", "precious 9"} {
		if !slices.Contains(contents, precious) {
			var names []string
			for name := range files {
				names = append(names, name)
			}
			fatalf("%q is lost; there are %s", precious, strings.Join(names, " "))
		}
	}
}
