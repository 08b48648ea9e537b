package dfsmodel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// pair is the model and a folder of the local disk, which get the same calls.
type pair struct {
	world *world
	model *dfsmodel.FileSystem
	disk  *dfs.FS
	dir   string // file:///tmp/…
	open  []openPair
}

// openPair is a file that both have open for writing.
type openPair struct {
	id          string // content that no other file has
	model, disk io.WriteCloser
}

// class returns what callers can test of an error.
func class(err error) string {
	for name, target := range map[string]error{
		"not exist": fs.ErrNotExist, "exist": fs.ErrExist, "not empty": filesystem.ErrNotEmpty, "too large": filesystem.ErrTooLarge,
	} {
		if errors.Is(err, target) {
			return name
		}
	}
	if err != nil {
		return "other"
	}
	return ""
}

// status describes a path of the model, and whether a file stands above it.
func (p *pair) status(at string) (s dfsmodel.Status, found, below bool) {
	for dir := path.Dir(at); dir != "/"; dir = path.Dir(dir) {
		if s, err := p.world.space.Stat(p.world.now, dir); err == nil && !s.IsDir {
			return dfsmodel.Status{}, false, true
		}
	}
	s, err := p.world.space.Stat(p.world.now, at)
	return s, err == nil, false
}

// both makes a call on both, and compares the classes of the errors. If loose, HDFS and the disk are known to
// give errors of different classes, and only both must fail.
func (p *pair) both(t *rapid.T, call string, loose bool, do func(f filesystem.FileSystem, uri func(at string) string) (any, error)) error {
	t.Helper()
	got, err := do(p.model, func(at string) string { return at })
	want, wantErr := do(p.disk, func(at string) string { return p.dir + at })
	if class(err) != class(wantErr) && (!loose || (err == nil) != (wantErr == nil)) {
		t.Fatalf("%s: the model has the error %v, the disk %v", call, err, wantErr)
	}
	if diff := cmp.Diff(want, got); diff != "" && err == nil {
		t.Fatalf("%s (-disk +model):\n%s", call, diff)
	}
	return err
}

// plain describes entries without their place and time.
func plain(infos []filesystem.FileInfo) []string {
	lines := []string{}
	for _, i := range infos {
		lines = append(lines, fmt.Sprintf("%s %d %t", path.Base(i.URI), i.Size, i.IsDir))
	}
	return lines
}

func at(t *rapid.T, name string) string {
	return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 1, 3).Draw(t, name), "/")
}

// step makes one random call.
func (p *pair) step(ctx context.Context, t *rapid.T, number int) {
	one := at(t, "path")
	status, found, below := p.status(one)
	isFile := found && !status.IsDir
	switch call := rapid.SampledFrom([]string{"write", "create", "close", "rename", "rename", "mkdir", "mkdirAll", "remove", "removeAll", "look"}).Draw(t, "call"); call {
	case "write", "create":
		parents := rapid.SampledFrom([]filesystem.Parents{filesystem.ExistingParents, filesystem.MakeParents}).Draw(t, "parents")
		content := fmt.Sprintf("file %d", number)
		var made []io.WriteCloser
		err := p.both(t, call+" "+one, below, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
			w, err := f.Create(ctx, uri(one), parents)
			made = append(made, w)
			if err == nil && call == "write" {
				_, err = io.WriteString(w, content)
				err = errors.Join(err, w.Close())
			}
			return nil, err
		})
		if err == nil && call == "create" {
			p.open = append(p.open, openPair{content, made[0], made[1]})
		}
	case "close":
		if len(p.open) == 0 {
			return
		}
		i := rapid.IntRange(0, len(p.open)-1).Draw(t, "writer")
		p.finish(t, p.open[i])
		p.open = slices.Delete(p.open, i, i+1)
	case "rename":
		two := at(t, "target")
		target, targetFound, targetBelow := p.status(two)
		// The disk looks for the target first, HDFS for the source. See also doc.go.
		loose := below || targetBelow || targetFound && (!found || status.IsDir != target.IsDir) || strings.HasPrefix(two, one+"/")
		_ = p.both(t, "rename "+one+" "+two, loose, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
			return nil, f.Rename(ctx, uri(one), uri(two))
		})
	case "mkdir":
		_ = p.both(t, "mkdir "+one, below, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
			return nil, f.Mkdir(ctx, uri(one))
		})
	case "mkdirAll":
		_ = p.both(t, "mkdirAll "+one, below || isFile, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
			return nil, f.MkdirAll(ctx, uri(one))
		})
	case "remove":
		_ = p.both(t, "remove "+one, below, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
			return nil, f.Remove(ctx, uri(one))
		})
	case "removeAll":
		_ = p.both(t, "removeAll "+one, below, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
			return nil, f.RemoveAll(ctx, uri(one))
		})
	case "look":
		p.look(ctx, t, one, below, isFile)
	}
}

