package taskexecutor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// openPartitions serves the partitions of w1 on two disks, without TLS.
func openPartitions(t *testing.T) *DiskPartitions {
	t.Helper()
	base := t.TempDir()
	d, err := OpenPartitions(t.Context(), []string{filepath.Join(base, "a"), filepath.Join(base, "b")}, exchange.ServerConfig{
		Host: ids.PartitionHost("w1"), ListenHost: "127.0.0.1", Logger: quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// file is the file of the only output of a subtask.
func file(subtask int, host ids.HostID, disk int) PartitionFile {
	return PartitionFile{Partition: ids.PartitionID{Execution: ids.ExecutionAttemptID{Epoch: 1, Subtask: subtask}}, Host: host, Disk: disk}
}

// put writes the file of a partition.
func (d *DiskPartitions) put(t *testing.T, f PartitionFile) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.folders[f.Disk], f.path()), []byte("records"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files lists all files of partitions, with their folders.
func (d *DiskPartitions) files(t *testing.T) (files []string) {
	t.Helper()
	for _, folder := range d.folders {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(filepath.Dir(folder), path)
			files = append(files, name)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return files
}

func (d *DiskPartitions) check(t *testing.T, want ...string) {
	t.Helper()
	if got := d.files(t); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

// TestOnlyHeldPartitionsStay would catch a file of a dead host that stays, a held one that goes, and directories that fill the disk.
func TestOnlyHeldPartitionsStay(t *testing.T) {
	t.Parallel()
	d := openPartitions(t)
	for _, host := range []ids.HostID{"h1", "h2"} {
		if err := d.Make(host); err != nil {
			t.Fatal(err)
		}
	}
	held, unfinished, other := file(0, "h1", 0), file(1, "h1", 1), file(2, "h2", 1)
	for _, f := range []PartitionFile{held, unfinished, other} {
		d.put(t, f)
	}
	if err := d.Tidy("h1", []ids.PartitionID{held.Partition}); err != nil {
		t.Error(err)
	}
	d.check(t, "a", "a/h1", "a/h1/e1-v0-s0-a0-o0", "a/h2", "b", "b/h1", "b/h2", "b/h2/e1-v0-s2-a0-o0")
	for range 2 { // a second time it is no fault
		if err := d.Remove("j1", []PartitionFile{held, other}); err != nil {
			t.Error(err)
		}
	}
	d.check(t, "a", "a/h1", "a/h2", "b", "b/h1", "b/h2")
	for range 2 {
		if err := d.Tidy("h1", nil); err != nil {
			t.Error(err)
		}
	}
	d.check(t, "a", "a/h2", "b", "b/h2")
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	d.check(t)
}

// TestADiskThatHangsHoldsUpNoOther would catch files that stay on a disk because another one does not answer.
func TestADiskThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	d := openPartitions(t)
	if err := d.Make("h1"); err != nil {
		t.Fatal(err)
	}
	held := file(0, "h1", 1)
	d.put(t, held)
	for range maxRemoves { // as removals do that wait for the disk
		d.removes[0] <- struct{}{}
	}
	if err := d.Remove("j1", []PartitionFile{held}); err != nil {
		t.Error(err)
	}
	d.check(t, "a", "a/h1", "b", "b/h1")
	tidied := make(chan error, 1)
	go func() { tidied <- d.Tidy("h1", nil) }()
	for len(d.files(t)) > 3 {
		runtime.Gosched()
	}
	d.check(t, "a", "a/h1", "b")
	for range maxRemoves {
		<-d.removes[0]
	}
	if err := <-tidied; err != nil {
		t.Error(err)
	}
	d.check(t, "a", "b")
}

// TestHostsCannotHaveOtherFilesRemoved would catch a worker that follows a link which a host, that is user code, has put in place of its
// directory, of its partition, or among its files.
func TestHostsCannotHaveOtherFilesRemoved(t *testing.T) {
	t.Parallel()
	d := openPartitions(t)
	precious := filepath.Join(t.TempDir(), "e1-v0-s0-a0-o0")
	for _, host := range []ids.HostID{"h1", "h2"} {
		if err := errors.Join(d.Make(host), os.WriteFile(precious, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	held, link := file(0, "h1", 0), filepath.Join(d.folders[0], "h1")
	err := errors.Join(
		os.Remove(link), os.Symlink(filepath.Dir(precious), link), // instead of a directory
		os.Symlink(filepath.Dir(precious), filepath.Join(d.folders[0], "h2", "link")),
		os.Symlink(precious, filepath.Join(d.folders[0], "h2", held.Partition.String())),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Remove("j1", []PartitionFile{held}); err == nil {
		t.Error("the link to another directory is no fault")
	}
	if err := errors.Join(d.Tidy("h1", []ids.PartitionID{held.Partition}), d.Remove("j1", []PartitionFile{file(0, "h2", 0)}), d.Tidy("h2", []ids.PartitionID{{Output: 1}})); err != nil {
		t.Error(err)
	}
	d.check(t, "a", "a/h2", "b", "b/h1", "b/h2")
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("the file that links lead to: %v", err)
	}
}

// TestAnEarlierWorkersPartitionsGo would catch files of a worker that was killed in the same container, under the names of the next
// one's.
func TestAnEarlierWorkersPartitionsGo(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "partitions")
	if err := os.MkdirAll(filepath.Join(folder, "w1-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := OpenPartitions(t.Context(), []string{folder}, exchange.ServerConfig{ListenHost: "127.0.0.1", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	d.check(t)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenPartitions(ctx, nil, exchange.ServerConfig{ListenHost: "no such host", Logger: quiet()}); err == nil {
		t.Error("it serves at a host that does not exist")
	}
}
