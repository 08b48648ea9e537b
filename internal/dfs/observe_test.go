package dfs

import (
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// TestTransfersAreObserved would catch a read that counts for each packet and not for each block, a DataNode that refuses and is not
// counted, a write that counts as a read, DataNodes that refuse a block and count as ready for it, a
// file whose writing fails unseen, and a block that counts as two because it fails later.
func TestTransfersAreObserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const blockSize = 500 << 10
		fake := hdfsfake.Start(hdfsfake.Config{BlockSize: blockSize, DataNodes: 2})
		defer fake.Stop()
		var mu sync.Mutex // guards seen
		seen := make(map[string]int)
		f := New(Options{Conf: fake.Conf(), User: "alice", Dial: fake.Dial, Patience: testPatience, ObserveData: func(transfer hdfs.Transfer) {
			mu.Lock()
			defer mu.Unlock()
			switch key := map[bool]string{true: "write", false: "read"}[transfer.Write]; {
			case transfer.Later:
				seen[key+" failed later"]++
			case transfer.Err != nil:
				seen[key+" failed"]++
			case transfer.Took < 0 || transfer.Took > time.Minute:
				t.Errorf("a %s has taken %v", key, transfer.Took)
			default:
				seen[key]++
			}
		}})
		defer f.Close()
		check := func(what string, want map[string]int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !maps.Equal(seen, want) {
				t.Errorf("%s: seen are %v, want %v", what, seen, want)
			}
			clear(seen)
		}
		write := func(name string) error {
			w, err := f.Create(t.Context(), name, filesystem.ExistingParents)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Write(pattern(2*blockSize + 1))
			if closed := w.Close(); err == nil {
				err = closed
			}
			return err
		}
		if err := write("/file"); err != nil {
			t.Fatal(err)
		}
		check("three blocks are written", map[string]int{"write": 3})
		fake.RefuseRead()
		if content, err := f.ReadFile(t.Context(), "/file", 4*blockSize); err != nil || len(content) != 2*blockSize+1 {
			t.Fatalf("%d bytes, %v", len(content), err)
		}
		check("three blocks are read", map[string]int{"read": 3, "read failed": 1})
		fake.CutWrite(100 << 10)
		if err := write("/other"); err == nil {
			t.Error("the write succeeds")
		}
		check("a pipeline breaks", map[string]int{"write": 1, "write failed later": 1})
		fake.RefuseWrite(-1)
		if err := write("/refused"); err == nil {
			t.Error("the write succeeds")
		}
		check("a pipeline is refused", map[string]int{"write failed": 1, "write failed later": 1})
		fake.CutRead(100 << 10)
		if content, err := f.ReadFile(t.Context(), "/file", 4*blockSize); err != nil || len(content) != 2*blockSize+1 {
			t.Fatalf("%d bytes, %v", len(content), err)
		}
		check("a read breaks", map[string]int{"read": 4, "read failed later": 1})
	})
}
