package hdfs

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// TestManySmallFiles would catch a NameNode that takes a call for another than we mean, parts of a listing that do not meet,
// rights that are not told as of whom, and a DataNode that does not take a second operation on a connection.
func TestManySmallFiles(t *testing.T) {
	t.Parallel()
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t)})
	dir := rpctest.Scratch(t, f) + "/many"
	if err := f.MkdirAll(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	const files = 1200 // more than a part of a listing has
	for i := range files {
		if err := f.WriteFile(t.Context(), fmt.Sprintf("%s/part-%05d", dir, i), fmt.Appendf(nil, "file %d", i), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	entries := rpctest.Scan(t, f, dir)
	if len(entries) != files {
		t.Fatalf("%d entries", len(entries))
	}
	for i, e := range entries {
		want := fmt.Sprintf("file %d", i)
		if e.Size != int64(len(want)) || len(e.Blocks) != 1 || len(e.Blocks[0].Hosts) == 0 || e.Rights == "" || e.Rights != entries[0].Rights || e.Refused != nil {
			t.Fatalf("entry %d is %+v", i, e)
		}
		if i%10 != 0 {
			continue
		}
		got, info, err := f.Load(t.Context(), e.URI, e.Size)
		if err != nil || string(got) != want || info.Size != e.Size || !info.ModTime.Equal(e.ModTime) {
			t.Fatalf("file %d is %q, %+v, %v", i, got, info, err)
		}
	}
	if _, _, err := f.Load(t.Context(), entries[0].URI, 3); !errors.Is(err, filesystem.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if err := f.Remove(t.Context(), dir); !errors.Is(err, filesystem.ErrNotEmpty) {
		t.Errorf("a directory with files in it was to be removed: %v", err)
	}
}

// TestSafeModeIsWaitedFor would catch a NameNode that says otherwise than our own one of tests that it is in safe mode.
func TestSafeModeIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := clusters.Change(t, clusters.Victim, "puts the NameNode into safe mode")
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: rpctest.Me(t), Patience: time.Hour})
	dir := rpctest.Scratch(t, f)
	safeMode := func(word string) {
		if _, err := c.CLI(t.Context(), cluster.DFSAdmin, "-safemode", word); err != nil {
			t.Error(err)
		}
	}
	safeMode("enter")
	written := make(chan error, 1)
	go func() { written <- f.WriteFile(t.Context(), dir+"/file", []byte("x"), 0o600) }()
	if _, err := f.List(t.Context(), dir); err != nil {
		t.Errorf("reading in safe mode: %v", err)
	}
	safeMode("leave")
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// TestAQuotaIsTold would catch a quota that is taken for what may pass.
func TestAQuotaIsTold(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: rpctest.Me(t)})
	for quota, flag := range map[string]string{"names": "-setQuota", "space": "-setSpaceQuota"} {
		dir := rpctest.Scratch(t, f)
		if _, err := c.CLI(t.Context(), cluster.DFSAdmin, flag, "1", dir); err != nil {
			t.Fatal(err)
		}
		if err := f.WriteFile(t.Context(), dir+"/file", []byte("x"), 0o600); !errors.Is(err, filesystem.ErrQuota) {
			t.Errorf("a quota of %s: %v", quota, err)
		}
	}
}
