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
// hosts run users' code.
type DiskPartitions struct {
	folders []string
	server  *exchange.Server
}

// OpenPartitions empties folders, of which there is one on each disk, for partitions, and starts to serve. A folder is made when it is
// needed. An earlier worker may have left files there, with the same names, if it was killed. A folder that cannot be emptied is no
// error: hosts use the next disk, and the logger says why.
func OpenPartitions(ctx context.Context, folders []string, config exchange.ServerConfig) (*DiskPartitions, error) {
	server, err := exchange.NewServer(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("serve partitions: %w", err)
	}
	d := &DiskPartitions{folders: folders, server: server}
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
	var faults []error
	for _, folder := range d.folders {
		faults = append(faults, os.RemoveAll(folder))
	}
	return errors.Join(faults...)
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
	return d.onEachDisk(func(disk int, root *os.Root) error {
		var faults []error
		for _, f := range files {
			if f.Disk == disk {
				faults = append(faults, present(root.Remove(f.path())))
			}
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
	return d.onEachDisk(func(_ int, root *os.Root) error {
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

// onEachDisk calls f with each folder that is there, and joins the errors.
func (d *DiskPartitions) onEachDisk(f func(disk int, root *os.Root) error) error {
	var faults []error
	for disk, folder := range d.folders {
		root, err := os.OpenRoot(folder)
		if err != nil {
			faults = append(faults, present(err))
			continue
		}
		faults = append(faults, f(disk, root), root.Close())
	}
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
