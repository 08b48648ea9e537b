// Package dfs is the file access of every role: one filesystem.FileSystem in
// front of HDFS (colinmarc/hdfs) and the local disk, told apart by the scheme
// of the URI.
//
// It owns one connection to each NameNode that is used, opened at the first
// call and shared by all; a goroutine for each open HDFS file that reads ahead;
// and one for each call that changes something, as the library's calls know no
// context. FS.Close ends them all and waits. What a NameNode did not answer is asked
// again underneath for Options.Patience, of the other one after a fail-over, and done
// once. So is what it refuses for the time being: in safe mode, and while it knows of
// no DataNode to write to (see yarnrpc.Judge). Reading waits as long for a DataNode.
//
// It must never import a role; roles reach HDFS through it alone.
package dfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// ErrClosed is the error of calls after FS.Close.
var ErrClosed = errors.New("file access is closed")

// Options configure an FS. The zero value serves the local disk alone.
type Options struct {
	// Conf is the Hadoop configuration: the default file system, nameservices,
	// replication, umask. Nil: paths without a scheme are local.
	Conf *hadoopconf.Conf
	// User is the short name of who acts on HDFS, whose home directory relative paths
	// start from. Clusters without Kerberos are told it. Required for HDFS.
	User string
	// RealUser acts for User, if that is somebody else (hadoop.proxyuser.*): who has
	// logged in, on clusters with Kerberos.
	RealUser string
	// Credentials give the process' tokens, with each new connection: those that came
	// later serve from the next one on. A NameNode for which there is one is shown it;
	// others get Login. Nil: there are none.
	Credentials func() *creds.Credentials
	// Login logs in at the NameNodes of secure clusters; kerberos.Login is one. Nil: tokens
	// have to do.
	Login yarnrpc.Login
	// Patience is how long a NameNode that does not answer, or pair of them, is tried
	// before a call fails, and a block is waited for that lies on no DataNode which can
	// be reached. A fail-over takes minutes on many clusters. 0: as often as Hadoop's own
	// clients try (yarnrpc.NameNodePolicy).
	Patience time.Duration
	// Limit says what has set Patience, for errors: see yarnrpc.Policy.
	Limit string
	// Dial replaces the TCP dialer, for NameNodes and DataNodes.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger hears of retries. Nil: nobody does.
	Logger logrus.FieldLogger
}

// FS is a filesystem.FileSystem. It may be used from any goroutine.
type FS struct {
	options   Options
	umask     fs.FileMode
	confError error // of a configuration value that every call needs

	mu       sync.Mutex // guards what follows
	closed   bool
	clusters map[string]*remote // by authority
}

var _ filesystem.FileSystem = (*FS)(nil)

// New makes an FS. Nothing is opened before it is needed, and errors of the
// configuration show with the first call that needs the value.
func New(o Options) *FS {
	if o.Conf == nil {
		o.Conf = &hadoopconf.Conf{}
	}
	if o.Logger == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		o.Logger = silent
	}
	f := &FS{options: o, clusters: make(map[string]*remote)}
	f.umask, f.confError = umask(o.Conf)
	return f
}

// umask reads fs.permissions.umask-mode, in octal; 022 by default.
func umask(conf *hadoopconf.Conf) (fs.FileMode, error) {
	const name = "fs.permissions.umask-mode"
	value, _, err := conf.Lookup(name)
	if err != nil {
		return 0, err
	}
	mask, err := strconv.ParseUint(value, 8, 9)
	if err != nil {
		return 0, &hadoopconf.ValueError{Name: name, Value: value, Source: conf.SourceOf(name), Want: "an octal mask such as 022"}
	}
	return fs.FileMode(mask), nil
}

// Close ends the connections of all file systems and waits for their
// goroutines. Files that are still open fail; those being written stay
// incomplete. It may be called twice.
func (f *FS) Close() error {
	f.mu.Lock()
	f.closed = true
	clusters := f.clusters
	f.clusters = nil
	f.mu.Unlock()
	for _, r := range clusters {
		r.close()
	}
	return nil
}

// backend is one file system. Paths are absolute and clean.
type backend interface {
	stat(ctx context.Context, path string) (entry, error)
	list(ctx context.Context, dir string) ([]entry, error)
	scan(ctx context.Context, path string, part func([]entry) error) error
	checkReadable(ctx context.Context, path string) error
	open(ctx context.Context, path string) (io.ReadSeekCloser, entry, error)
	load(ctx context.Context, path string, limit int64) ([]byte, entry, error)
	create(ctx context.Context, path string, o CreateOptions) (io.WriteCloser, error)
	rename(ctx context.Context, from, to string) error
	mkdirAll(ctx context.Context, dir string, mode fs.FileMode) error
	removeAll(ctx context.Context, path string) error
	// owner names whose an entry is, and tells whether that is who acts here.
	owner(e entry) (name string, own bool)
	remove(ctx context.Context, path string) error
}

