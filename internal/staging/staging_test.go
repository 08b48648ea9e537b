package staging_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// area returns a staging area on the local disk, with the file access that also serves HDFS.
func area(t *testing.T) (*staging.Area, string, *dfs.FS) {
	t.Helper()
	files := dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = files.Close() })
	home := t.TempDir()
	return staging.New(files, "file://"+home, 0), home, files
}

func file(t *testing.T, content string) staging.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bobbin")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	return staging.File{Path: path, Name: "bobbin", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

func begin(t *testing.T, a *staging.Area, id string, files ...staging.File) *staging.Application {
	t.Helper()
	app, err := a.Begin(t.Context(), id, files...)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// tree lists all files below a directory.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestFilesAreStagedOnceByContent would catch an upload of 15 MB for each job, and an entry whose
// modification time changes while an application uses it.
func TestFilesAreStagedOnceByContent(t *testing.T) {
	a, home, _ := area(t)
	f := file(t, strings.Repeat("binary", 100_000))
	var last int64
	first, cached, err := begin(t, a, "application_1_0001", f).Cache(t.Context(), f, func(done int64) { last = done })
	if err != nil || cached || last != f.Size {
		t.Fatalf("first: cached %v, %d of %d bytes, %v", cached, last, f.Size, err)
	}
	second, cached, err := begin(t, a, "application_1_0002", f).Cache(t.Context(), f, func(int64) { t.Error("uploaded again") })
	if err != nil || !cached || second != first {
		t.Errorf("second: cached %v, %+v after %+v, %v", cached, second, first, err)
	}
	info, err := os.Stat(filepath.Join(home, ".bobbin/application_1_0001"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("application directory has mode %v, %v", info.Mode(), err)
	}
}

// TestAnEntryOfAnotherLengthIsRefused would catch containers that run half a binary, which an
// administrator's copy or a full disk has left, and an error that does not name the file.
func TestAnEntryOfAnotherLengthIsRefused(t *testing.T) {
	a, home, _ := area(t)
	f := file(t, "binary")
	first, _, err := begin(t, a, "application_1_0001", f).Cache(t.Context(), f, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	entry := filepath.Join(home, ".bobbin/cache", f.SHA256, f.Name)
	if err := errors.Join(os.Chmod(entry, 0o700), os.Truncate(entry, 3)); err != nil {
		t.Fatal(err)
	}
	_, _, err = begin(t, a, "application_1_0002", f).Cache(t.Context(), f, func(int64) { t.Error("uploaded again") })
	if want := first.URI + " has 3 bytes, want 6: remove it"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Cache = %v, want %q", err, want)
	}
}

// TestAnEntryHasANameThatHDFSAndYARNTake would catch a program that is refused after its upload, or
// whose containers do not start, because of its file's name.
func TestAnEntryHasANameThatHDFSAndYARNTake(t *testing.T) {
	a, _, _ := area(t)
	f := file(t, "binary")
	f.Name = "daily 2026-11-22T08:00 \"$x\" `y`\\"
	staged, _, err := begin(t, a, "application_1_0001", f).Cache(t.Context(), f, func(int64) {})
	if want := "daily 2026-11-22T08_00 __x_ _y__"; err != nil || path.Base(staged.URI) != want {
		t.Errorf("staged as %s, %v; want %s", staged.URI, err, want)
	}
}

// TestDiscardLeavesNothingOfItsOwn would catch files that a failed submission leaves on HDFS, and
// the removal of a file that another application uses.
func TestDiscardLeavesNothingOfItsOwn(t *testing.T) {
	a, home, _ := area(t)
	alone, shared := file(t, "alone"), file(t, "shared")
	failed := begin(t, a, "application_1_0001", alone, shared)
	for _, f := range []staging.File{alone, shared} {
		if _, _, err := failed.Cache(t.Context(), f, func(int64) {}); err != nil {
			t.Fatal(err)
		}
	}
	running := begin(t, a, "application_1_0002", shared)
	before, _, err := running.Cache(t.Context(), shared, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := failed.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := failed.Discard(t.Context()); err != nil {
		t.Errorf("second Discard: %v", err)
	}
	after, cached, err := running.Cache(t.Context(), shared, func(int64) {})
	if err != nil || !cached || before != after {
		t.Errorf("shared entry: cached %v, %+v, was %+v, %v", cached, after, before, err)
	}
	want := []string{"/.bobbin/application_1_0002/refs", "/.bobbin/cache/" + shared.SHA256 + "/bobbin"}
	if got := tree(t, home); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("left behind: %q, want %q", got, want)
	}
}

// interrupted fails or cancels at the nth write.
type interrupted struct {
	*dfs.FS
	cancel context.CancelCauseFunc
}

var errInterrupted = errors.New("interrupted")

type cancelling struct {
	io.WriteCloser
	cancel context.CancelCauseFunc
}

func (c cancelling) Write(p []byte) (int, error) {
	c.cancel(errInterrupted)
	return c.WriteCloser.Write(p)
}

func (i interrupted) CreateMode(ctx context.Context, uri string, o dfs.CreateOptions) (io.WriteCloser, error) {
	w, err := i.FS.CreateMode(ctx, uri, o)
	if err != nil || !strings.Contains(uri, "/cache/") {
		return w, err
	}
	return cancelling{w, i.cancel}, nil
}

// left makes directories although its caller has gone.
type left struct {
	*dfs.FS
	cancel context.CancelCauseFunc
}

func (l left) MkdirAllMode(ctx context.Context, dir string, mode fs.FileMode) error {
	err := l.FS.MkdirAllMode(ctx, dir, mode)
	l.cancel(errInterrupted)
	return errors.Join(err, context.Cause(ctx))
}

// TestInterruptedBeginLeavesNothing would catch an empty directory after each early Ctrl-C.
func TestInterruptedBeginLeavesNothing(t *testing.T) {
	_, home, files := area(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	a := staging.New(left{files, cancel}, "file://"+home, 0)
	if _, err := a.Begin(ctx, "application_1_0001"); !errors.Is(err, errInterrupted) {
		t.Fatalf("Begin = %v, want %v", err, errInterrupted)
	}
	if left, err := os.ReadDir(filepath.Join(home, ".bobbin")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestInterruptedUploadLeavesNoEntry would catch half a binary that the next submission uses as a
// whole one.
func TestInterruptedUploadLeavesNoEntry(t *testing.T) {
	_, home, files := area(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	a := staging.New(interrupted{files, cancel}, "file://"+home, 0)
	f := file(t, strings.Repeat("x", 1<<20))
	app := begin(t, a, "application_1_0001", f)
	if _, _, err := app.Cache(ctx, f, func(int64) {}); !errors.Is(err, errInterrupted) {
		t.Fatalf("Cache = %v, want %v", err, errInterrupted)
	}
	if err := app.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, home); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

// overtaken lets another submission go first at each rename.
type overtaken struct {
	*dfs.FS
	first func()
}

func (o *overtaken) Rename(ctx context.Context, from, to string) error {
	if first := o.first; first != nil {
		o.first = nil
		first()
	}
	return o.FS.Rename(ctx, from, to)
}

// TestSubmissionsAtTheSameMomentShareAnEntry would catch an entry that the slower of two
// submissions rewrites. The containers of the faster one could then not start, because the file's
// modification time has changed.
func TestSubmissionsAtTheSameMomentShareAnEntry(t *testing.T) {
	f := file(t, "the same program")
	renamed := f
	renamed.Name = "another name"
	for _, slower := range []staging.File{f, renamed} {
		a, home, files := area(t)
		var faster launch.Resource
		slow := staging.New(&overtaken{files, func() {
			var err error
			if faster, _, err = begin(t, a, "application_1_0001", f).Cache(t.Context(), f, func(int64) {}); err != nil {
				t.Error(err)
			}
		}}, "file://"+home, 0)
		got, _, err := begin(t, slow, "application_1_0002", slower).Cache(t.Context(), slower, func(int64) {})
		if err != nil || slower.Name == f.Name && got != faster {
			t.Errorf("the slower one has %+v, %v; the faster one %+v", got, err, faster)
		}
		if again, cached, err := begin(t, a, "application_1_0003", f).Cache(t.Context(), f, func(int64) {}); !cached || err != nil || again != faster {
			t.Errorf("the entry is %+v (cached %t, %v), the faster one has %+v", again, cached, err, faster)
		}
	}
}
