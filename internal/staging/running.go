package staging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// heldDir holds, in an application's directory, an empty file for each entry of the
// cache that it has come to use while it runs, named by its hash: one appears and
// goes in one step, where a list would have to be written anew.
const heldDir = launch.RefsFile + ".d"

// Entry is a file in the cache.
type Entry struct {
	SHA256 string // lower-case hex
	Name   string
	launch.Resource
}

// Running is a running application's use of the cache, which grows and shrinks. Its
// methods may be called from any goroutine.
type Running struct {
	area *Area
	dir  string
}

// Resume gives the use that the application with this directory (Dir) makes of the
// cache beside it. Files get that many copies, as in New.
func Resume(fsys FileSystem, dir string, replication int) *Running {
	area := &Area{fs: fsys, root: strings.TrimSuffix(dir, "/"+path.Base(dir)), replication: replication}
	return &Running{area: area, dir: dir}
}

// Hold writes down that the application uses an entry, which therefore stays, if it is
// there: look for it after that.
func (r *Running) Hold(ctx context.Context, sha256 string) error {
	err := r.area.write(ctx, r.held(sha256), filesystem.MakeParents, 0o600, strings.NewReader(""))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("hold %s in the cache: %w", sha256, err)
	}
	return nil
}

// Holds lists the hashes of the entries that the application holds.
func (r *Running) Holds(ctx context.Context) ([]string, error) {
	files, err := r.area.fs.List(ctx, r.dir+"/"+heldDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list what is held in the cache: %w", err)
	}
	var held []string
	for _, f := range files {
		held = append(held, path.Base(f.URI))
	}
	return held, nil
}

// Release says that the application does not use an entry any longer, and removes that
// if no other does.
func (r *Running) Release(ctx context.Context, sha256 string) error {
	err := r.area.fs.RemoveAll(ctx, r.held(sha256))
	if err == nil {
		_, err = r.area.evict(ctx, sha256)
	}
	if err != nil {
		return fmt.Errorf("release %s in the cache: %w", sha256, err)
	}
	return nil
}

func (r *Running) held(sha256 string) string { return r.dir + "/" + heldDir + "/" + sha256 }

// Find looks for an entry: fs.ErrNotExist. One that is not held may go at any time.
func (r *Running) Find(ctx context.Context, sha256 string) (Entry, error) {
	files, err := r.area.fs.List(ctx, r.area.entry(sha256))
	if err != nil {
		return Entry{}, fmt.Errorf("look for %s in the cache: %w", sha256, err)
	}
	for _, f := range files {
		// What begins with a dot is being written.
		if name := path.Base(f.URI); !f.IsDir && !strings.HasPrefix(name, ".") {
			return Entry{SHA256: sha256, Name: name, Resource: resource(f)}, nil
		}
	}
	return Entry{}, fmt.Errorf("look for %s in the cache: %w", sha256, fs.ErrNotExist)
}

// Receive writes what it reads into a file of the application's own, with which it
// goes if this process dies, until File gives it its place or Discard removes it.
func (r *Running) Receive(ctx context.Context, content io.Reader) (temporary string, err error) {
	temporary = r.dir + "/." + ids.Random()
	err = r.area.write(ctx, temporary, filesystem.MakeParents, 0o500, &meter{ctx: ctx, from: content, progress: func(int64) {}})
	if err != nil {
		return "", errors.Join(err, r.Discard(ctx, temporary))
	}
	return temporary, nil
}

// Discard removes what Receive wrote, also when ctx has ended.
func (r *Running) Discard(ctx context.Context, temporary string) error {
	return r.area.fs.RemoveAll(context.WithoutCancel(ctx), temporary)
}

// File makes what Receive wrote an entry of the cache, by its hash and under a name,
// and holds it. Another file of the same content that is there already stays in its
// place.
func (r *Running) File(ctx context.Context, temporary, sha256, name string) (entry Entry, err error) {
	if err := r.Hold(ctx, sha256); err != nil {
		return Entry{}, err
	}
	for range attempts {
		if entry, err = r.file(ctx, temporary, sha256, name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return entry, err
}

func (r *Running) file(ctx context.Context, temporary, sha256, name string) (Entry, error) {
	there, err := r.Find(ctx, sha256)
	if !errors.Is(err, fs.ErrNotExist) {
		return there, errors.Join(err, r.Discard(ctx, temporary))
	}
	err = r.area.fs.MkdirMode(ctx, r.area.entry(sha256), 0o700)
	if err == nil {
		err = r.area.fs.Rename(ctx, temporary, r.area.entry(sha256)+"/"+plain(name))
	}
	if errors.Is(err, fs.ErrExist) { // another application was faster
		err = r.Discard(ctx, temporary)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("stage %s: %w", name, err)
	}
	return r.Find(ctx, sha256)
}
