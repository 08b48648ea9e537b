package exchange

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

// TestTheLastReaderOfARemovedFileClosesIt would catch a file that stays open because its last reader failed to open it again.
func TestTheLastReaderOfARemovedFileClosesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	w, err := partition.Create(partition.Config{Path: path, Subpartitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	s := newShelf(10, partition.Open)
	s.add("j", PartitionID{}, new(disk), path)
	v, err := s.borrow("j", PartitionID{})
	if err != nil {
		t.Fatal(err)
	}
	v.users++ // another opens the file now, in borrow
	s.remove("j", []PartitionID{{}})
	s.giveBack(v)
	if s.open.Len() != 1 {
		t.Fatalf("%d files are open", s.open.Len())
	}
	s.mu.Lock() // the other could not open it
	s.leave(v)
	s.unlock()
	if s.open.Len() != 0 || v.file != nil {
		t.Errorf("%d files are open, and nobody reads them", s.open.Len())
	}
	s.add("j", PartitionID{Output: 1}, new(disk), filepath.Join(t.TempDir(), "gone"))
	if _, err := s.borrow("j", PartitionID{Output: 1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("borrow a file that is not there: %v", err)
	}
	if v := s.files["j"][PartitionID{Output: 1}]; v.users != 0 {
		t.Errorf("it has %d users", v.users)
	}
}
