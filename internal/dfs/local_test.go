package dfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLocal(t *testing.T) (*FS, string) {
	t.Helper()
	f := New(Options{})
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, t.TempDir()
}

func write(t *testing.T, f *FS, uri, content string) {
	t.Helper()
	w, err := f.Create(t.Context(), uri, filesystem.MakeParents)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLocalFilesAreWrittenListedAndRead(t *testing.T) {
	t.Parallel()
	f, dir := newLocal(t)
	write(t, f, dir+"/in/b", "two")
	write(t, f, "file://"+dir+"/in/a", "three")
	write(t, f, dir+"/in/sub/c", "x")
	if err := os.Symlink(dir+"/nowhere", dir+"/in/broken"); err != nil {
		t.Fatal(err)
	}
	entries, err := f.List(t.Context(), dir+"/in")
	if err != nil {
		t.Fatal(err)
	}
	type brief struct {
		URI   string
		Size  int64
		IsDir bool
	}
	var got []brief
	for _, e := range entries {
		if age := time.Since(e.ModTime); age < 0 || age > time.Hour || e.ModTime.Nanosecond()%1e6 != 0 {
			t.Errorf("%s was modified at %s", e.URI, e.ModTime)
		}
		got = append(got, brief{e.URI, e.Size, e.IsDir})
	}
	base := "file://" + dir + "/in/"
	if diff := cmp.Diff([]brief{{base + "a", 5, false}, {base + "b", 3, false}, {base + "sub", 0, true}}, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	content, err := f.ReadFile(t.Context(), dir+"/in/a", 5)
	if err != nil || string(content) != "three" {
		t.Errorf("content is %q, %v", content, err)
	}
	if _, err := f.ReadFile(t.Context(), dir+"/in/a", 4); err == nil || !strings.Contains(err.Error(), "more than 4 bytes") {
		t.Errorf("reading over the limit: %v", err)
	}
	file := scanned(t, f, dir+"/in/a")
	if diff := cmp.Diff([]filesystem.Block{{Length: 5}}, file[0].Blocks); diff != "" || len(file) != 1 || file[0].URI != base+"a" {
		t.Errorf("a file is scanned as %+v, blocks (-want +got):\n%s", file, diff)
	}
	if all := scanned(t, f, dir+"/in"); len(all) != 3 || all[0].URI != base+"a" || !all[2].IsDir || all[2].Blocks != nil {
		t.Errorf("a directory is scanned as %+v", all)
	}
}

func TestLocalErrorsCanBeTestedAndNameThePlaceOnce(t *testing.T) {
	t.Parallel()
	f, dir := newLocal(t)
	ctx := t.Context()
	write(t, f, dir+"/file", "x")
	create := func(uri string) error {
		_, err := f.Create(ctx, uri, filesystem.ExistingParents)
		return err
	}
	open := func(uri string) error {
		_, err := f.Open(ctx, uri)
		return err
	}
	_, stat := f.Stat(ctx, dir+"/none")
	_, list := f.List(ctx, dir+"/none")
	tests := map[string]struct{ err, want error }{
		"stat of nothing":                    {stat, fs.ErrNotExist},
		"list of nothing":                    {list, fs.ErrNotExist},
		"open of nothing":                    {open(dir + "/none"), fs.ErrNotExist},
		"open of a directory":                {open(dir), errIsDirectory},
		"create of what exists":              {create(dir + "/file"), fs.ErrExist},
		"create in a missing directory":      {create(dir + "/none/x"), fs.ErrNotExist},
		"rename of nothing":                  {f.Rename(ctx, dir+"/none", dir+"/x"), fs.ErrNotExist},
		"rename to what exists":              {f.Rename(ctx, dir+"/file", dir), fs.ErrExist},
		"rename into a missing directory":    {f.Rename(ctx, dir+"/file", dir+"/none/x"), fs.ErrNotExist},
		"removal of nothing":                 {f.RemoveAll(ctx, dir+"/none"), nil},
		"making a directory that is there":   {f.MkdirAll(ctx, dir), nil},
		"making one that is there":           {f.Mkdir(ctx, dir), fs.ErrExist},
		"making one where a file is":         {f.Mkdir(ctx, dir+"/file"), fs.ErrExist},
		"making one without its parent":      {f.Mkdir(ctx, dir+"/none/x"), fs.ErrNotExist},
		"making one":                         {f.Mkdir(ctx, dir+"/new"), nil},
		"writing a small file a second time": {f.WriteFile(ctx, dir+"/file", nil, 0o600), fs.ErrExist},
	}
	for name, test := range tests {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: error is %v, want %v", name, test.err, test.want)
		}
		if test.err != nil && strings.Count(test.err.Error(), dir) > 2 {
			t.Errorf("%s: error repeats itself: %v", name, test.err)
		}
	}
	if err := f.RemoveAll(ctx, "/"); err == nil {
		t.Fatal("the root would be removed")
	}
}

func TestUploadReportsProgressAndLeavesNothingWhenItFails(t *testing.T) {
	t.Parallel()
	f, dir := newLocal(t)
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, make([]byte, 2*progressBytes+7), 0o600); err != nil {
		t.Fatal(err)
	}
	var progress []int64
	info, err := f.Upload(t.Context(), source, dir+"/cache/key/target", UploadOptions{
		CreateOptions: CreateOptions{Parents: filesystem.MakeParents, Mode: 0o700},
		Progress:      func(n int64) { progress = append(progress, n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if info.Size != 2*progressBytes+7 || info.URI != "file://"+dir+"/cache/key/target" {
		t.Errorf("uploaded file is %+v", info)
	}
	if diff := cmp.Diff([]int64{progressBytes, 2 * progressBytes, 2*progressBytes + 7}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	mode, err := os.Stat(dir + "/cache/key/target")
	if err != nil || mode.Mode().Perm() != 0o700 {
		t.Errorf("mode is %v, %v", mode.Mode(), err)
	}

	ctx, cancel := contextWithCause(t)
	_, err = f.Upload(ctx, source, dir+"/second", UploadOptions{Progress: func(int64) { cancel(errStopped) }})
	if !errors.Is(err, errStopped) {
		t.Errorf("error of a stopped upload is %v", err)
	}
	if _, err := os.Stat(dir + "/second"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a stopped upload leaves its file: %v", err)
	}
	if _, err := f.Upload(t.Context(), dir+"/none", dir+"/third", UploadOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error for a missing source is %v", err)
	}
}

func TestCallsAfterCloseAreErrors(t *testing.T) {
	t.Parallel()
	f, dir := newLocal(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stat(t.Context(), dir); !errors.Is(err, ErrClosed) {
		t.Errorf("error is %v", err)
	}
}

func TestAMalformedUmaskIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	f := New(Options{Conf: confOf(map[string]string{"fs.permissions.umask-mode": "rwx"})})
	_, err := f.Stat(t.Context(), "/x")
	if err == nil || !strings.Contains(err.Error(), `test: property fs.permissions.umask-mode is "rwx"`) {
		t.Errorf("error is %v", err)
	}
}

var errStopped = errors.New("stopped")

func contextWithCause(t *testing.T) (context.Context, context.CancelCauseFunc) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}
