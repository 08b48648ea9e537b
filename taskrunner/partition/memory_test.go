package partition

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
)

// TestMemoryDoesNotGrowWithSubpartitions would catch a writer that has a buffer or a page for each consumer of its partition. It has
// numbers for each: 36 bytes in Writer.runs and sorter.ends.
func TestMemoryDoesNotGrowWithSubpartitions(t *testing.T) { //nolint:paralleltest // measures the whole process
	const (
		memory, many   = 1 << 20, 10_000
		records, every = 50_000, 1000 // 5 MB, so that the memory for records becomes full several times
		each           = 40           // bytes for each subpartition, with what the runtime adds
		fixed          = 288 << 10    // see Config.Memory
	)
	dir := t.TempDir()
	once := func(subpartitions int) int64 {
		before, most := heaptest.InUse(), int64(0)
		w, err := Create(Config{Path: filepath.Join(dir, "p"), Subpartitions: subpartitions, Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		record := make([]byte, 100)
		for i := range records {
			if err := w.Append(i*7919%subpartitions, record); err != nil {
				t.Fatal(err)
			}
			if i%every == every-1 {
				most = max(most, heaptest.InUse())
			}
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		if kept := heaptest.InUse() - before; kept > 16<<10 {
			t.Errorf("%d subpartitions: %d bytes are in use when the file is written", subpartitions, kept)
		}
		runtime.KeepAlive(w) // as the task keeps it
		return most - before
	}
	used := func(subpartitions int) int64 { // what the runtime counts beside it only adds, and not each time
		return min(once(subpartitions), once(subpartitions), once(subpartitions))
	}
	one, two, all := used(1), used(2), used(many)
	t.Logf("%d KiB in use for 1 subpartition, %d KiB for 2, %d KiB for %d", one>>10, two>>10, all>>10, many)
	if one > fixed {
		t.Errorf("%d bytes are in use for 1 subpartition, want at most %d", one, fixed)
	}
	if two > memory+fixed {
		t.Errorf("%d bytes are in use for 2 subpartitions, want at most %d", two, memory+fixed)
	}
	if all > two+each*many {
		t.Errorf("%d bytes are in use for %d subpartitions, and %d for 2", all, many, two)
	}
}
