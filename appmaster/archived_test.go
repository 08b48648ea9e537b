package appmaster

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// archiving describes an application that archives its jobs in a directory.
func archiving(t *testing.T, dir string, mode launch.Mode) func(*environment) {
	t.Helper()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.ArchiveDir.Name(): dir}})
	if err != nil {
		t.Fatal(err)
	}
	return func(e *environment) { e.config, e.launch.Mode = options, mode }
}

// TestAJobIsArchivedBeforeTheApplicationEnds would catch an application that ends before its job is archived: then no other
// attempt follows, and the job has no history. It would also catch a directory in which one application takes the place of
// another's job, and an application that fails because its jobs cannot be archived.
func TestAJobIsArchivedBeforeTheApplicationEnds(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]func(dir string) error{
		"no directory": func(string) error { return nil },
		"a directory":  func(dir string) error { return os.Mkdir(dir, 0o700) },
		"a file":       func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "done")
			if err := there(dir); err != nil {
				t.Fatal(err)
			}
			content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
			w := newWorkers(t, content)
			file := filepath.Join(dir, string(testJob))
			w.deregister = func(context.Context) error {
				if _, err := os.Stat(file); err != nil && name != "a file" {
					t.Errorf("before YARN has recorded the end: %v", err)
				}
				return nil
			}
			s := runMaster(t, t.Context(), w, content, archiving(t, "file://"+dir, launch.PerJob), nil)
			s.fetch(t)
			if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationSucceeded {
				t.Errorf("run = %+v, %v; want SUCCEEDED", s.outcome, err)
			}
			if name == "a file" {
				return
			}
			var archive struct{ Archive []struct{ Path, JSON string } }
			text, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(text, &archive)
			}
			if err != nil || len(archive.Archive) < 10 {
				t.Errorf("%d answers are archived, error %v", len(archive.Archive), err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("there are %v, error %v", entries, err)
			}
		})
	}
}

// TestAStrangeDirectoryFailsNoJob would catch an application that cannot start because of its history.
func TestAStrangeDirectoryFailsNoJob(t *testing.T) {
	t.Parallel()
	content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
	s := runMaster(t, t.Context(), newWorkers(t, content), content, archiving(t, "s3://bucket/done", launch.PerJob), nil)
	s.fetch(t)
	if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationSucceeded {
		t.Errorf("run = %+v, %v; want SUCCEEDED", s.outcome, err)
	}
	if _, err := os.Stat("s3:"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a local directory: %v", err)
	}
}
