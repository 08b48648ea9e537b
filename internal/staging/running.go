package staging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
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
	area := areaOf(fsys, dir)
	area.replication = replication
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
		return nil, fmt.Errorf("list the held files of the cache: %w", err)
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

// Find looks for an entry: fs.ErrNotExist. One that is not held may go at any time. ErrExposed, if others could have put
// it there.
func (r *Running) Find(ctx context.Context, sha256 string) (Entry, error) {
	found, err := r.find(ctx, sha256)
	if err != nil {
		return Entry{}, fmt.Errorf("look for %s in the cache: %w", sha256, err)
	}
	return Entry{SHA256: sha256, Name: path.Base(found.URI), Resource: resource(found)}, nil
}

func (r *Running) find(ctx context.Context, sha256 string) (filesystem.FileInfo, error) {
	files, err := r.area.fs.List(ctx, r.area.entry(sha256))
	if err != nil {
		return filesystem.FileInfo{}, err
	}
	// A file whose name begins with a dot is being written.
	i := slices.IndexFunc(files, func(f filesystem.FileInfo) bool { return !f.IsDir && !strings.HasPrefix(path.Base(f.URI), ".") })
	if i < 0 {
		return filesystem.FileInfo{}, fs.ErrNotExist
	}
	if err := r.area.guard(ctx, r.dir); err != nil {
		return filesystem.FileInfo{}, err
	}
	found, err := r.area.cached(ctx, sha256, files[i].URI)
	return found.FileInfo, err
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
// and holds it. A file that is there already by that hash stays in its place; one of
// another length is an error.
func (r *Running) File(ctx context.Context, temporary, sha256, name string) (entry Entry, err error) {
	if err := r.Hold(ctx, sha256); err != nil {
		return Entry{}, err
	}
	for range attempts { // another application may be faster, or remove what has just been found
		entry, err = r.file(ctx, temporary, sha256, name)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return entry, err
}

func (r *Running) file(ctx context.Context, temporary, sha256, name string) (Entry, error) {
	there, err := r.Find(ctx, sha256)
	if err == nil {
		err = r.compare(ctx, there, temporary)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return there, errors.Join(err, r.Discard(ctx, temporary))
	}
	err = r.area.fs.MkdirMode(ctx, r.area.entry(sha256), 0o700)
	if err == nil {
		err = r.area.fs.Rename(ctx, temporary, r.area.entry(sha256)+"/"+plain(name))
	}
	if err != nil {
		return Entry{}, fmt.Errorf("stage %s: %w", name, err)
	}
	return r.Find(ctx, sha256)
}

// compare refuses an entry that cannot have the content of what Receive wrote.
func (r *Running) compare(ctx context.Context, there Entry, temporary string) error {
	received, err := r.area.fs.Stat(ctx, temporary)
	if err != nil {
		return err
	}
	return sameLength(there.URI, there.Size, received.Size)
}

// sameLength refuses a file of the cache whose length is not that of its content: a full disk may have cut it. The hash is
// not compared here, as the whole file would have to be read for that.
func sameLength(uri string, size, want int64) error {
	if size != want {
		return fmt.Errorf("%s has %d bytes, want %d: remove it and try again", uri, size, want)
	}
	return nil
}
