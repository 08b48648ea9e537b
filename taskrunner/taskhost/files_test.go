package taskhost

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestFilesAreTraffic would catch a source whose read bytes are not counted, so that a job that
// reads for an hour seems to make no progress.
func TestFilesAreTraffic(t *testing.T) {
	disk := dfs.New(dfs.Options{})
	defer disk.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	task := &task{subtask: &subtask{activity: newActivity(time.Now), files: &countedFiles{FileSystem: disk}}}
	files := task.subtask.FileSystem()
	in, err := files.Open(t.Context(), filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := files.Create(t.Context(), filepath.Join(dir, "out"), filesystem.ExistingParents)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(out, in, 600); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := task.metrics().Traffic, (msg.Traffic{ReadBytes: 600, WriteBytes: 600}); got != want {
		t.Errorf("traffic = %+v, want %+v", got, want)
	}
}
