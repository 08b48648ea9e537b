package dfsmodel_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// remote reports whether err is an exception with this class, and none of the errors that callers test.
func remote(err error, class string) bool {
	e, is := errors.AsType[*yarnrpc.RemoteError](err)
	return is && strings.HasSuffix(e.Class, "."+class) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission)
}

func create(t testing.TB, f *dfsmodel.FileSystem, uri string) io.WriteCloser {
	t.Helper()
	w, err := f.Create(t.Context(), uri, filesystem.MakeParents)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func write(t testing.TB, f *dfsmodel.FileSystem, uri, content string) {
	t.Helper()
	w := create(t, f, uri)
	_, err := io.WriteString(w, content)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
}

func want(t testing.TB, w *world, dir string, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, lines...), w.tree(dir)); diff != "" {
		t.Errorf("what is in %s (-want +got):\n%s", dir, diff)
	}
}

// The list is that of TestErrorsCanBeTested in integration/rpc/hdfs, which asks a real NameNode, with the errors that
// only HDFS has. The test would catch code that is tested in the simulation with errors that it never sees on HDFS.
func TestErrorsAreThoseOfHDFS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, ctx := w.process("one"), t.Context()
	write(t, f, "/dir/file", "x")
	write(t, f, "/dir/sub/file", "x")
	creates := func(uri string, parents filesystem.Parents) error {
		_, err := f.Create(ctx, uri, parents)
		return err
	}
	_, stat := f.Stat(ctx, "/dir/none")
	_, list := f.List(ctx, "/dir/none")
	_, below := f.Stat(ctx, "/dir/file/x")
	_, _, large := f.Load(ctx, "/dir/file", 0)
	for name, test := range map[string]struct{ err, want error }{
		"stat of nothing":                     {stat, fs.ErrNotExist},
		"list of nothing":                     {list, fs.ErrNotExist},
		"scan of nothing":                     {f.Scan(ctx, "/dir/none", nil), fs.ErrNotExist},
		"reading a directory":                 {f.CheckReadable(ctx, "/dir"), fs.ErrNotExist},
		"a file that is too large":            {large, filesystem.ErrTooLarge},
		"stat below a file":                   {below, fs.ErrPermission},
		"a directory below a file":            {f.MkdirAll(ctx, "/dir/file/x/y"), fs.ErrPermission},
		"a directory where a file is":         {f.MkdirAll(ctx, "/dir/file"), fs.ErrExist},
		"one directory that is there":         {f.Mkdir(ctx, "/dir/sub"), fs.ErrExist},
		"one directory where a file is":       {f.Mkdir(ctx, "/dir/file"), fs.ErrExist},
		"one directory without its parent":    {f.Mkdir(ctx, "/dir/none/x"), fs.ErrNotExist},
		"one directory below a file":          {f.Mkdir(ctx, "/dir/file/x"), fs.ErrPermission},
		"create of what exists":               {creates("/dir/file", filesystem.ExistingParents), fs.ErrExist},
		"create of a directory":               {creates("/dir/sub", filesystem.ExistingParents), fs.ErrExist},
		"create in a missing directory":       {creates("/dir/none/x", filesystem.ExistingParents), fs.ErrNotExist},
		"rename of nothing":                   {f.Rename(ctx, "/dir/none", "/dir/x"), fs.ErrNotExist},
		"rename of nothing to what exists":    {f.Rename(ctx, "/dir/none", "/dir/file"), fs.ErrNotExist},
		"rename to a file that exists":        {f.Rename(ctx, "/dir/sub/file", "/dir/file"), fs.ErrExist},
		"rename to itself":                    {f.Rename(ctx, "/dir/sub", "/dir/sub"), fs.ErrExist},
		"rename into a missing directory":     {f.Rename(ctx, "/dir/file", "/dir/none/x"), fs.ErrNotExist},
		"removal of a directory with entries": {f.Remove(ctx, "/dir"), filesystem.ErrNotEmpty},
		"removal of nothing":                  {errors.Join(f.RemoveAll(ctx, "/dir/none"), f.Remove(ctx, "/dir/none")), nil},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: error is %v, want %v", name, test.err, test.want)
		}
		if test.err != nil && !strings.Contains(test.err.Error(), "hdfs://sim/dir") {
			t.Errorf("%s: error does not say where: %v", name, test.err)
		}
	}
	for name, test := range map[string]struct {
		err   error
		class string
	}{
		"rename of a file to a directory": {f.Rename(ctx, "/dir/file", "/dir/sub"), "IOException"},
		"rename of a directory to a file": {f.Rename(ctx, "/dir/sub", "/dir/file"), "IOException"},
		"rename into itself":              {f.Rename(ctx, "/dir/sub", "/dir/sub/x/y"), "IOException"},
		"create below a file":             {creates("/dir/file/x", filesystem.ExistingParents), "ParentNotDirectoryException"},
		"rename to below a file":          {f.Rename(ctx, "/dir/sub", "/dir/file/x"), "ParentNotDirectoryException"},
	} {
		if !remote(test.err, test.class) {
			t.Errorf("%s: error is %v, want %s", name, test.err, test.class)
		}
	}
	want(t, w, "/dir", "/dir/file 1", "/dir/sub/", "/dir/sub/file 1")
}

