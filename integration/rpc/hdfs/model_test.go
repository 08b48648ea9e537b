package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// TestTheModelAnswersAsARealHDFS would catch a model (integration/sim/dfsmodel) that renames or refuses otherwise than
// a NameNode: the simulation would then find no bug, or one that HDFS does not have.
func TestTheModelAnswersAsARealHDFS(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	genuine := rpctest.FS(t, dfs.Options{Conf: smallBlocks(t, c), User: rpctest.Me(t)})
	for name, have := range map[string]func(*talk){
		"renames of open files":  (*talk).renamesOpenFiles,
		"renames to what exists": (*talk).renamesToWhatExists,
	} {
		model := dfsmodel.New(dfsmodel.Options{
			Namespace: dfsmodel.NewNamespace(time.Now()), Caller: directCaller{}, Client: "model", User: rpctest.Me(t),
		})
		want, got := talkWith(t, genuine, rpctest.Scratch(t, genuine), have), talkWith(t, model, "", have)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the model differs (-real +model):\n%s", name, diff)
		}
	}
}

// directCaller makes the model's calls without a network.
type directCaller struct{}

func (directCaller) Call(_ context.Context, _ dfsmodel.Operation, effect func(time.Time) error) error {
	return effect(time.Now())
}

// talk makes calls below a directory and records their results.
type talk struct {
	t     *testing.T
	ctx   context.Context //nolint:containedctx // of one test
	files filesystem.FileSystem
	dir   string
	lines []string
}

func talkWith(t *testing.T, files filesystem.FileSystem, dir string, have func(*talk)) []string {
	t.Helper()
	one := &talk{t: t, ctx: t.Context(), files: files, dir: dir}
	have(one)
	return one.lines
}

// note records what callers can test of an error.
func (l *talk) note(what string, err error) {
	is := "done"
	for name, target := range map[string]error{
		"fs.ErrNotExist": fs.ErrNotExist, "fs.ErrExist": fs.ErrExist, "fs.ErrPermission": fs.ErrPermission, "filesystem.ErrNotEmpty": filesystem.ErrNotEmpty,
	} {
		if errors.Is(err, target) {
			is = name
		}
	}
	if remote, other := errors.AsType[*yarnrpc.RemoteError](err); is == "done" && other {
		is = remote.Class
	} else if is == "done" && err != nil {
		is = "another error"
	}
	l.lines = append(l.lines, what+": "+is)
	l.t.Log(l.lines[len(l.lines)-1], err)
}

func (l *talk) rename(from, to string) {
	l.t.Helper()
	l.note(fmt.Sprintf("rename %s to %s", from, to), l.files.Rename(l.ctx, l.dir+from, l.dir+to))
}

func (l *talk) mkdir(at string) {
	l.t.Helper()
	l.note("mkdir "+at, l.files.MkdirAll(l.ctx, l.dir+at))
}

// look records the length of a file.
func (l *talk) look(at string) {
	l.t.Helper()
	content, _, err := l.files.Load(l.ctx, l.dir+at, 1<<30)
	l.note(fmt.Sprintf("load %s, %d bytes", at, len(content)), err)
}

// tree records the entries below a directory.
func (l *talk) tree(at string) {
	l.t.Helper()
	entries, err := l.files.List(l.ctx, l.dir+at+"/")
	if err != nil {
		l.note("list "+at, err)
		return
	}
	for _, one := range entries {
		name := at + "/" + path.Base(one.URI)
		l.lines = append(l.lines, fmt.Sprintf("there is %s, %d bytes", name, one.Size))
		if one.IsDir {
			l.tree(name)
		}
	}
}

// opened is a file that is written.
type opened struct {
	*talk
	at    string
	write func([]byte) (int, error)
	close func() error
}

func (l *talk) create(at string) *opened {
	l.t.Helper()
	w, err := l.files.Create(l.ctx, l.dir+at, filesystem.MakeParents)
	if err != nil {
		l.t.Fatal(err)
	}
	return &opened{talk: l, at: at, write: w.Write, close: w.Close}
}

// some writes a few blocks, so that the writer calls the NameNode and DataNodes.
func (o *opened) some() {
	o.t.Helper()
	_, err := o.write(rpctest.Noise(5 * blockSize))
	o.note("write of "+o.at, err)
}

func (o *opened) end() {
	o.t.Helper()
	o.note("close of "+o.at, o.close())
}

func (l *talk) renamesOpenFiles() {
	// The file, and another writer at its place.
	one := l.create("/a/one")
	one.some()
	l.rename("/a/one", "/a/two")
	one.some()
	other := l.create("/a/one")
	other.some()
	one.end()
	other.end()
	l.look("/a/one")
	l.look("/a/two")

	// A directory above it.
	below := l.create("/b/x/below")
	below.some()
	l.rename("/b", "/c")
	below.some()
	below.end()
	l.look("/b/x/below")
	l.look("/c/x/below")

	// It has no block yet.
	empty := l.create("/d/empty")
	l.rename("/d", "/e")
	empty.some()
	l.rename("/e/empty", "/e/moved")
	empty.end()
	l.look("/e/moved")

	// A file that was open is the target, and a removed one goes on.
	target := l.create("/f/target")
	source := l.create("/f/source")
	l.rename("/f/source", "/f/target")
	l.note("remove /f", l.files.RemoveAll(l.ctx, l.dir+"/f"))
	source.some()
	source.end()
	target.end()
	l.tree("")
}

func (l *talk) renamesToWhatExists() {
	for _, at := range []string{"/file", "/other", "/full/file"} {
		w := l.create(at)
		w.end()
	}
	for _, at := range []string{"/empty", "/second"} {
		l.mkdir(at)
	}
	for _, to := range []string{"/other", "/empty", "/full", "/full/file", "/file", "/file/below", "/none/x"} {
		l.rename("/file", to)
	}
	for _, to := range []string{"/other", "/second", "/full", "/empty", "/empty/below", "/empty/none/below", "/file/below", "/none/x"} {
		l.rename("/empty", to)
	}
	l.rename("/none", "/full")
	l.rename("/none", "/none")
	l.rename("/full/file", "/empty/file")
	l.tree("")
}
