package output_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run is a job with one master that nothing disturbs.
func run(ctx context.Context, f filesystem.FileSystem, name string, mode output.Mode) error {
	j, written := written(name, mode)
	return then(written, j.committing(1, 0))(ctx, f)
}

func TestOutputIsWhatTheTasksWrote(t *testing.T) {
	t.Parallel()
	old := map[string]string{"/out/_SUCCESS": "", "/out/part-00000": "old", "/out/part-00007": "old", "/out/sub/x": "old"}
	for name, c := range map[string]struct {
		before map[string]string
		mode   output.Mode
	}{
		"nothing before":                 {nil, output.Fail},
		"an empty directory":             {map[string]string{"/out/": ""}, output.Fail},
		"what a dead job left":           {map[string]string{"/out/_temporary/dead/e1/1/part-00000": "x"}, output.Fail},
		"old content to replace":         {old, output.Replace},
		"nothing before, to be replaced": {nil, output.Replace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filesystemOf(t, c.before)
			if err := output.Check(t.Context(), f, "mem:///out", c.mode); err != nil {
				t.Fatal(err)
			}
			if err := run(t.Context(), f, "job", c.mode); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(result("job", winnersOf(1)), f.Files()); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutputThatExistsIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	before := map[string]string{"/out/part-00000": "precious", "/file": "x"}
	f := filesystemOf(t, before)
	if err := output.Check(t.Context(), f, "mem:///out", output.Fail); !errors.Is(err, output.ErrExists) ||
		!strings.Contains(err.Error(), "mem:///out") || !strings.Contains(err.Error(), "dataflow.Overwrite()") {
		t.Errorf("Check: %v, want ErrExists that names the output and the remedy", err)
	}
	for _, mode := range []output.Mode{output.Fail, output.Replace} {
		if err := output.Check(t.Context(), f, "mem:///file", mode); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Check of a file, mode %d: %v, want fs.ErrExist", mode, err)
		}
	}
	// another program may have written it since the check
	err := run(t.Context(), f, "job", output.Fail)
	if !errors.Is(err, output.ErrExists) || !errors.Is(err, operator.ErrPermanent) {
		t.Errorf("Commit: %v, want a permanent ErrExists", err)
	}
	if diff := cmp.Diff(before, f.Files()); diff != "" {
		t.Errorf("files, of which none of the job's may be left (-want +got):\n%s", diff)
	}
}

// TestAHomeDirectoryIsNeverReplaced would catch --overwrite with an output that is
// one level too high, which removes all files of a user.
func TestAHomeDirectoryIsNeverReplaced(t *testing.T) {
	t.Parallel()
	f := filesystemOf(t, map[string]string{"/user/alice/.bobbin/cache/x": "x", "/user/alice/precious": "y"})
	if err := output.Check(t.Context(), f, "mem:///user/alice", output.Replace); err == nil || !strings.Contains(err.Error(), "home directory") {
		t.Errorf("Check: %v, want a refusal that says what it is", err)
	}
}

func TestFailuresOfWritesAreReported(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	for _, op := range []string{"Mkdir", "Create", "Write", "Close"} {
		f := memfs.New(nil)
		j, _ := written("job", output.Fail)
		if err := j.output.Open(t.Context(), f, output.Dropped); err != nil {
			t.Fatal(err)
		}
		view := f.View(func(c memfs.Call) error {
			if c.Op == op {
				return full
			}
			return nil
		})
		if err := write(t.Context(), view, j.output, "e1-v0-s0-a0", 0); !errors.Is(err, full) {
			t.Errorf("%s fails: error %v, want one that wraps the cause", op, err)
		}
	}
}

// The answer to the call that makes a task's directory is lost, and the attempt's file system calls again. The test would
// catch an attempt that fails because its own directory is there.
func TestAnAttemptFindsItsDirectory(t *testing.T) {
	t.Parallel()
	f := memfs.New(nil)
	j, _ := written("job", output.Fail)
	if err := j.output.Open(t.Context(), f, output.Dropped); err != nil {
		t.Fatal(err)
	}
	if err := f.Mkdir(t.Context(), "/out/_temporary/job/e1/e1-v0-s0-a0"); err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), f, j.output, "e1-v0-s0-a0", 0); err != nil {
		t.Error(err)
	}
}

// A task of a master that was given up begins late. The test would catch one that makes the directory of its epoch again,
// or writes into its successor's.
func TestALateTaskWritesNothing(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(j *job) act{
		"the next master runs all again": func(j *job) act { return j.opening(2, output.Dropped) },
		"the next master commits":        func(j *job) act { return j.opening(2, output.Recorded) },
		"the job is done":                func(j *job) act { return j.committing(1, 0) },
		"the job has failed":             func(j *job) act { return j.output.Discard },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := memfs.New(nil)
			j, written := written("job", output.Fail)
			if err := written(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			open, err := j.output.Create(t.Context(), f, "e1-v0-s0-a1", 0)
			if err != nil {
				t.Fatal(err)
			}
			open.Abort()
			if err := after(j)(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			before := f.Files()
			err = write(t.Context(), f, j.output, "e1-v0-s1-a2", 1)
			if !errors.Is(err, output.ErrFenced) || !errors.Is(err, operator.ErrPermanent) {
				t.Errorf("the late task: %v, want a permanent ErrFenced", err)
			}
			if diff := cmp.Diff(before, f.Files()); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusedOutputIsPermanent would catch a job that restarts although it has no
// permission to write, and a job that does not restart after a failed call.
func TestRefusedOutputIsPermanent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err       error
		permanent bool
	}{
		{fs.ErrPermission, true},
		{filesystem.ErrEncryptionZone, true},
		{filesystem.ErrErasureCoded, true},
		{io.ErrUnexpectedEOF, false},
	} {
		fsys := memfs.New(nil).View(func(memfs.Call) error { return c.err })
		o := output.Output{Dir: "mem:///out", Job: "j"}
		_, err := o.Create(t.Context(), fsys, "a", 0)
		for what, err := range map[string]error{"Create": err, "Open": o.Open(t.Context(), fsys, output.Dropped)} {
			if !errors.Is(err, c.err) || errors.Is(err, operator.ErrPermanent) != c.permanent {
				t.Errorf("%s: %v becomes %v, permanent %t", what, c.err, err, errors.Is(err, operator.ErrPermanent))
			}
		}
	}
}

func filesystemOf(t *testing.T, files map[string]string) *memfs.FS {
	t.Helper()
	f := memfs.New(nil)
	for name, content := range files {
		if strings.HasSuffix(name, "/") {
			if err := f.MkdirAll(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f.Write(name, content)
	}
	return f
}