// entry is what a backend knows of a file or directory.
type entry struct {
	name    string // last element; empty for the path that was asked for
	size    int64
	modTime time.Time
	isDir   bool
	mode    fs.FileMode // permission bits, and fs.ModeSticky
	acl     bool        // there is one
	ownedBy string      // as the backend has it

	// Of a scan, as filesystem.Entry has them:
	blocks  []filesystem.Block
	refused error
	rights  string
}

func (e entry) info(uri string) filesystem.FileInfo {
	info := filesystem.FileInfo{URI: uri, Size: e.size, ModTime: e.modTime.Truncate(time.Millisecond), IsDir: e.isDir}
	if e.isDir {
		info.Size = 0
	}
	return info
}

// Stat describes one file or directory.
func (f *FS) Stat(ctx context.Context, uri string) (filesystem.FileInfo, error) {
	b, at, err := f.resolve(uri)
	if err != nil {
		return filesystem.FileInfo{}, err
	}
	e, err := b.stat(ctx, at.path)
	if err != nil {
		return filesystem.FileInfo{}, failed("stat", at, err)
	}
	return e.info(at.String()), nil
}

// Status is what a file system knows of a file or directory (Hadoop's FileStatus).
type Status struct {
	filesystem.FileInfo
	Owner string      // short name
	Own   bool        // the owner is who acts here: Options.User, on the local disk this process' user
	Mode  fs.FileMode // permission bits, and fs.ModeSticky
	// ACL says that there is an access control list. Then the group's bits of Mode are its
	// mask: nobody but the owner and others has more by it.
	ACL bool
}

// Status describes one file or directory, and who may do what with it.
func (f *FS) Status(ctx context.Context, uri string) (Status, error) {
	b, at, err := f.resolve(uri)
	if err != nil {
		return Status{}, err
	}
	e, err := b.stat(ctx, at.path)
	if err != nil {
		return Status{}, failed("stat", at, err)
	}
	s := Status{FileInfo: e.info(at.String()), Mode: e.mode, ACL: e.acl}
	s.Owner, s.Own = b.owner(e)
	return s, nil
}

// List describes the entries of a directory, sorted by name.
func (f *FS) List(ctx context.Context, dir string) ([]filesystem.FileInfo, error) {
	b, at, err := f.resolve(dir)
	if err != nil {
		return nil, err
	}
	entries, err := b.list(ctx, at.path)
	if err != nil {
		return nil, failed("list", at, err)
	}
	infos := make([]filesystem.FileInfo, 0, len(entries))
	for _, e := range entries {
		infos = append(infos, e.info(at.child(e.name).String()))
	}
	return infos, nil
}

// Scan describes the entries of a directory, or one file, with all that their reader needs. On
// HDFS a part is one call (getListing with the locations of blocks), whatever is in it.
func (f *FS) Scan(ctx context.Context, uri string, part func([]filesystem.Entry) error) error {
	b, at, err := f.resolve(uri)
	if err != nil {
		return err
	}
	var refused error // by part, which has named what it is about
	err = b.scan(ctx, at.path, func(found []entry) error {
		entries := make([]filesystem.Entry, 0, len(found))
		for _, e := range found {
			entries = append(entries, filesystem.Entry{
				FileInfo: e.info(at.child(e.name).String()), Blocks: e.blocks, Refused: e.refused, Rights: e.rights,
			})
		}
		refused = part(entries)
		return refused
	})
	if err != nil && refused == nil {
		return failed("list", at, err)
	}
	return refused
}

// CheckReadable tells whether a file may be read: by the NameNode's word, or by opening it.
func (f *FS) CheckReadable(ctx context.Context, uri string) error {
	b, at, err := f.resolve(uri)
	if err != nil {
		return err
	}
	if err := b.checkReadable(ctx, at.path); err != nil {
		return failed("open", at, err)
	}
	return nil
}

// Open opens a file for reading. On HDFS the file reads ahead once it is read
// from, and survives the loss of connections and DataNodes; a file that has
// changed since it was opened is then an error.
func (f *FS) Open(ctx context.Context, uri string) (filesystem.File, error) {
	b, at, err := f.resolve(uri)
	if err != nil {
		return nil, err
	}
	file, e, err := b.open(ctx, at.path)
	if err != nil {
		return nil, failed("open", at, err)
	}
	return openFile{file, e.info(at.String())}, nil
}

// openFile is an open file with what it was when it was opened.
type openFile struct {
	io.ReadSeekCloser
	info filesystem.FileInfo
}

// Info describes the file.
func (f openFile) Info() filesystem.FileInfo { return f.info }

