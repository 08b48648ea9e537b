package bobbintest

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Scratch makes an empty directory of the user on HDFS and returns its path. It removes the
// directory at the end of the test, unless the test fails.
func (u *User) Scratch(t testing.TB) string {
	t.Helper()
	return u.ScratchOn(t, "")
}

// ScratchOn is Scratch on the file system of this root, such as hdfs://other. It returns a URI. An
// empty root is the default file system.
func (u *User) ScratchOn(t testing.TB, root string) string {
	t.Helper()
	files := u.Files(t)
	dir := root + "/tmp/bobbin-test-" + u.Name + "-" + ids.Random()
	if err := files.MkdirAllMode(t.Context(), dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("files of the test: %s", dir)
			return
		}
		if err := files.RemoveAll(wait.Context(t), dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Put copies a file, or the files of a directory, from this machine to a new file
// or directory on HDFS.
func (u *User) Put(t testing.TB, local, uri string) {
	t.Helper()
	info, err := os.Stat(local)
	if err != nil {
		t.Fatal(err)
	}
	files := u.Files(t)
	if !info.IsDir() {
		put(t, files, local, uri)
		return
	}
	if err := files.MkdirAllMode(t.Context(), uri, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(local)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		put(t, files, filepath.Join(local, entry.Name()), uri+"/"+entry.Name())
	}
}

func put(t testing.TB, files *dfs.FS, local, uri string) {
	t.Helper()
	if _, err := files.Upload(t.Context(), local, uri, dfs.UploadOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Write makes a file on HDFS.
func (u *User) Write(t testing.TB, uri, content string) {
	t.Helper()
	if err := u.Files(t).WriteFile(t.Context(), uri, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Names lists the names in a directory on HDFS.
func (u *User) Names(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	for _, entry := range list(t, u.Files(t), dir) {
		names = append(names, path.Base(entry.URI))
	}
	return names
}

// Output reads the lines of all parts of a job's output, and sorts them like LC_ALL=C sort. The
// test fails if the output has no _SUCCESS, or other files beside the parts.
func (u *User) Output(t testing.TB, dir string) []string {
	t.Helper()
	files := u.Files(t)
	var content bytes.Buffer
	committed := false
	for _, entry := range list(t, files, dir) {
		switch name := path.Base(entry.URI); {
		case name == "_SUCCESS":
			committed = true
		case strings.HasPrefix(name, "part-"):
			file, err := files.Open(t.Context(), entry.URI)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(&content, file); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s lies in the output %s", name, dir)
		}
	}
	if !committed {
		t.Errorf("output %s has no _SUCCESS", dir)
	}
	return SortedLines(content.String())
}

// SortedLines splits a text into lines and sorts them by their bytes.
func SortedLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(lines)
	return lines
}
