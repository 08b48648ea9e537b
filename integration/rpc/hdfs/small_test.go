package hdfs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// TestManySmallFiles would catch a NameNode that interprets a call differently, parts of a listing with gaps or
// overlaps, rights of the wrong file, and a DataNode that does not accept a second operation on a connection.
func TestManySmallFiles(t *testing.T) {
	t.Parallel()
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t)})
	dir := rpctest.Scratch(t, f) + "/many"
	if err := f.MkdirAll(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	const files = 1200 // more than a part of a listing holds
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

// TestAQuotaIsTold would catch an exceeded quota that counts as a temporary error.
func TestAQuotaIsTold(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	conf := rpctest.Conf(t, c)
	f := rpctest.FS(t, dfs.Options{Conf: conf, User: rpctest.Me(t)})
	for quota, set := range map[string]struct{ names, bytes int64 }{"names": {names: 1}, "bytes": {bytes: 1}} {
		dir := rpctest.Scratch(t, f)
		if err := rpctest.HDFS(t, c).SetQuota(t.Context(), strings.TrimPrefix(dir, conf.Get("fs.defaultFS")), set.names, set.bytes); err != nil {
			t.Fatal(err)
		}
		if err := f.WriteFile(t.Context(), dir+"/file", []byte("x"), 0o600); !errors.Is(err, filesystem.ErrQuota) {
			t.Errorf("a quota of %s: %v", quota, err)
		}
	}
}
