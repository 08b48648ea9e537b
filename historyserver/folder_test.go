package historyserver

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"
)

// TestFoldersOfKilledServersAreRemoved would catch folders of up to 16 GB that stay for ever when their servers were killed, and a
// server that removes the folder of another one that lives, or what is none.
func TestFoldersOfKilledServersAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	logger, hook := logtest.NewNullLogger()
	lives, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	killed, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	killed.lock.Close() // as the end of the process does
	for _, other := range []string{"other", folderName + "file"} {
		if err := os.WriteFile(filepath.Join(dir, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, folderName+"link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(killed.path, string(idOf(1))), []byte("archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	removeLeft(dir, logger)
	want := []string{filepath.Base(lives.path), folderName + "file", folderName + "link", "other"}
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if n := len(hook.AllEntries()); n != 1 {
		t.Errorf("the log has %d lines, want one", n)
	}
	if err := lives.remove(); err != nil {
		t.Error(err)
	}
}

// TestServersBeginTogether would catch a server whose folder another one removes, because it has no lock yet.
func TestServersBeginTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			logger, _ := logtest.NewNullLogger()
			removeLeft(dir, logger)
			f, err := newFolder(dir)
			if err != nil {
				t.Error(err)
				return
			}
			removeLeft(dir, logger)
			if err := os.WriteFile(filepath.Join(f.path, "x"), nil, 0o600); err != nil {
				t.Error(err)
			}
			if err := f.remove(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
