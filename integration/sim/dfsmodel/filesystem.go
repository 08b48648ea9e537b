package dfsmodel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// Options describe one process's access to HDFS.
type Options struct {
	Namespace *Namespace
	Caller    Caller
	// Client names the process: it holds the files that the process has open. Two processes, and two starts of
	// one process, must have different names.
	Client string
	// User is the short name of the process's user. Relative paths start from /user/NAME.
	User string
	// Shuffle gives the moves of RenameAll an order, as rand.Shuffle does. Nil: they keep theirs.
	Shuffle func(n int, swap func(i, j int))
}

// FileSystem is the access of one process, with the methods and errors of *dfs.FS. Its methods start no
// goroutine, hold no lock, and wait only in the Caller.
type FileSystem struct {
	o      Options
	closed bool
}

var _ staging.FileSystem = (*FileSystem)(nil)

// New makes the access of one process.
func New(o Options) *FileSystem { return &FileSystem{o: o} }

// Close ends the access. Later calls fail with dfs.ErrClosed. Files that the process writes stay open; their
// leases end only with the process (Namespace.Crash).
func (f *FileSystem) Close() error {
	f.closed = true
	return nil
}

// scheme begins the qualified URIs.
const scheme = "hdfs://"

// umask is Hadoop's default (fs.permissions.umask-mode).
const umask fs.FileMode = 0o022

func uriOf(at string) string { return scheme + Authority + at }

// locate returns the path of a URI.
func (f *FileSystem) locate(uri string) (string, error) {
	if uri == "" {
		return "", errors.New("resolve path: it is empty")
	}
	rest, is := strings.CutPrefix(uri, scheme)
	switch {
	case is:
		authority, at, _ := strings.Cut(rest, "/")
		if authority != "" && authority != Authority {
			return "", fmt.Errorf("resolve %s: the model has only %s", uri, uriOf("/"))
		}
		return path.Clean("/" + at), nil
	case strings.Contains(uri, "://"):
		return "", fmt.Errorf("resolve %s: the model has only %s", uri, uriOf("/"))
	case strings.HasPrefix(uri, "/"):
		return path.Clean(uri), nil
	default:
		return path.Join("/user", f.o.User, uri), nil
	}
}

// Qualify completes a path to a URI.
func (f *FileSystem) Qualify(uri string) (string, error) {
	at, err := f.locate(uri)
	if err != nil {
		return "", err
	}
	return uriOf(at), nil
}

// Home returns the URI of the user's home directory. It need not exist.
func (f *FileSystem) Home() (string, error) { return f.Qualify(".") }

// call makes one call, and returns the error of internal/dfs without the operation and the place.
func (f *FileSystem) call(ctx context.Context, op Operation, effect func(now time.Time) error) error {
	if f.closed {
		return dfs.ErrClosed
	}
	op.Client = f.o.Client
	runs := 0
	err := f.o.Caller.Call(ctx, op, func(now time.Time) error {
		if runs++; runs > 1 {
			panic(fmt.Sprintf("dfsmodel: the Caller runs %s twice; the NameNode's retry cache prevents that", op))
		}
		return effect(now)
	})
	if err == nil && runs == 0 {
		panic(fmt.Sprintf("dfsmodel: the Caller reports success of %s, which it has not run", op))
	}
	return answer(f.o.User, err)
}

// at resolves a URI, makes a call for its path, and names operation and place in the error.
func (f *FileSystem) at(ctx context.Context, operation, uri string, op Operation, effect func(now time.Time, at string) error) error {
	at, err := f.locate(uri)
	if err != nil {
		return err
	}
	op.Path = at
	return failed(operation, at, f.call(ctx, op, func(now time.Time) error { return effect(now, at) }))
}

func failed(operation, at string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", operation, uriOf(at), err)
}