// The test would catch content that is mixed from two files, and a reader that gets the content of a removed file.
func TestAReaderNoticesAnotherFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, ctx := w.process("one"), t.Context()
	for name, test := range map[string]struct {
		change func() error
		want   func(content []byte, err error) bool
	}{
		"removed":  {func() error { return nil }, func(_ []byte, err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		"replaced": {func() error { return f.WriteFile(ctx, "/f", []byte("another"), 0o600) }, func(_ []byte, err error) bool { return err != nil }},
		"written": {func() error {
			_, err := f.Create(ctx, "/f", filesystem.ExistingParents)
			return err
		}, func(_ []byte, err error) bool { return err != nil }},
		"replaced by one of the same length": {
			func() error { return f.WriteFile(ctx, "/f", []byte("ABC"), 0o600) },
			func(content []byte, err error) bool { return err == nil && string(content) == "ABC" },
		},
	} {
		write(t, f, "/f", "abc")
		file, err := f.Open(ctx, "/f")
		if err == nil {
			err = errors.Join(f.RemoveAll(ctx, "/f"), test.change())
		}
		if err != nil {
			t.Fatal(err)
		}
		if content, err := io.ReadAll(file); !test.want(content, err) {
			t.Errorf("%s: it reads %q, %v", name, content, err)
		}
		if err := f.RemoveAll(ctx, "/f"); err != nil {
			t.Fatal(err)
		}
	}
}

// The test would catch modes, owners and times that are not those of HDFS: staging refuses files by their modes, and
// YARN files whose times have changed.
func TestStatusIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, ctx := w.process("one"), t.Context()
	if err := f.MkdirAllMode(ctx, "/a/b", 0o500); err != nil {
		t.Fatal(err)
	}
	file, err := f.CreateMode(ctx, "/a/b/f", dfs.CreateOptions{Mode: 0o400})
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	closed := w.now
	if err := f.MkdirAll(ctx, "/from/x"); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	if err := errors.Join(f.Rename(ctx, "/from/x", "/a/x"), f.Rename(ctx, "/a/b", "/a/c")); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]dfs.Status{
		"/a":     {FileInfo: filesystem.FileInfo{URI: "hdfs://sim/a", IsDir: true, ModTime: w.now}, Owner: "alice", Own: true, Mode: 0o700},
		"/a/c":   {FileInfo: filesystem.FileInfo{URI: "hdfs://sim/a/c", IsDir: true, ModTime: start.Add(2 * time.Millisecond)}, Owner: "alice", Own: true, Mode: 0o500},
		"/a/c/f": {FileInfo: filesystem.FileInfo{URI: "hdfs://sim/a/c/f", ModTime: closed}, Owner: "alice", Own: true, Mode: 0o400},
		"/from":  {FileInfo: filesystem.FileInfo{URI: "hdfs://sim/from", IsDir: true, ModTime: w.now.Add(-time.Millisecond)}, Owner: "alice", Own: true, Mode: 0o755},
		"/":      {FileInfo: filesystem.FileInfo{URI: "hdfs://sim/", IsDir: true, ModTime: closed.Add(time.Millisecond)}, Owner: "hdfs", Mode: 0o755},
	} {
		if got, err := f.Status(ctx, at); err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", at, got, err, want)
		}
	}
}

