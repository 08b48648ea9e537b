package output_test

import (
	"context"
	"errors"
	"fmt"
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

const parts = 3

// try is one attempt of a job: it writes its parts and commits them. The content
// of a part names the job, the attempt and the part.
func try(ctx context.Context, fsys filesystem.FileSystem, o output.Output, attempt string) error {
	winners := make([]string, parts)
	for i := range winners {
		winners[i] = fmt.Sprintf("%s.%d", attempt, i)
		part, err := o.Create(ctx, fsys, winners[i], i)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(part, content(o.Job, attempt, i)); err != nil {
			part.Abort()
			return err
		}
		if err := part.Close(); err != nil {
			return err
		}
	}
	return o.Commit(ctx, fsys, attempt, winners)
}

func content(job, attempt string, part int) string {
	return fmt.Sprintf("%s %s %d", job, attempt, part)
}

// result returns the content of the output after one undisturbed attempt.
func result(job, attempt string) map[string]string {
	files := map[string]string{"/out/_SUCCESS": job + "\n"}
	for i := range parts {
		files[fmt.Sprintf("/out/part-%05d", i)] = content(job, attempt, i)
	}
	return files
}

func TestOutputIsWhatTheAttemptWrote(t *testing.T) {
	t.Parallel()
	old := map[string]string{"/out/_SUCCESS": "", "/out/part-00000": "old", "/out/part-00007": "old", "/out/sub/x": "old"}
	for name, c := range map[string]struct {
		before map[string]string
		mode   output.Mode
	}{
		"nothing before":                 {nil, output.Fail},
		"an empty directory":             {map[string]string{"/out/": ""}, output.Fail},
		"what a dead job left":           {map[string]string{"/out/_temporary/dead/1/part-00000": "x"}, output.Fail},
		"old content to replace":         {old, output.Replace},
		"nothing before, to be replaced": {nil, output.Replace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filesystemOf(t, c.before)
			o := output.Output{Dir: "mem:///out", Job: "job", Mode: c.mode}
			if err := output.Check(t.Context(), f, o.Dir, o.Mode); err != nil {
				t.Fatal(err)
			}
			if err := try(t.Context(), f, o, "1"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(result("job", "1"), f.Files()); diff != "" {
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
	err := try(t.Context(), f, output.Output{Dir: "mem:///out", Job: "job"}, "1")
	if !errors.Is(err, output.ErrExists) || !errors.Is(err, operator.ErrPermanent) {
		t.Errorf("Commit: %v, want a permanent ErrExists", err)
	}
	if diff := cmp.Diff(before, f.Files()); diff != "" {
		t.Errorf("files, of which none of the job's may be left (-want +got):\n%s", diff)
	}
}

// TestJobsOfOneOutputLeaveEachOtherAlone would catch a job that is refused at its
// commit, and removes the other job's parts.
func TestJobsOfOneOutputLeaveEachOtherAlone(t *testing.T) {
	t.Parallel()
	f := filesystemOf(t, map[string]string{
		"/out/part-00000": "precious", "/out/_committing-other-1": "other\n", "/out/_temporary/other/1/part-00001": "more",
	})
	before := f.Files()
	if err := try(t.Context(), f, output.Output{Dir: "mem:///out", Job: "job"}, "1"); !errors.Is(err, output.ErrExists) {
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
	o := output.Output{Dir: "mem:///out", Job: "job"}
	if err := try(t.Context(), f, o, "1"); err != nil {
		t.Fatal(err)
	}
	f.Write("/out/_temporary/next/1/part-00000", "theirs")
	f.Write("/out/_temporary/next/1/replaced-part-00009", "precious")
	before := f.Files()
	if err := o.Commit(t.Context(), f, "1", []string{"1.0", "1.1", "1.2"}); err != nil {
		t.Errorf("the same once more: %v", err)
	}
	if err := try(t.Context(), f, o, "2"); err != nil {
		t.Errorf("a later attempt: %v", err)
	}
	if diff := cmp.Diff(before, f.Files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
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
	for _, op := range []string{"Create", "Write", "Close"} {
		f := memfs.New(nil).View(func(c memfs.Call) error {
			if c.Op == op {
				return full
			}
			return nil
		})
		if err := try(t.Context(), f, output.Output{Dir: "mem:///out", Job: "job"}, "1"); !errors.Is(err, full) {
			t.Errorf("%s fails: error %v, want one that wraps the cause", op, err)
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
		_, err := output.Output{Dir: "mem:///out", Job: "j"}.Create(t.Context(), fsys, "a", 0)
		if !errors.Is(err, c.err) || errors.Is(err, operator.ErrPermanent) != c.permanent {
			t.Errorf("%v becomes %v, permanent %t", c.err, err, errors.Is(err, operator.ErrPermanent))
		}
	}
}
