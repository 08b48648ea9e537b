// Package staging puts on HDFS what containers localize and what the AM reads.
//
//	<root>/cache/<sha256>/<name>      files by content, written once, shared by applications
//	<root>/<application id>/          0700, the rest; refs names its entries of the cache,
//	                                  and refs.d those that it uses since it runs
//
// An entry of the cache is written under a temporary name, renamed, and never
// touched again: YARN localizes a file only while its modification time is the
// one it was told. An entry may be removed while no application's refs names
// it; that is why refs are written before the cache is looked at.
//
// The package starts no goroutines.
package staging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// DirName is the directory under the user's home (or yarn.staging-directory)
// that holds everything.
const DirName = ".bobbin"

// FileSystem is what staging needs of dfs.FS: the SDK's file system, owners and
// permissions.
type FileSystem interface {
	filesystem.FileSystem
	Status(ctx context.Context, uri string) (dfs.Status, error)
	CreateMode(ctx context.Context, uri string, o dfs.CreateOptions) (io.WriteCloser, error)
	MkdirMode(ctx context.Context, dir string, mode fs.FileMode) error
}

// Area is a user's staging area. Its methods may be called from any goroutine.
type Area struct {
	fs          FileSystem
	root        string
	replication int
}

// Dir is the URI of an application's own directory, in the area at a directory's URI.
func Dir(home, application string) string { return root(home) + "/" + application }

func root(home string) string { return strings.TrimSuffix(home, "/") + "/" + DirName }

// New gives the area at a directory's URI (without DirName). Files get that many
// copies; 0 means the file system's default (yarn.file-replication).
func New(fsys FileSystem, home string, replication int) *Area {
	return &Area{fs: fsys, root: root(home), replication: replication}
}

// areaOf is the area of the application with this directory (Dir).
func areaOf(fsys FileSystem, dir string) *Area {
	return &Area{fs: fsys, root: strings.TrimSuffix(dir, "/"+path.Base(dir))}
}

// File is a local file to stage by content.
type File struct {
	Path   string
	Name   string // under which it lies in the cache
	SHA256 string // lower-case hex
	Size   int64
}

// Application is what one submission has staged. Cache may be called from several
// goroutines at once, for different files; the rest is for one.
type Application struct {
	area *Area
	// Dir is the URI of the application's own directory.
	Dir      string
	mu       sync.Mutex // guards uploaded
	uploaded []string   // cache entries that this submission wrote
}

// Begin makes the directory of an application and writes down which files it
// will use from the cache. ErrExposed, if others could put files of theirs into
// the area.
func (a *Area) Begin(ctx context.Context, application string, files ...File) (*Application, error) {
	app := &Application{area: a, Dir: a.root + "/" + application}
	var refs strings.Builder
	for _, f := range files {
		refs.WriteString(f.SHA256 + "\n")
	}
	err := a.fs.MkdirMode(ctx, app.Dir, 0o700)
	switch {
	case err == nil:
		if err = a.guard(ctx, app.Dir); err != nil {
			err = fmt.Errorf("stage %s: %w", application, err)
			break
		}
		err = app.Put(ctx, launch.RefsFile, []byte(refs.String()))
	case ctx.Err() == nil: // refused: there is nothing to remove
		return nil, fmt.Errorf("stage %s: %w", application, err)
	}
	if err == nil {
		return app, nil
	}
	// What was given up may have been done all the same.
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	return nil, errors.Join(err, app.Discard(cleaning))
}

// cleanupTimeout bounds what is removed of a staging area that could not be
// begun.
const cleanupTimeout = 15 * time.Second

// Put writes a small file, readable by the owner only, into the application's
// directory.
func (app *Application) Put(ctx context.Context, name string, content []byte) error {
	return app.put(ctx, name, 0o600, content)
}

// PutResource writes a small file that nobody may change into the application's
// directory, and gives it as containers localize it.
func (app *Application) PutResource(ctx context.Context, name string, content []byte) (launch.Resource, error) {
	if err := app.put(ctx, name, 0o400, content); err != nil {
		return launch.Resource{}, err
	}
	info, err := app.area.fs.Stat(ctx, app.Dir+"/"+name)
	if err != nil {
		return launch.Resource{}, fmt.Errorf("stage %s: %w", name, err)
	}
	return resource(info), nil
}

func (app *Application) put(ctx context.Context, name string, mode fs.FileMode, content []byte) error {
	if err := app.area.write(ctx, app.Dir+"/"+name, filesystem.MakeParents, mode, bytes.NewReader(content)); err != nil {
		return fmt.Errorf("stage %s: %w", name, err)
	}
	return nil
}

