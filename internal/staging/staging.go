// Package staging puts files on HDFS: those that containers localize, and those that the AM reads.
//
//	<root>/cache/<sha256>/<name>      files by content, written once, shared by applications
//	<root>/<application id>/          0700, other files; refs names its entries of the cache,
//	                                  and refs.d and refs.files those that it uses since it runs
//
// An entry of the cache is written under a temporary name, renamed, and never changed again: YARN
// localizes a file only if its modification time is the one in the launch context. An entry may be
// removed while no application's refs names it. Therefore an application writes its refs before it
// looks into the cache.
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

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// DirName is the directory of all staged files, in the user's home or in yarn.staging-directory.
const DirName = ".bobbin"

// FileSystem is the part of dfs.FS that staging uses: the SDK's file system, owners and
// permissions.
type FileSystem interface {
	filesystem.FileSystem
	Status(ctx context.Context, uri string) (dfs.Status, error)
	CreateMode(ctx context.Context, uri string, o dfs.CreateOptions) (io.WriteCloser, error)
	MkdirMode(ctx context.Context, dir string, mode fs.FileMode) error
	MkdirAllMode(ctx context.Context, dir string, mode fs.FileMode) error
}

// Area is a user's staging area. Its methods may be called from any goroutine.
type Area struct {
	// Names makes the names of temporary files.
	Names ids.Source

	fs          FileSystem
	root        string
	replication int
}

// Dir returns the URI of an application's directory. home is the URI of the directory with the
// area.
func Dir(home, application string) string { return root(home) + "/" + application }

func root(home string) string { return strings.TrimSuffix(home, "/") + "/" + DirName }

// New returns the area in the directory with this URI (without DirName). Files get that many
// copies. 0 means the file system's default (yarn.file-replication).
func New(fsys FileSystem, home string, replication int) *Area {
	return &Area{fs: fsys, root: root(home), replication: replication}
}

// areaOf returns the area of the application with this directory (Dir).
func areaOf(fsys FileSystem, dir string) *Area {
	return &Area{fs: fsys, root: strings.TrimSuffix(dir, "/"+path.Base(dir))}
}

// File is a file to stage by content.
type File struct {
	Path   string // on this machine
	Name   string // in the cache
	SHA256 string // lower-case hex
	Size   int64
	// Open opens the content. nil: that of the local file at Path.
	Open func() (io.ReadCloser, error)
}

func (f File) open() (io.ReadCloser, error) {
	if f.Open != nil {
		return f.Open()
	}
	return os.Open(f.Path)
}

// Application is what one submission has staged. Several goroutines may call Cache at once, for
// different files. Only one goroutine may use the rest.
type Application struct {
	area *Area
	// Dir is the URI of the application's directory.
	Dir      string
	mu       sync.Mutex // guards uploaded
	uploaded []string   // cache entries that this submission wrote
}

// Begin makes the directory of an application and records which files it will use from the cache.
// The error is ErrExposed if other users could put files into the area.
func (a *Area) Begin(ctx context.Context, application string, files ...File) (*Application, error) {
	app := &Application{area: a, Dir: a.root + "/" + application}
	var refs strings.Builder
	for _, f := range files {
		refs.WriteString(f.SHA256 + "\n")
	}
	err := a.fs.MkdirAllMode(ctx, app.Dir, 0o700)
	switch {
	case err == nil:
		if err = a.guard(ctx, app.Dir); err != nil {
			err = fmt.Errorf("stage %s: %w", application, err)
			break
		}
		err = app.Put(ctx, launch.RefsFile, []byte(refs.String()))
	case ctx.Err() == nil: // HDFS refused it: there is nothing to remove
		return nil, fmt.Errorf("stage %s: %w", application, err)
	}
	if err == nil {
		return app, nil
	}
	// HDFS may have executed the call that was given up.
	cleaning, cancel := sched.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	return nil, errors.Join(err, app.Discard(cleaning))
}

// cleanupTimeout bounds the cleanup after Begin has failed.
const cleanupTimeout = 15 * time.Second

// Put writes a small file that only the owner can read into the application's directory.
func (app *Application) Put(ctx context.Context, name string, content []byte) error {
	return app.put(ctx, name, 0o600, content)
}

// PutResource writes a small read-only file into the application's directory, and returns it as a
// resource for containers.
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

// Cache stages a file by its content and returns it as a resource for containers. cached is true if
// the file was already there, with the same name, length and owner, in directories to which no
// other user may write (otherwise ErrExposed). The process that runs the file compares its content,
// because anybody can produce a file with a given HDFS checksum. progress receives the number of
// bytes written so far.
func (app *Application) Cache(ctx context.Context, f File, progress func(done int64)) (r launch.Resource, cached bool, err error) {
	for range attempts {
		if r, cached, err = app.cache(ctx, f, progress); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return r, cached, err
}

// attempts is how often staging is tried: each time another process may have put the entry aside to
// remove it.
const attempts = 3

func (app *Application) cache(ctx context.Context, f File, progress func(done int64)) (r launch.Resource, cached bool, err error) {
	fsys := app.area.fs
	uri := app.area.entry(f.SHA256) + "/" + PlainName(f.Name)
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

// upload writes the file under a temporary name beside its place and renames it. So an entry is
// complete or missing. A file that a faster submission has put there stays, because its containers
// know its modification time.
func (app *Application) upload(ctx context.Context, f File, uri string, progress func(done int64)) error {
	local, err := f.open()
	if err != nil {
		return err
	}
	defer local.Close() // read only: nothing to lose
	fsys, entry := app.area.fs, app.area.entry(f.SHA256)
	temporary := entry + "/." + app.area.Names.Random()
	app.mu.Lock()
	app.uploaded = append(app.uploaded, f.SHA256)
	app.mu.Unlock()
	if err := fsys.MkdirAllMode(ctx, entry, 0o700); err != nil { // whatever the umask says
		return err
	}
	if err := app.area.private(ctx, entry); err != nil { // it may have existed before
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
		file.Close() // Close returns the same error again
		return err   // the error of the file, which it names, or of the source
	}
	return file.Close()
}

// copyBuffer is the size of one write: a few HDFS packets.
const copyBuffer = 256 << 10

// meter counts the bytes that are read, and ends the copy when ctx ends.
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
