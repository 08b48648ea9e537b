package hdfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// TestFilesOfManyBlocks would catch bytes that are read from the wrong place at the border of blocks, and names that
// are taken for patterns or URLs.
func TestFilesOfManyBlocks(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	f := rpctest.FS(t, dfs.Options{Conf: smallBlocks(t, c), User: rpctest.Me(t)})
	dir := rpctest.Scratch(t, f)
	content := rpctest.Noise(5*blockSize + 12345)
	uri := dir + "/a b%20c#d/file" // no character of a name is special
	create(t, f, uri, content)

	info, err := f.Stat(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	if info.URI != uri || info.Size != int64(len(content)) || info.IsDir || time.Since(info.ModTime).Abs() > time.Hour {
		t.Errorf("stat is %+v", info)
	}
	entries, err := f.List(t.Context(), dir)
	if err != nil || len(entries) != 1 || entries[0].URI != strings.TrimSuffix(uri, "/file") || !entries[0].IsDir {
		t.Errorf("entries are %+v, %v", entries, err)
	}

	blocks := rpctest.Scan(t, f, uri)[0].Blocks
	var end int64
	for _, b := range blocks {
		if b.Offset != end || len(b.Hosts) != 1 || b.Hosts[0] == "" {
			t.Errorf("block is %+v, want one at %d with its host", b, end)
		}
		end += b.Length
	}
	if len(blocks) != 6 || end != int64(len(content)) {
		t.Errorf("%d blocks end at %d", len(blocks), end)
	}

	file, err := f.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// From the beginning, across each border of blocks, at the end, beyond it.
	for _, from := range []int64{0, blockSize - 3, 3*blockSize - 1, blockSize, 17, int64(len(content)) - 5, int64(len(content)), int64(len(content)) + 99} {
		if _, err := file.Seek(from, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		want := content[min(from, int64(len(content))):]
		if from != 0 {
			want = want[:min(len(want), 20_000)]
		}
		got := make([]byte, len(want))
		if n, err := io.ReadFull(file, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes from %d: %d read, %v, equal %v", len(want), from, n, err, bytes.Equal(got, want))
		}
	}
	if _, err := file.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read at the end: %v", err)
	}
	if at, err := file.Seek(-5, io.SeekEnd); err != nil || at != int64(len(content))-5 {
		t.Errorf("seek from the end: %d, %v", at, err)
	}
	if rest, err := io.ReadAll(file); err != nil || !bytes.Equal(rest, content[len(content)-5:]) {
		t.Errorf("the last bytes are %d, %v", len(rest), err)
	}
}

// TestAnEmptyFileHasNoBlocks would catch a file without blocks that counts as missing, or for which the client waits.
func TestAnEmptyFileHasNoBlocks(t *testing.T) {
	t.Parallel()
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t)})
	uri := rpctest.Scratch(t, f) + "/empty"
	create(t, f, uri, nil)
	if found := rpctest.Scan(t, f, uri); len(found) != 1 || len(found[0].Blocks) != 0 {
		t.Errorf("it is scanned as %+v", found)
	}
	if content, err := f.ReadFile(t.Context(), uri, 10); err != nil || len(content) != 0 {
		t.Errorf("content is %q, %v", content, err)
	}
}