func (s Status) info() filesystem.FileInfo {
	return filesystem.FileInfo{URI: uriOf(s.Path), Size: s.Size, ModTime: s.ModTime, IsDir: s.IsDir}
}

// Stat describes one file or directory.
func (f *FileSystem) Stat(ctx context.Context, uri string) (filesystem.FileInfo, error) {
	status, err := f.Status(ctx, uri)
	return status.FileInfo, err
}

// Status describes one file or directory with its owner and permissions.
func (f *FileSystem) Status(ctx context.Context, uri string) (dfs.Status, error) {
	var found Status
	err := f.at(ctx, "stat", uri, Operation{Kind: GetFileInfo}, func(now time.Time, at string) (err error) {
		found, err = f.o.Namespace.Stat(now, at)
		return err
	})
	if err != nil {
		return dfs.Status{}, err
	}
	return dfs.Status{FileInfo: found.info(), Owner: found.Owner, Own: found.Owner == f.o.User, Mode: found.Mode}, nil
}

var errNotDirectory = errors.New("is not a directory")

// List describes the entries of a directory, sorted by name. It makes a call for each part.
func (f *FileSystem) List(ctx context.Context, dir string) ([]filesystem.FileInfo, error) {
	infos := []filesystem.FileInfo{}
	err := f.parts(ctx, dir, func(part []Status, isFile bool) error {
		if isFile {
			return errNotDirectory
		}
		for _, s := range part {
			infos = append(infos, s.info())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

// Scan describes the entries of a directory, or one file. It makes a call for each part.
func (f *FileSystem) Scan(ctx context.Context, uri string, part func([]filesystem.Entry) error) error {
	var refused error // the error of part, which names its object
	err := f.parts(ctx, uri, func(found []Status, _ bool) error {
		entries := make([]filesystem.Entry, 0, len(found))
		for _, s := range found {
			entry := filesystem.Entry{FileInfo: s.info()}
			if !s.IsDir {
				entry.Rights = fmt.Sprintf("%s:supergroup:%o", s.Owner, s.Mode)
			}
			if s.Size > 0 {
				entry.Blocks = []filesystem.Block{{Length: s.Size}}
			}
			entries = append(entries, entry)
		}
		refused = part(entries)
		return refused
	})
	if refused != nil {
		return refused
	}
	return err
}

// parts lists a directory or file in parts. The directory may change between two parts.
func (f *FileSystem) parts(ctx context.Context, uri string, use func(part []Status, isFile bool) error) error {
	at, err := f.locate(uri)
	if err != nil {
		return err
	}
	for after, more := "", true; more; {
		var part []Status
		err := f.call(ctx, Operation{Kind: GetListing, Path: at}, func(now time.Time) (err error) {
			part, more, err = f.o.Namespace.List(now, at, after)
			return err
		})
		if err == nil {
			err = use(part, len(part) == 1 && part[0].Path == at)
		}
		if err != nil {
			return failed("list", at, err)
		}
		if more {
			after = path.Base(part[len(part)-1].Path)
		}
	}
	return nil
}

// CheckReadable checks that there is a file.
func (f *FileSystem) CheckReadable(ctx context.Context, uri string) error {
	return f.at(ctx, "open", uri, Operation{Kind: GetBlockLocations}, func(now time.Time, at string) error {
		_, _, err := f.o.Namespace.Read(now, at)
		return err
	})
}

// Rename moves a file or directory.
func (f *FileSystem) Rename(ctx context.Context, from, to string) error {
	source, err := f.locate(from)
	if err != nil {
		return err
	}
	target, err := f.locate(to)
	if err != nil {
		return err
	}
	err = f.call(ctx, Operation{Kind: Rename, Path: source, Target: target}, func(now time.Time) error {
		return f.o.Namespace.Rename(now, source, target)
	})
	if err != nil {
		return fmt.Errorf("rename %s to %s: %w", uriOf(source), uriOf(target), err)
	}
	return nil
}

// RenameAll moves one file or directory after the other.
func (f *FileSystem) RenameAll(ctx context.Context, moves []filesystem.Move) error {
	if f.o.Shuffle != nil {
		moves = slices.Clone(moves)
		f.o.Shuffle(len(moves), func(i, j int) { moves[i], moves[j] = moves[j], moves[i] })
	}
	for _, m := range moves {
		if err := f.Rename(ctx, m.From, m.To); err != nil {
			return err
		}
	}
	return nil
}

// Mkdir makes one directory with mode 0755.
func (f *FileSystem) Mkdir(ctx context.Context, dir string) error {
	return f.MkdirMode(ctx, dir, 0o777&^umask)
}

// MkdirMode makes one directory with these permission bits. As in the client it is two calls: the first one looks
// whether there is something, because mkdirs succeeds for a directory that exists.
func (f *FileSystem) MkdirMode(ctx context.Context, dir string, mode fs.FileMode) error {
	at, err := f.locate(dir)
	if err != nil {
		return err
	}
	err = f.call(ctx, Operation{Kind: GetFileInfo, Path: at}, func(now time.Time) error {
		_, err := f.o.Namespace.Stat(now, at)
		return err
	})
	switch {
	case err == nil:
		err = fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		err = f.call(ctx, Operation{Kind: Mkdirs, Path: at}, func(now time.Time) error {
			return f.o.Namespace.Mkdir(now, at, mode.Perm(), f.o.User)
		})
	}
	return failed("make directory", at, err)
}

// MkdirAll makes a directory and its parents with mode 0755.
func (f *FileSystem) MkdirAll(ctx context.Context, dir string) error {
	return f.MkdirAllMode(ctx, dir, 0o777&^umask)
}

// MkdirAllMode makes a directory and its missing parents with these permission bits. It is one call: the client
// asks first whether the directory exists, but the result is that of one call at the time of the last one.
func (f *FileSystem) MkdirAllMode(ctx context.Context, dir string, mode fs.FileMode) error {
	at, err := f.locate(dir)
	if err != nil {
		return err
	}
	return failed("make directory", at, f.mkdirs(ctx, at, mode))
}

func (f *FileSystem) mkdirs(ctx context.Context, at string, mode fs.FileMode) error {
	return f.call(ctx, Operation{Kind: Mkdirs, Path: at}, func(now time.Time) error {
		if _, err := f.o.Namespace.find(GetFileInfo, at); err != nil { // the client asks first, and gets another exception than for mkdirs
			return err
		}
		return f.o.Namespace.Mkdirs(now, at, mode.Perm(), f.o.User)
	})
}

// Replicate looks for a file: the model has no replicas.
func (f *FileSystem) Replicate(ctx context.Context, uri string) error {
	at, err := f.locate(uri)
	if err != nil {
		return err
	}
	return failed("replicate", at, f.call(ctx, Operation{Kind: SetReplication, Path: at}, func(time.Time) error {
		_, err := f.o.Namespace.find(SetReplication, at)
		return err
	}))
}

// RemoveAll removes a file or a tree. It is one call, like MkdirAllMode.
func (f *FileSystem) RemoveAll(ctx context.Context, uri string) error {
	return f.remove(ctx, uri, true)
}

// Remove removes a file or an empty directory.
func (f *FileSystem) Remove(ctx context.Context, uri string) error {
	return f.remove(ctx, uri, false)
}

func (f *FileSystem) remove(ctx context.Context, uri string, recursive bool) error {
	at, err := f.locate(uri)
	if err != nil {
		return err
	}
	if at == "/" && recursive {
		return failed("remove", at, errors.New("refusing to remove a whole file system"))
	}
	return failed("remove", at, f.call(ctx, Operation{Kind: Delete, Path: at, Recursive: recursive}, func(now time.Time) error {
		_, err := f.o.Namespace.Delete(now, at, recursive)
		return err
	}))
}