// Load reads a whole file of at most limit bytes; filesystem.ErrTooLarge where it has more. On HDFS
// that is one call to the NameNode, and one read for each block; it survives what Open does.
func (f *FS) Load(ctx context.Context, uri string, limit int64) ([]byte, filesystem.FileInfo, error) {
	b, at, err := f.resolve(uri)
	if err != nil {
		return nil, filesystem.FileInfo{}, err
	}
	content, e, err := b.load(ctx, at.path, limit)
	if err != nil {
		return nil, filesystem.FileInfo{}, failed("read", at, err)
	}
	return content, e.info(at.String()), nil
}

// CreateOptions say how a file is made.
type CreateOptions struct {
	Parents     filesystem.Parents // zero: filesystem.ExistingParents
	Mode        fs.FileMode        // permission bits; zero: 0666 less the umask
	Replication int                // HDFS copies; zero: dfs.replication as configured, else the NameNode's default
}

// Create makes a new file that everybody may read, as the umask allows.
func (f *FS) Create(ctx context.Context, uri string, parents filesystem.Parents) (io.WriteCloser, error) {
	return f.CreateMode(ctx, uri, CreateOptions{Parents: parents})
}

// CreateMode makes a new file; fs.ErrExist where the file exists. All data is
// only safe when Close has returned without an error.
func (f *FS) CreateMode(ctx context.Context, uri string, o CreateOptions) (io.WriteCloser, error) {
	b, at, err := f.resolve(uri)
	if err != nil {
		return nil, err
	}
	if o.Mode == 0 {
		o.Mode = 0o666 &^ f.umask
	}
	if o.Parents == filesystem.MakeParents {
		if err := b.mkdirAll(ctx, path.Dir(at.path), 0o777&^f.umask); err != nil {
			return nil, failed("make parents of", at, err)
		}
	}
	w, err := b.create(ctx, at.path, o)
	if err != nil {
		return nil, failed("create", at, err)
	}
	return w, nil
}

// Rename moves a file or directory within one file system. An existing target
// is fs.ErrExist and a missing source or target parent fs.ErrNotExist. On HDFS
// that is one step, and is done once though it may be asked for several times; on
// the local disk a target that appears after the check is replaced.
func (f *FS) Rename(ctx context.Context, from, to string) error {
	b, source, err := f.resolve(from)
	if err != nil {
		return err
	}
	_, target, err := f.resolve(to)
	if err != nil {
		return err
	}
	if source.scheme != target.scheme || source.authority != target.authority {
		return fmt.Errorf("rename %s to %s: the target is on another file system", source, target)
	}
	if err := b.rename(ctx, source.path, target.path); err != nil {
		return fmt.Errorf("rename %s to %s: %w", source, target, err)
	}
	return nil
}

// MkdirAll makes a directory and its parents with mode 0777 less the umask; an
// existing one is no error and keeps its mode.
func (f *FS) MkdirAll(ctx context.Context, dir string) error {
	return f.MkdirMode(ctx, dir, 0o777&^f.umask)
}

// MkdirMode makes a directory, and its missing parents, with the given
// permission bits; an existing one is no error and keeps its mode.
func (f *FS) MkdirMode(ctx context.Context, dir string, mode fs.FileMode) error {
	b, at, err := f.resolve(dir)
	if err != nil {
		return err
	}
	if err := b.mkdirAll(ctx, at.path, mode); err != nil {
		return failed("make directory", at, err)
	}
	return nil
}

// RemoveAll removes a file or a tree; a missing one is no error.
func (f *FS) RemoveAll(ctx context.Context, uri string) error {
	b, at, err := f.resolve(uri)
	if err != nil {
		return err
	}
	if at.path == "/" {
		return failed("remove", at, errors.New("refusing to remove a whole file system"))
	}
	if err := b.removeAll(ctx, at.path); err != nil {
		return failed("remove", at, err)
	}
	return nil
}

// Remove removes a file or an empty directory, filesystem.ErrNotEmpty where it is another; a missing
// one is no error.
func (f *FS) Remove(ctx context.Context, uri string) error {
	b, at, err := f.resolve(uri)
	if err != nil {
		return err
	}
	if err := b.remove(ctx, at.path); err != nil {
		return failed("remove", at, err)
	}
	return nil
}

// failed names the operation and the place. The error of package os names its
// own operation and path again, so only its cause is kept.
func failed(operation string, at location, err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return fmt.Errorf("%s %s: %w", operation, at, err)
}

// resolve finds the backend and the place of a URI or path.
func (f *FS) resolve(uri string) (backend, location, error) {
	if f.confError != nil {
		return nil, location{}, f.confError
	}
	at, err := f.locate(uri)
	if err != nil {
		return nil, location{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, location{}, failed("use", at, ErrClosed)
	}
	if at.scheme == schemeFile {
		return local{}, at, nil
	}
	r, ok := f.clusters[at.authority]
	if !ok {
		if r, err = newRemote(at.authority, f.options); err != nil {
			return nil, location{}, failed("use", at, err)
		}
		f.clusters[at.authority] = r
	}
	return r, at, nil
}