// TestErrorsCanBeTested would catch exceptions of the NameNode that callers cannot distinguish.
func TestErrorsCanBeTested(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	ctx := t.Context()
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: rpctest.Me(t)})
	stranger := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: clusters.Alice})
	dir := rpctest.Scratch(t, f)
	create(t, f, dir+"/file", []byte("x"))
	create(t, f, dir+"/sub/file", []byte("x"))
	if err := f.MkdirAllMode(ctx, dir+"/mine", 0o700); err != nil {
		t.Fatal(err)
	}
	creates := func(f *dfs.FS, uri string) error {
		_, err := f.Create(ctx, uri, filesystem.ExistingParents)
		return err
	}
	opens := func(uri string) error {
		_, err := f.Open(ctx, uri)
		return err
	}
	_, stat := f.Stat(ctx, dir+"/none")
	_, list := f.List(ctx, dir+"/none")
	scan := f.Scan(ctx, dir+"/none", func([]filesystem.Entry) error { return nil })
	_, forbidden := stranger.List(ctx, dir+"/mine")
	tests := map[string]struct{ err, want error }{
		"stat of nothing":                  {stat, fs.ErrNotExist},
		"list of nothing":                  {list, fs.ErrNotExist},
		"scan of nothing":                  {scan, fs.ErrNotExist},
		"open of nothing":                  {opens(dir + "/none"), fs.ErrNotExist},
		"create of what exists":            {creates(f, dir+"/file"), fs.ErrExist},
		"create in a missing directory":    {creates(f, dir+"/none/x"), fs.ErrNotExist},
		"create in another's directory":    {creates(stranger, dir+"/mine/x"), fs.ErrPermission},
		"list of another's directory":      {forbidden, fs.ErrPermission},
		"rename of nothing":                {f.Rename(ctx, dir+"/none", dir+"/x"), fs.ErrNotExist},
		"rename to a file that exists":     {f.Rename(ctx, dir+"/sub/file", dir+"/file"), fs.ErrExist},
		"rename into a missing directory":  {f.Rename(ctx, dir+"/file", dir+"/none/x"), fs.ErrNotExist},
		"removal of nothing":               {f.RemoveAll(ctx, dir+"/none"), nil},
		"making a directory that is there": {f.MkdirAll(ctx, dir), nil},
		"making one that is there":         {f.Mkdir(ctx, dir+"/mine"), fs.ErrExist},
		"making one where a file is":       {f.Mkdir(ctx, dir+"/file"), fs.ErrExist},
		"making one without its parent":    {f.Mkdir(ctx, dir+"/none/x"), fs.ErrNotExist},
		"making one":                       {f.Mkdir(ctx, dir+"/one"), nil},
		"a rename":                         {f.Rename(ctx, dir+"/sub/file", dir+"/sub/moved"), nil},
		"removal of a tree":                {f.RemoveAll(ctx, dir+"/sub"), nil},
	}
	for name, test := range tests {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: error is %v, want %v", name, test.err, test.want)
		}
		if test.err != nil && !strings.Contains(test.err.Error(), dir) {
			t.Errorf("%s: error does not say where: %v", name, test.err)
		}
	}
	if err := opens(dir); err == nil {
		t.Error("a directory was opened as a file")
	}
	if _, err := f.List(ctx, dir+"/file"); err == nil {
		t.Error("a file was listed as a directory")
	}
}

// TestModesOwnersAndReplication would catch a secret file that other users can read.
func TestModesOwnersAndReplication(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: clusters.Alice})
	home, err := f.Home()
	if err != nil {
		t.Fatal(err)
	}
	dir := fmt.Sprintf("%s/%d", home, time.Now().UnixNano())
	ctx := t.Context()
	if err := f.MkdirAllMode(ctx, dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteFile(ctx, dir+"/secret", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, f, dir+"/open", []byte("x"))
	w, err := f.CreateMode(ctx, dir+"/twice", dfs.CreateOptions{Mode: 0o640, Replication: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	web := rpctest.HDFS(t, c)
	_, at, _ := strings.Cut(strings.TrimPrefix(dir, "hdfs://"), "/")
	got, err := web.List(ctx, "/"+at)
	if err != nil {
		t.Fatal(err)
	}
	brief := map[string]string{}
	for _, s := range got {
		brief[s.Name] = fmt.Sprintf("%s %s x%d", s.Owner, s.Permission, s.Replication)
	}
	want := map[string]string{"open": "alice 644 x1", "secret": "alice 600 x1", "twice": "alice 640 x2"}
	if diff := cmp.Diff(want, brief); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestManyGoroutinesShareOneClient would catch state of one file that is used for another one.
func TestManyGoroutinesShareOneClient(t *testing.T) {
	t.Parallel()
	f := rpctest.FS(t, dfs.Options{Conf: smallBlocks(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t)})
	dir := rpctest.Scratch(t, f)
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			content := rpctest.Noise(blockSize + i)
			uri := fmt.Sprintf("%s/%d/file", dir, i)
			w, err := f.Create(t.Context(), uri, filesystem.MakeParents)
			if err != nil {
				return err
			}
			if _, err := w.Write(content); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
			got, err := f.ReadFile(t.Context(), uri, 2*blockSize)
			if err == nil && !bytes.Equal(got, content) {
				err = fmt.Errorf("%s reads differently", uri)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}
