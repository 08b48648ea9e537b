package cachedfiles_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/localcopy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func disk(t *testing.T) *dfs.FS {
	t.Helper()
	files := dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = files.Close() })
	return files
}

// written is a cached file with this content, which Find has found.
func written(t *testing.T, content string) (jobgraph.CachedFile, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cities.csv")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := cachedfiles.Find(t.Context(), disk(t), []jobgraph.CachedFile{{Name: "cities", URI: "file://" + path}})
	if err != nil {
		t.Fatal(err)
	}
	return found[0], path
}

// TestFilesAreFound would catch a file that a job waits for in vain, and an error that names neither
// the file nor the option.
func TestFilesAreFound(t *testing.T) {
	t.Parallel()
	found, path := written(t, "Rome")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if found.Size != 4 || found.ModTime != info.ModTime().UnixMilli() || found.URI != "file://"+path {
		t.Errorf("found %+v", found)
	}
	staged := jobgraph.CachedFile{Name: "staged", SHA256: "12", Size: 7}
	if again, err := cachedfiles.Find(t.Context(), disk(t), []jobgraph.CachedFile{staged, found}); err != nil || again[0] != staged || again[1] != found {
		t.Errorf("a complete file is found as %+v, %v", again, err)
	}
	dir := filepath.Dir(path)
	for uri, want := range map[string]string{
		"file://" + dir:           "it is a directory: pack it into one file",
		"file://" + dir + "/none": "there is no such file: correct the path",
		path + "/below":           `"towns"`,
		"s3://bucket/cities.csv":  "find cached file",
	} {
		_, err := cachedfiles.Find(t.Context(), disk(t), []jobgraph.CachedFile{{Name: "towns", URI: uri}})
		if err == nil || !strings.Contains(err.Error(), `"towns" (pipeline.cached-files)`) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", uri, err, want)
		}
	}
	secret := forbidden{disk(t)}
	_, err = cachedfiles.Find(t.Context(), secret, []jobgraph.CachedFile{{Name: "towns", URI: "file://" + path}})
	if !errors.Is(err, cachedfiles.ErrNotFound) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is not readable: %v", err)
	}
}

// forbidden forbids to read files.
type forbidden struct{ *dfs.FS }

func (forbidden) CheckReadable(context.Context, string) error { return fs.ErrPermission }

// TestACopyIsWhatWasFound would catch a copy that other tasks of the worker could change by mistake, one
// that cannot be executed, and one of a file that has changed since the submission.
func TestACopyIsWhatWasFound(t *testing.T) {
	t.Parallel()
	f, path := written(t, "Rome")
	dir := t.TempDir()
	for _, executable := range []bool{false, true} {
		f.Executable = executable
		want := fs.FileMode(0o400)
		if executable {
			want = 0o500
		}
		copied, size, err := cachedfiles.Fetch(t.Context(), disk(t), f, dir)
		if err != nil || size != 4 || copied != filepath.Join(dir, "cities.csv") {
			t.Fatalf("copied %d bytes to %s, %v", size, copied, err)
		}
		content, err := os.ReadFile(copied)
		info, _ := os.Stat(copied)
		if err != nil || string(content) != "Rome" || info.Mode() != want {
			t.Errorf("the copy has %q and mode %v, %v; want mode %v", content, info.Mode(), err, want)
		}
		if err := os.Remove(copied); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("Paris"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, f, dir, localcopy.ErrChanged)
	sum := sha256.Sum256([]byte("Rome"))
	refused(t, jobgraph.CachedFile{URI: f.URI, SHA256: hex.EncodeToString(sum[:]), Size: 5}, dir, localcopy.ErrChanged)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused(t, f, dir, localcopy.ErrGone)
}

// TestOnlyTheFileItselfFailsTheJob would catch a fault of one machine that fails the job, and a file that no
// machine can copy, which sets one node after the other aside.
func TestOnlyTheFileItselfFailsTheJob(t *testing.T) {
	t.Parallel()
	f, _ := written(t, "Rome")
	for cause, final := range map[error]bool{
		fs.ErrNotExist: true, fs.ErrPermission: true, filesystem.ErrEncryptionZone: true, io.ErrUnexpectedEOF: false,
	} {
		_, _, err := cachedfiles.Fetch(t.Context(), unopened{disk(t), cause}, f, t.TempDir())
		if !errors.Is(err, cause) || localcopy.Final(err) != final {
			t.Errorf("%v is final: %t, want %t", err, !final, final)
		}
	}
	if _, _, err := cachedfiles.Fetch(t.Context(), disk(t), f, filepath.Join(t.TempDir(), "none")); err == nil || localcopy.Final(err) {
		t.Errorf("a folder that is missing here: %v", err)
	}
}

// unopened fails to open files.
type unopened struct {
	*dfs.FS

	cause error
}

func (u unopened) Open(context.Context, string) (filesystem.File, error) { return nil, u.cause }

// refused checks that a file is not copied, and that the user learns why.
func refused(t *testing.T, f jobgraph.CachedFile, dir string, want error) {
	t.Helper()
	_, _, err := cachedfiles.Fetch(t.Context(), disk(t), f, dir)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), "fetch cached file "+f.URI) || !strings.HasSuffix(err.Error(), "submit the job again") {
		t.Errorf("got %v, want %v, the file and the remedy", err, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