// look makes the calls that change nothing.
func (p *pair) look(ctx context.Context, t *rapid.T, one string, below, isFile bool) {
	limit := int64(rapid.IntRange(0, 8).Draw(t, "limit"))
	_ = p.both(t, "load "+one, below, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
		content, info, err := f.Load(ctx, uri(one), limit)
		return []any{string(content), plain([]filesystem.FileInfo{info})}, err
	})
	_ = p.both(t, "list "+one, below, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
		infos, err := f.List(ctx, uri(one))
		return plain(infos), err
	})
	_ = p.both(t, "scan "+one, below, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
		var infos []filesystem.FileInfo
		var blocks [][]filesystem.Block
		err := f.Scan(ctx, uri(one), func(part []filesystem.Entry) error {
			for _, e := range part {
				infos, blocks = append(infos, e.FileInfo), append(blocks, e.Blocks)
			}
			return nil
		})
		return []any{plain(infos), blocks}, err
	})
	_ = p.both(t, "readable "+one, !isFile, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
		return nil, f.CheckReadable(ctx, uri(one))
	})
	_ = p.both(t, "read "+one, below, func(f filesystem.FileSystem, uri func(string) string) (any, error) {
		file, err := f.Open(ctx, uri(one))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		whole, err := io.ReadAll(file)
		if err != nil {
			return nil, err
		}
		if _, err := file.Seek(-int64(len(whole)/2), io.SeekEnd); err != nil {
			return nil, err
		}
		half, err := io.ReadAll(file)
		return []string{string(whole), string(half)}, err
	})
}

// finish writes and closes an open file. If the file was removed meanwhile, the disk does not mind.
func (p *pair) finish(t *rapid.T, o openPair) {
	_, err := io.WriteString(o.disk, o.id)
	if err = errors.Join(err, o.disk.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(o.model, o.id)
	if err = errors.Join(err, o.model.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("close: %v", err)
	}
}

// contents returns all files with their contents, and all directories.
func contents(ctx context.Context, t *rapid.T, f filesystem.FileSystem, dir string) map[string]string {
	found := map[string]string{}
	infos, err := f.List(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		name := path.Base(i.URI)
		if i.IsDir {
			found[name] = "directory"
			for below, content := range contents(ctx, t, f, i.URI) {
				found[name+"/"+below] = content
			}
			continue
		}
		content, _, err := f.Load(ctx, i.URI, 100)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(content)
	}
	return found
}

// The test would catch an operation of the model that does not mean the same as on the disk: a rename that loses or
// replaces a file, a removal of a directory with entries, a wrong class of error, a writer that loses its file when
// a directory above it is renamed.
func TestTheModelIsLikeTheDisk(t *testing.T) {
	t.Parallel()
	disk := dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = disk.Close() })
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		p := &pair{world: w, model: w.process("one"), disk: disk, dir: "file://" + t.TempDir()}
		if _, err := w.space.Delete(w.now, "/user", true); err != nil {
			r.Fatal(err)
		}
		for i := range rapid.IntRange(1, 40).Draw(r, "calls") {
			p.step(t.Context(), r, i)
		}
		for _, o := range p.open {
			p.finish(r, o)
		}
		want, got := contents(t.Context(), r, disk, p.dir), contents(t.Context(), r, p.model, "/")
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("at the end (-disk +model):\n%s", diff)
		}
	})
}