// The test would catch a listing that skips or repeats entries at the end of a part, and one that is taken at one
// time although it has parts.
func TestListingsHaveParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.space.ListLimit = 2
	f, ctx := w.process("one"), t.Context()
	for _, name := range []string{"a", "b", "c", "e", "f"} {
		write(t, f, "/d/"+name, "")
	}
	w.fate = func(op dfsmodel.Operation) fate {
		if parts := len(w.calls); op.Kind == dfsmodel.GetListing && strings.HasSuffix(w.calls[parts-2], " /d") { // before the second part
			_, err := w.space.Delete(w.now, "/d/a", false)
			if err = errors.Join(err, w.space.Rename(w.now, "/d/f", "/d/d")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
		return answered
	}
	infos, err := f.List(ctx, "/d")
	if diff := cmp.Diff([]string{"a 0 false", "b 0 false", "c 0 false", "d 0 false", "e 0 false"}, plain(infos)); err != nil || diff != "" {
		t.Errorf("%v, entries (-want +got):\n%s", err, diff)
	}
}

// The test would catch an operation with other calls than those of the client: the simulation could not stop a process
// between two of them.
func TestEachMethodMakesTheCallsOfTheClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, ctx := w.process("one"), t.Context()
	file, err := f.Create(ctx, "/d/file", filesystem.MakeParents)
	if err == nil {
		_, err = file.Write([]byte("x"))
	}
	if err == nil {
		err = errors.Join(file.Close(), f.WriteFile(ctx, "/d/empty", nil, 0o600), f.Rename(ctx, "/d/file", "/d/moved"))
	}
	if err == nil {
		_, err = f.ReadFile(ctx, "/d/moved", 10)
	}
	read, opening := f.Open(ctx, "/d/moved")
	if err = errors.Join(err, opening); err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(read)
	_, listing := f.List(ctx, "/d")
	if err = errors.Join(err, listing, f.CheckReadable(ctx, "/d/moved"), f.Mkdir(ctx, "/d/one"), f.Remove(ctx, "/d/moved"), f.RemoveAll(ctx, "/d")); err != nil {
		t.Fatal(err)
	}
	calls := []string{
		"mkdirs /d", "create /d/file", "addBlock /d/file", "writeBlock /d/file", "complete /d/file",
		"create /d/empty", "complete /d/empty", "getFileInfo /d/empty",
		"rename2 /d/file /d/moved", "load /d/moved", "getFileInfo /d/moved", "readBlock /d/moved",
		"getListing /d", "getBlockLocations /d/moved", "getFileInfo /d/one", "mkdirs /d/one", "delete /d/moved", "delete -r /d",
	}
	for i := range calls {
		calls[i] = "one " + calls[i]
	}
	if diff := cmp.Diff(calls, w.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// The test would catch a lost answer that looks like an answer, and an error that says that a call was not executed
// although it was.
func TestCallsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fate  fate
		moved bool
	}{"not executed": {lost, false}, "executed": {unheard, true}} {
		w := newWorld(t)
		f, ctx := w.process("one"), t.Context()
		write(t, f, "/file", "x")
		w.nth(0, test.fate)
		err := f.Rename(ctx, "/file", "/moved")
		if _, is := errors.AsType[*yarnrpc.CallError](err); !is || yarnrpc.MaybeSent(err) != test.moved || yarnrpc.Classify(err) != yarnrpc.FailOver && yarnrpc.Classify(err) != yarnrpc.RetrySame {
			t.Errorf("%s: %v, which is to be handled by: %v", name, err, yarnrpc.Classify(err))
		}
		if _, err := f.Stat(ctx, "/moved"); (err == nil) != test.moved {
			t.Errorf("%s: the target: %v", name, err)
		}
	}

	w := newWorld(t)
	f := w.process("one")
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller has left")
	cancel(gone)
	if err := f.RemoveAll(ctx, "/x"); !errors.Is(err, gone) || yarnrpc.MaybeSent(err) {
		t.Errorf("removal without a caller: %v", err)
	}
	if err := f.Rename(ctx, "/x", "/y"); !errors.Is(err, gone) || !yarnrpc.MaybeSent(err) {
		t.Errorf("rename without a caller: %v", err)
	}
}

// The test would catch a file that stays open forever because its creator had left before the NameNode executed the
// create.
func TestACreateAfterItsCallerHasLeftIsUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.process("one")
	w.nth(0, late)
	if _, err := f.Create(t.Context(), "/file", filesystem.ExistingParents); !yarnrpc.MaybeSent(err) {
		t.Errorf("create: %v", err)
	}
	if err := w.later[0](w.now); err != nil {
		t.Error(err)
	}
	want(t, w, "/", "/user/", "/user/alice/")
}

// twice is a Caller that runs each effect a number of times.
type twice struct{ times int }

func (c twice) Call(_ context.Context, _ dfsmodel.Operation, effect func(now time.Time) error) (err error) {
	for range c.times {
		err = effect(start)
	}
	return err
}

// The test would catch a simulation that finds bugs which are its own: a NameNode executes a call once, and no client
// takes a call for successful that was never executed.
func TestACallerThatBreaksItsContractIsStopped(t *testing.T) {
	t.Parallel()
	for times, allowed := range map[int]bool{0: false, 1: true, 2: false} {
		func() {
			defer func() {
				if stopped := recover() != nil; stopped == allowed {
					t.Errorf("%d times: it is stopped: %t", times, stopped)
				}
			}()
			f := dfsmodel.New(dfsmodel.Options{Namespace: dfsmodel.NewNamespace(start), Caller: twice{times}, Client: "one", User: "alice"})
			if err := f.MkdirAll(t.Context(), "/d"); err != nil {
				t.Error(err)
			}
		}()
	}
}
