package staging

import (
	"context"
	"crypto/sha256"
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

// heldDir is a directory with an empty file for each cache entry that an application has begun to use
// while it runs. The file's name is the entry's hash. A file appears and disappears atomically; a list
// would have to be rewritten. heldFilesDir is such a directory for cached files of jobs, which may be
// released while a program with the same content is used.
//
// Both lie in the directory of the leader's term (package ha), or in the application's directory if it
// has no high availability. The next leader renames that directory: so an old ApplicationMaster that
// is late holds and releases nothing.
const (
	heldDir      = launch.RefsFile + ".d"
	heldFilesDir = launch.RefsFile + ".files"
)

// ErrNoHash is the error for a name of an entry that is not 64 hex digits in lower case.
var ErrNoHash = errors.New("not a SHA-256, which has 64 hex digits in lower case")

// Entry is a file in the cache.
type Entry struct {
	SHA256 string // lower-case hex
	Name   string
	launch.Resource
}

// Running is a running application's use of the cache, which changes with time. Its methods may be
// called from any goroutine.
type Running struct {
	area    *Area
	dir     string
	records string // the directory of the records and of temporary files
	held    string // heldDir or heldFilesDir
}

// Resume returns the cache use of the application with this directory (Dir). What the application uses is recorded in
// another directory, which must exist: that of the leader's term (ha.Store.Dir), or dir. Files get that many
// copies, as in New. Temporary files get their names from a source.
func Resume(fsys FileSystem, dir, records string, replication int, names ids.Source) *Running {
	area := areaOf(fsys, dir)
	area.replication, area.Names = replication, names
	return &Running{area: area, dir: dir, records: records, held: heldDir}
}

// Files returns the same application's use of the cache for cached files of jobs. It has records of
// its own: an entry stays while either holds it.
func (r *Running) Files() *Running {
	return &Running{area: r.area, dir: r.dir, records: r.records, held: heldFilesDir}
}

// Hold records that the application uses an entry. If the entry exists, it stays from then on. Look
// for it only after Hold.
func (r *Running) Hold(ctx context.Context, sha256 string) error {
	err := checkHash(sha256)
	if err == nil {
		err = r.note(ctx, sha256)
	}
	if errors.Is(err, fs.ErrNotExist) { // the first one, or a later leader has renamed the directory
		if err = r.area.fs.MkdirMode(ctx, r.records+"/"+r.held, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = r.note(ctx, sha256)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("hold %s in the cache: %w", sha256, err)
	}
	return nil
}

// note writes the record of an entry.
func (r *Running) note(ctx context.Context, sha256 string) error {
	return r.area.write(ctx, r.record(sha256), filesystem.ExistingParents, 0o600, strings.NewReader(""))
}

// Holds returns the hashes of the entries that the application holds.
func (r *Running) Holds(ctx context.Context) ([]string, error) {
	files, err := r.area.fs.List(ctx, r.records+"/"+r.held)
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

// Release records that the application no longer uses an entry, and removes the entry if no other
// application uses it.
func (r *Running) Release(ctx context.Context, sha256 string) error {
	err := checkHash(sha256)
	if err == nil {
		err = r.area.fs.RemoveAll(ctx, r.record(sha256))
	}
	if err == nil {
		_, err = r.area.evict(ctx, sha256)
	}
	if err != nil {
		return fmt.Errorf("release %s in the cache: %w", sha256, err)
	}
	return nil
}

// checkHash refuses a text that is no hash. As part of a path it could name a place outside the cache.
func checkHash(text string) error {
	if len(text) != 2*sha256.Size || strings.Trim(text, "0123456789abcdef") != "" {
		return fmt.Errorf("%w: %.80q", ErrNoHash, text)
	}
	return nil
}

func (r *Running) record(sha256 string) string { return r.records + "/" + r.held + "/" + sha256 }

// Find looks for an entry. The error is fs.ErrNotExist if there is none, and ErrExposed if other
// users could have put it there. An entry that is not held may disappear at any time.
func (r *Running) Find(ctx context.Context, sha256 string) (Entry, error) {
	found, err := r.find(ctx, sha256)
	if err != nil {
		return Entry{}, fmt.Errorf("look for %s in the cache: %w", sha256, err)
	}
	return Entry{SHA256: sha256, Name: path.Base(found.URI), Resource: resource(found)}, nil
}

func (r *Running) find(ctx context.Context, sha256 string) (filesystem.FileInfo, error) {
	if err := checkHash(sha256); err != nil {
		return filesystem.FileInfo{}, err
	}
	files, err := r.area.fs.List(ctx, r.area.entry(sha256))
	if err != nil {
		return filesystem.FileInfo{}, err
	}
	// A file whose name begins with a dot is incomplete.
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

// Receive writes a stream into a file beside the records. File moves it to its place,
// and Discard removes it. If this process dies, the file is removed with the directory.
func (r *Running) Receive(ctx context.Context, content io.Reader) (temporary string, err error) {
	temporary = r.records + "/." + r.area.Names.Random()
	err = r.area.write(ctx, temporary, filesystem.ExistingParents, 0o500, &meter{ctx: ctx, from: content, progress: func(int64) {}})
	if err != nil {
		return "", errors.Join(err, r.Discard(ctx, temporary))
	}
	return temporary, nil
}

// Discard removes a file of Receive, also after the end of ctx.
func (r *Running) Discard(ctx context.Context, temporary string) error {
	return r.area.fs.RemoveAll(context.WithoutCancel(ctx), temporary)
}

// File makes a file of Receive an entry of the cache, with its hash and a name, and holds it. If
// the cache already has a file with that hash, that one stays. If its length differs, File fails.
func (r *Running) File(ctx context.Context, temporary, sha256, name string) (entry Entry, err error) {
	if err := r.Hold(ctx, sha256); err != nil {
		return Entry{}, err
	}
	for range attempts { // another application may be faster, or remove the entry that was just found
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
	err = r.area.fs.MkdirAllMode(ctx, r.area.entry(sha256), 0o700)
	if err == nil {
		err = r.area.fs.Rename(ctx, temporary, r.area.entry(sha256)+"/"+PlainName(name))
	}
	if err != nil {
		return Entry{}, fmt.Errorf("stage %s: %w", name, err)
	}
	return r.Find(ctx, sha256)
}

// compare refuses an entry whose content cannot be that of the received file.
func (r *Running) compare(ctx context.Context, there Entry, temporary string) error {
	received, err := r.area.fs.Stat(ctx, temporary)
	if err != nil {
		return err
	}
	return sameLength(there.URI, there.Size, received.Size)
}

// sameLength refuses a file of the cache with the wrong length: a full disk may have truncated it.
// It does not compare the hash, because that requires reading the whole file.
func sameLength(uri string, size, want int64) error {
	if size != want {
		return fmt.Errorf("%s has %d bytes, want %d: remove it and try again", uri, size, want)
	}
	return nil
}