// Cache stages a file by its content and gives it as containers localize it.
// cached says that it was there already: of the same name, length and owner, in
// places that nobody else may write to (ErrExposed). Whoever runs it compares the
// content: HDFS knows checksums that anybody can meet. progress is called with the bytes
// written so far.
func (app *Application) Cache(ctx context.Context, f File, progress func(done int64)) (r launch.Resource, cached bool, err error) {
	for range attempts {
		if r, cached, err = app.cache(ctx, f, progress); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return r, cached, err
}

// attempts is how often an entry may be put aside under who stages it: each time by
// another who was about to remove it.
const attempts = 3

func (app *Application) cache(ctx context.Context, f File, progress func(done int64)) (r launch.Resource, cached bool, err error) {
	fsys := app.area.fs
	uri := app.area.entry(f.SHA256) + "/" + plain(f.Name)
	found, err := app.area.cached(ctx, f.SHA256, uri)
	if err == nil {
		err = sameLength(uri, found.Size, f.Size)
	}
	switch {
	case err == nil:
		return resource(found.FileInfo), true, nil
	case !errors.Is(err, fs.ErrNotExist):
		return r, false, fmt.Errorf("stage %s: %w", f.Name, err)
	}
	if err := app.upload(ctx, f, uri, progress); err != nil {
		return r, false, fmt.Errorf("stage %s: %w", f.Name, err)
	}
	info, err := fsys.Stat(ctx, uri)
	if err != nil {
		return r, false, fmt.Errorf("stage %s: %w", f.Name, err)
	}
	return resource(info), false, nil
}

// plain makes a name that HDFS takes, and that may stand in the shell script which a
// NodeManager writes: between quotes, but with nothing escaped.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ':' || r == '"' || r == '$' || r == '`' || r == '\\' || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
}

// upload writes the file under a temporary name beside its place and renames it:
// an entry is whole or not there, and what a faster submission has put there stays,
// as its containers know the modification time.
func (app *Application) upload(ctx context.Context, f File, uri string, progress func(done int64)) error {
	local, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer local.Close() // read only: nothing to lose
	fsys, entry := app.area.fs, app.area.entry(f.SHA256)
	temporary := entry + "/." + ids.Random()
	app.mu.Lock()
	app.uploaded = append(app.uploaded, f.SHA256)
	app.mu.Unlock()
	if err := fsys.MkdirMode(ctx, entry, 0o700); err != nil { // whatever the umask says
		return err
	}
	if err := app.area.private(ctx, entry); err != nil { // it may have been there
		return err
	}
	err = app.area.write(ctx, temporary, filesystem.ExistingParents, 0o500, &meter{ctx: ctx, from: local, progress: progress})
	if err == nil {
		err = fsys.Rename(ctx, temporary, uri)
	}
	if err == nil {
		return nil
	}
	removed := fsys.RemoveAll(context.WithoutCancel(ctx), temporary)
	if errors.Is(err, fs.ErrExist) { // another submission was faster
		return removed
	}
	return errors.Join(err, removed)
}

func (a *Area) entry(sha256 string) string { return a.root + "/cache/" + sha256 }

func resource(info filesystem.FileInfo) launch.Resource {
	return launch.Resource{URI: info.URI, Size: info.Size, Timestamp: info.ModTime.UnixMilli()}
}

func (a *Area) write(ctx context.Context, uri string, parents filesystem.Parents, mode fs.FileMode, content io.Reader) error {
	file, err := a.fs.CreateMode(ctx, uri, dfs.CreateOptions{Parents: parents, Mode: mode, Replication: a.replication})
	if err != nil {
		return err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{file}, content, make([]byte, copyBuffer)); err != nil {
		file.Close() // gives the same error again
		return err   // of the file, which it names, or of what is read
	}
	return file.Close()
}

// copyBuffer is what is written at once: a few HDFS packets.
const copyBuffer = 256 << 10

// meter tells how much has been read, and ends the copy when ctx ends.
type meter struct {
	ctx      context.Context //nolint:containedctx // lives for one copy; io.Reader has no room for it
	from     io.Reader
	done     int64
	progress func(done int64)
}

func (m *meter) Read(p []byte) (int, error) {
	if err := context.Cause(m.ctx); err != nil {
		return 0, err
	}
	n, err := m.from.Read(p)
	m.done += int64(n)
	m.progress(m.done)
	return n, err
}
