package taskexecutor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// PartitionFile is the file of a finished blocking partition.
type PartitionFile struct {
	Partition ids.PartitionID
	Host      ids.HostID // that has written it
	Disk      int        // from 0
}

// Partitions keeps the blocking partitions that this worker's hosts write, and serves the finished ones. Each host has a directory of
// its own on each disk, so that the files of a host that has ended are known without a look at others. The methods may be called from
// any goroutine.
type Partitions interface {
	// Address is where the partitions are served, host:port.
	Address() string
	// Make makes the directories of a host that is about to start. The error names those that cannot be made; a host can work with
	// the others.
	Make(host ids.HostID) error
	// Dirs are the directories of a host, one on each disk.
	Dirs(host ids.HostID) []string
	// Serve serves a file of a job from now on. It does not block.
	Serve(job ids.JobID, f PartitionFile)
	// Remove ends the service of files of a job, and removes them.
	Remove(job ids.JobID, files []PartitionFile) error
	// Tidy removes the files of a host that has ended, except those of the partitions to keep. If there are none, it removes the
	// host's directories.
	Tidy(host ids.HostID, keep []ids.PartitionID) error
}

// DiskPartitions are Partitions on the disks of this machine. They remove files only below their folders, and follow no link there:
// hosts run users' code. A disk that hangs holds up only what is removed there.
type DiskPartitions struct {
	folders []string
	removes []chan struct{} // of each disk: has an element for each removal there
	server  *exchange.Server
}

// maxRemoves bounds the removals on one disk at a time. Each keeps a thread while the disk hangs.
const maxRemoves = 4

// OpenPartitions empties folders, of which there is one on each disk, for partitions, and starts to serve. A folder is made when it is
// needed. An earlier worker may have left files there, with the same names, if it was killed. A folder that cannot be emptied is no
// error: hosts use the next disk, and the logger says why.
func OpenPartitions(ctx context.Context, folders []string, config exchange.ServerConfig) (*DiskPartitions, error) {
	server, err := exchange.NewServer(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("serve partitions: %w", err)
	}
	d := &DiskPartitions{folders: folders, server: server}
	for range folders {
		d.removes = append(d.removes, make(chan struct{}, maxRemoves))
	}
	if err := d.removeAll(); err != nil {
		config.Logger.WithError(err).Warn("partitions of an earlier worker cannot be removed")
	}
	return d, nil
}

// Close ends the service, and removes all files. The hosts have ended.
func (d *DiskPartitions) Close() error {
	d.server.Close()
	return d.removeAll()
}

func (d *DiskPartitions) removeAll() error {
	return d.onDisks(func(int) bool { return true }, func(disk int) error { return os.RemoveAll(d.folders[disk]) })
}

// Address implements Partitions.
func (d *DiskPartitions) Address() string { return d.server.Address() }

// Make implements Partitions.
func (d *DiskPartitions) Make(host ids.HostID) error {
	var faults []error
	for _, dir := range d.Dirs(host) {
		faults = append(faults, os.MkdirAll(dir, 0o700))
	}
	return errors.Join(faults...)
}

// Dirs implements Partitions.
func (d *DiskPartitions) Dirs(host ids.HostID) []string {
	dirs := make([]string, len(d.folders))
	for i, folder := range d.folders {
		dirs[i] = filepath.Join(folder, string(host))
	}
	return dirs
}

// Serve implements Partitions.
func (d *DiskPartitions) Serve(job ids.JobID, f PartitionFile) {
	d.server.Add(job, f.Partition, f.Disk, filepath.Join(d.folders[f.Disk], f.path()))
}

// path is the place of a file below the folder of its disk.
func (f PartitionFile) path() string { return filepath.Join(string(f.Host), f.Partition.String()) }

// Remove implements Partitions.
func (d *DiskPartitions) Remove(job ids.JobID, files []PartitionFile) error {
	partitions := make([]ids.PartitionID, len(files))
	for i, f := range files {
		partitions[i] = f.Partition
	}
	d.server.Remove(job, partitions...)
	byDisk := make(map[int][]PartitionFile)
	for _, f := range files {
		byDisk[f.Disk] = append(byDisk[f.Disk], f)
	}
	has := func(disk int) bool { return byDisk[disk] != nil }
	return d.inFolders(has, func(disk int, root *os.Root) error {
		var faults []error
		for _, f := range byDisk[disk] {
			faults = append(faults, present(root.Remove(f.path())))
		}
		return errors.Join(faults...)
	})
}

// Tidy implements Partitions.
func (d *DiskPartitions) Tidy(host ids.HostID, keep []ids.PartitionID) error {
	names := make(map[string]bool, len(keep))
	for _, p := range keep {
		names[p.String()] = true
	}
	return d.inFolders(func(int) bool { return true }, func(_ int, root *os.Root) error {
		at, err := root.Lstat(string(host))
		switch {
		case err != nil:
			return present(err)
		case len(names) == 0 || !at.IsDir():
			return root.RemoveAll(string(host))
		}
		dir, err := root.OpenRoot(string(host))
		if err != nil {
			return present(err)
		}
		return errors.Join(removeOthers(dir, names), dir.Close())
	})
}

// inFolders calls f with each of these folders that is there, as onDisks does.
func (d *DiskPartitions) inFolders(of func(disk int) bool, f func(disk int, root *os.Root) error) error {
	return d.onDisks(of, func(disk int) error {
		root, err := os.OpenRoot(d.folders[disk])
		if err != nil {
			return present(err)
		}
		return errors.Join(f(disk, root), root.Close())
	})
}

// onDisks calls f for each of these disks, at the same time, and joins the errors.
func (d *DiskPartitions) onDisks(of func(disk int) bool, f func(disk int) error) error {
	faults := make([]error, len(d.folders))
	var disks sync.WaitGroup
	for disk := range d.folders {
		if of(disk) {
			disks.Go(func() {
				d.removes[disk] <- struct{}{}
				faults[disk] = f(disk)
				<-d.removes[disk]
			})
		}
	}
	disks.Wait()
	return errors.Join(faults...)
}

// removeOthers removes everything in a directory but these names. It reads the directory in parts, which may be as long as a host
// wants.
func removeOthers(dir *os.Root, names map[string]bool) error {
	const part = 1000
	list, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer list.Close()
	var faults []error
	for {
		entries, err := list.ReadDir(part)
		for _, e := range entries {
			if !names[e.Name()] {
				faults = append(faults, present(dir.RemoveAll(e.Name())))
			}
		}
		if len(faults) > part { // the first ones tell why
			faults = slices.DeleteFunc(faults, func(err error) bool { return err == nil })
			faults = faults[:min(len(faults), 1)]
		}
		switch {
		case errors.Is(err, io.EOF):
			return errors.Join(faults...)
		case err != nil:
			return errors.Join(append(faults, fmt.Errorf("list files of a task host: %w", err))...)
		}
	}
}

// present forgives that a file is not there: another call has removed it.
func present(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
