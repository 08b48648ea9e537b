package exchange

import (
	"container/list"
	"errors"
	"fmt"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

// maxOpenFiles is the number of partition files that a Server keeps open, beside those that it reads at the moment: one for each
// connection, and those of slow reads (maxSlow).
const maxOpenFiles = 256

// errNotServed says that a Server does not have a partition.
var errNotServed = errors.New("this worker does not have the partition; it has been released, or the worker has started anew")

// shelf has the files of a Server. It opens a file when it is read, and closes the one that was not read for longest.
type shelf struct {
	mu    sync.Mutex // guards all below
	files map[ids.JobID]map[PartitionID]*volume
	open  *list.List // of the open volumes, the last read in front
	most  int        // that stay open
	opens func(path string) (*partition.File, error)
	// closing are files to close after unlock: that may wait for a disk.
	closing []*partition.File
}

// volume is the file of a partition. The mutex of the shelf guards it.
type volume struct {
	disk  *disk
	path  string
	file  *partition.File // nil: it is not open
	place *list.Element   // in shelf.open
	users int             // that read it or open it now
	gone  bool            // it was removed: the last user closes it
}

func newShelf(most int, opens func(path string) (*partition.File, error)) *shelf {
	return &shelf{files: make(map[ids.JobID]map[PartitionID]*volume), open: list.New(), most: most, opens: opens}
}

// unlock unlocks the shelf, and closes the files that nobody needs. An error is of no interest: they were only read.
func (s *shelf) unlock() {
	files := s.closing
	s.closing = nil
	s.mu.Unlock()
	for _, f := range files {
		f.Close()
	}
}

func (s *shelf) add(job ids.JobID, id PartitionID, d *disk, path string) {
	s.mu.Lock()
	defer s.unlock()
	files := s.files[job]
	if files == nil {
		files = make(map[PartitionID]*volume)
		s.files[job] = files
	}
	if old := files[id]; old != nil {
		s.discard(old)
	}
	files[id] = &volume{disk: d, path: path}
}

// remove removes partitions.
func (s *shelf) remove(job ids.JobID, partitions []PartitionID) {
	s.mu.Lock()
	defer s.unlock()
	files := s.files[job]
	for _, id := range partitions {
		if v := files[id]; v != nil {
			s.discard(v)
			delete(files, id)
		}
	}
	if len(files) == 0 {
		delete(s.files, job)
	}
}

// clear removes everything.
func (s *shelf) clear() {
	s.mu.Lock()
	defer s.unlock()
	for _, files := range s.files {
		for _, v := range files {
			s.discard(v)
		}
	}
	clear(s.files)
}

// diskOf gives the disk of a partition.
func (s *shelf) diskOf(job ids.JobID, id PartitionID) (*disk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.find(job, id)
	if err != nil {
		return nil, err
	}
	return v.disk, nil
}

func (s *shelf) find(job ids.JobID, id PartitionID) (*volume, error) {
	v := s.files[job][id]
	if v == nil {
		return nil, fmt.Errorf("read partition %s of job %s: %w", id, job, errNotServed)
	}
	return v, nil
}

// borrow gives an open file, until giveBack. It opens the file without the lock, so that a slow disk does not delay others.
func (s *shelf) borrow(job ids.JobID, id PartitionID) (*volume, error) {
	s.mu.Lock()
	defer s.unlock()
	v, err := s.find(job, id)
	if err != nil {
		return nil, err
	}
	v.users++
	if v.file == nil {
		s.mu.Unlock()
		file, err := s.opens(v.path)
		s.mu.Lock()
		switch {
		case err != nil:
			s.leave(v)
			return nil, err
		case v.file != nil: // another was faster
			s.closing = append(s.closing, file)
		default:
			v.file, v.place = file, s.open.PushFront(v)
		}
	}
	s.open.MoveToFront(v.place)
	s.tidy()
	return v, nil
}

func (s *shelf) giveBack(v *volume) {
	s.mu.Lock()
	defer s.unlock()
	s.leave(v)
	s.tidy()
}

// leave counts one user less of a volume.
func (s *shelf) leave(v *volume) {
	v.users--
	if v.gone {
		s.discard(v)
	}
}

// discard closes the file of a volume that was removed, or lets its last user do that.
func (s *shelf) discard(v *volume) {
	v.gone = true
	if v.users == 0 {
		s.shut(v)
	}
}

// tidy closes files while too many are open, except those that are in use.
func (s *shelf) tidy() {
	for at := s.open.Back(); at != nil && s.open.Len() > s.most; {
		v := at.Value.(*volume)
		at = at.Prev()
		if v.users == 0 {
			s.shut(v)
		}
	}
}

// shut closes the file of a volume if it is open.
func (s *shelf) shut(v *volume) {
	if v.file == nil {
		return
	}
	s.closing = append(s.closing, v.file)
	s.open.Remove(v.place)
	v.file, v.place = nil, nil
}
