package memfs_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
)

// The tests of the commit protocol trust these rules; they are HDFS's.
func TestCallsKeepToTheContract(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := memfs.New(map[string]string{"/a/x": "1", "/b/y": "2"})
	for name, check := range map[string]struct {
		err  error
		want error
	}{
		"rename onto a file":           {f.Rename(ctx, "/a/x", "/b/y"), fs.ErrExist},
		"rename of nothing":            {f.Rename(ctx, "/a/none", "/b/z"), fs.ErrNotExist},
		"rename to a missing parent":   {f.Rename(ctx, "/a/x", "/none/x"), fs.ErrNotExist},
		"rename below itself":          {f.Rename(ctx, "/a", "/a/b"), fs.ErrNotExist},
		"create of what exists":        {create(ctx, f, "/a/x", filesystem.MakeParents), fs.ErrExist},
		"create without its parent":    {create(ctx, f, "/none/x", filesystem.ExistingParents), fs.ErrNotExist},
		"create and its parents":       {create(ctx, f, "/new/dir/x", filesystem.MakeParents), nil},
		"rename of a directory":        {f.Rename(ctx, "mem:///new/dir", "/a/dir"), nil},
		"removal of nothing":           {f.RemoveAll(ctx, "/none"), nil},
		"making a directory that is":   {f.MkdirAll(ctx, "/a/dir"), nil},
		"making one directory":         {f.Mkdir(ctx, "/a/one"), nil},
		"making one that is there":     {f.Mkdir(ctx, "/a/dir"), fs.ErrExist},
		"making one where a file is":   {f.Mkdir(ctx, "/b/y"), fs.ErrExist},
		"making one without parent":    {f.Mkdir(ctx, "/none/x"), fs.ErrNotExist},
		"a URI of another file system": {f.MkdirAll(ctx, "hdfs://nn/a"), errors.ErrUnsupported},
	} {
		if !errors.Is(check.err, check.want) {
			t.Errorf("%s: error %v, want %v", name, check.err, check.want)
		}
	}
	want := map[string]string{"/a/x": "1", "/b/y": "2", "/a/dir/x": "", "/a/one/": "", "/new/": ""}
	if diff := cmp.Diff(want, f.Files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func create(ctx context.Context, f *memfs.FS, uri string, parents filesystem.Parents) error {
	_, err := f.Create(ctx, uri, parents)
	return err
}

func TestAWriterFailsOnceItsFileIsRemoved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := memfs.New(nil)
	w, err := f.Create(ctx, "/d/part", filesystem.MakeParents)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "text"); err != nil {
		t.Fatal(err)
	}
	if err := f.RemoveAll(ctx, "/d"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "more"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Write: %v, want fs.ErrNotExist", err)
	}
	if err := w.Close(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Close: %v, want fs.ErrNotExist", err)
	}
}

func TestAScanTellsTheBlocksOfEachFile(t *testing.T) {
	t.Parallel()
	f := memfs.New(map[string]string{"/d/f": "0123456789", "/d/empty": "", "/d/sub/g": "x"})
	f.BlockSize, f.ScanPart = 4, 2
	f.Hosts = func(_ string, block int) []string { return []string{"a", "b", "c"}[block : block+1] }
	var got []filesystem.Entry
	parts := 0
	err := f.Scan(t.Context(), "/d", func(part []filesystem.Entry) error {
		got = append(got, part...)
		parts++
		return nil
	})
	if err != nil || len(got) != 3 || parts != 2 || len(got[0].Blocks) != 0 || !got[2].IsDir {
		t.Fatalf("%d parts, %+v, %v", parts, got, err)
	}
	want := []filesystem.Block{
		{Offset: 0, Length: 4, Hosts: []string{"a"}},
		{Offset: 4, Length: 4, Hosts: []string{"b"}},
		{Offset: 8, Length: 2, Hosts: []string{"c"}},
	}
	if diff := cmp.Diff(want, got[1].Blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

// Remove must not remove a directory into which another program has put a file.
func TestADirectoryThatIsNotEmptyStays(t *testing.T) {
	t.Parallel()
	f := memfs.New(map[string]string{"/d/f": "x"})
	if err := f.Remove(t.Context(), "/d"); !errors.Is(err, filesystem.ErrNotEmpty) {
		t.Errorf("error %v", err)
	}
	for _, uri := range []string{"/d/f", "/d", "/d"} {
		if err := f.Remove(t.Context(), uri); err != nil {
			t.Error(err)
		}
	}
	if left := f.Files(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
