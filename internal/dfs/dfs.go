// Package dfs is the file access of every role: one filesystem.FileSystem for HDFS (colinmarc/hdfs)
// and the local disk. The scheme of the URI selects one of them.
//
// An FS owns one connection to each NameNode, which the first call opens and all calls share. It
// has a goroutine for each open HDFS file, which reads ahead, and one for each call that changes
// something, because the library's calls take no context. FS.Close ends them all and waits.
//
// If a NameNode does not answer a call, the layer below retries it for Options.Patience, after a
// failover at the other NameNode. The NameNode executes the call once. The layer also retries calls
// that a NameNode refuses temporarily: in safe mode, and while it knows no DataNode for writing
// (see yarnrpc.Judge). Reads wait as long for a DataNode.
//
// The package must never import a role. Roles reach HDFS only through it.
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
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// ErrClosed is the error of calls after FS.Close.
var ErrClosed = errors.New("file access is closed")

// Options configure an FS. The zero value serves only the local disk.
type Options struct {
	// Conf is the Hadoop configuration: the default file system, nameservices,
	// replication, umask. Nil: paths without a scheme are local.
	Conf *hadoopconf.Conf
	// User is the short name of the user on HDFS. Relative paths start from the user's home
	// directory. Clusters without Kerberos trust this name. Required for HDFS.
	User string
	// RealUser is the user who acts for User; "" if User acts (hadoop.proxyuser.*). On clusters
	// with Kerberos it is the user who has logged in.
	RealUser string
	// Credentials returns the process's tokens. Each new connection calls it, so new tokens are
	// used from the next connection on. A connection to a NameNode uses its token, if there is one,
	// and otherwise Login. Nil: no tokens.
	Credentials func() *creds.Credentials
	// Login logs in at the NameNodes of secure clusters; kerberos.Login implements it. Nil: only
	// tokens.
	Login yarnrpc.Login
	// Patience is how long the FS retries a NameNode that does not answer, or a pair of NameNodes,
	// before a call fails. Reads wait as long for a block whose DataNodes cannot be reached. A
	// failover takes minutes on many clusters. 0: as many retries as Hadoop's own clients make
	// (yarnrpc.NameNodePolicy).
	Patience time.Duration
	// Limit names the setting behind Patience, for errors: see yarnrpc.Policy.
	Limit string
	// Dial replaces the TCP dialer for NameNodes and DataNodes.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Observe sees each try of a call to a NameNode, as yarnrpc.Options.Observe. Nil: nothing does.
	Observe func(yarnrpc.Try)
	// ObserveData sees transfers of blocks, as hdfs.DialerOptions.Observe, and once for each file whose writing fails. Nil: nothing
	// does.
	ObserveData func(hdfs.Transfer)
	// Logger logs retries. Nil: no logs.
	Logger logrus.FieldLogger
}

// FS is a filesystem.FileSystem. It may be used from any goroutine.
type FS struct {
	options   Options
	umask     fs.FileMode
	confError error // about a configuration value that every call needs

	mu       sync.Mutex // guards what follows
	closed   bool
	clusters map[string]*remote // by authority
}

var _ filesystem.FileSystem = (*FS)(nil)

// New makes an FS. It opens nothing before the first use. The first call that needs a configuration
// value returns the errors of that value.
func New(o Options) *FS {
	if o.Conf == nil {
		o.Conf = &hadoopconf.Conf{}
	}
	if o.Logger == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		o.Logger = silent
	}
	if o.ObserveData == nil {
		o.ObserveData = func(hdfs.Transfer) {}
	}
	f := &FS{options: o, clusters: make(map[string]*remote)}
	f.umask, f.confError = umask(o.Conf)
	return f
}

// umask reads fs.permissions.umask-mode, in octal. The default is 022.
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

// Close ends the connections of all file systems and waits for their goroutines. Open files fail,
// and files that are being written stay incomplete. Close may be called twice.
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
	mkdir(ctx context.Context, dir string, mode fs.FileMode) error
	mkdirAll(ctx context.Context, dir string, mode fs.FileMode) error
	removeAll(ctx context.Context, path string) error
	// owner returns the owner of an entry, and whether the owner is the user of the FS.
	owner(e entry) (name string, own bool)
	remove(ctx context.Context, path string) error
	replicate(ctx context.Context, path string) error
}

// entry describes a file or directory of a backend.
type entry struct {
	name    string // last element; empty for the path that was asked for
	size    int64
	modTime time.Time
	isDir   bool
	mode    fs.FileMode // permission bits, and fs.ModeSticky
	acl     bool        // it has an access control list
	ownedBy string      // as the backend has it

	// Only from a scan, as in filesystem.Entry:
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

// Status describes a file or directory with its owner and permissions (Hadoop's FileStatus).
type Status struct {
	filesystem.FileInfo
	Owner string      // short name
	Own   bool        // the owner is Options.User, or on the local disk this process's user
	Mode  fs.FileMode // permission bits, and fs.ModeSticky
	// ACL is true if there is an access control list. Then the group's bits of Mode are its mask:
	// they limit the rights of all but the owner and others.
	ACL bool
}

// Status describes one file or directory with its owner and permissions.
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

// Scan describes the entries of a directory, or one file, with all data that a reader needs. On
// HDFS each part costs one call (getListing with the locations of blocks), whatever it contains.
func (f *FS) Scan(ctx context.Context, uri string, part func([]filesystem.Entry) error) error {
	b, at, err := f.resolve(uri)
	if err != nil {
		return err
	}
	var refused error // the error of part, which names its object
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

// CheckReadable checks whether a file can be read: it asks the NameNode, or opens a local file.
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

// Open opens a file for reading. On HDFS the file reads ahead after the first read, and survives
// the loss of connections and DataNodes. If it must reconnect and the file has changed since it was
// opened, reading fails.
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

// openFile is an open file with its description at the time of opening.
type openFile struct {
	io.ReadSeekCloser
	info filesystem.FileInfo
}

// Info describes the file.
func (f openFile) Info() filesystem.FileInfo { return f.info }

// Load reads a whole file of at most limit bytes. If it has more, the error is
// filesystem.ErrTooLarge. On HDFS Load costs one call to the NameNode and one read for each block.
// It survives the same losses as Open.
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

// CreateOptions configure a new file.
type CreateOptions struct {
	Parents     filesystem.Parents // zero: filesystem.ExistingParents
	Mode        fs.FileMode        // permission bits; zero: 0666 less the umask
	Replication int                // HDFS copies; zero: dfs.replication as configured, else the NameNode's default
	Fewer       int                // so many copies less than that, but at least one; see FS.Replicate
}

// Create makes a new file that all users may read, as far as the umask allows.
func (f *FS) Create(ctx context.Context, uri string, parents filesystem.Parents) (io.WriteCloser, error) {
	return f.CreateMode(ctx, uri, CreateOptions{Parents: parents})
}

// CreateMode makes a new file. If the file exists, the error is fs.ErrExist. The data is safe only
// after Close has returned without an error.
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

// Rename moves a file or directory within one file system. The error is fs.ErrExist if the target
// exists, and fs.ErrNotExist if the source or the target's parent is missing. On HDFS Rename is
// atomic, and is executed once even if the call is repeated. On the local disk it replaces a target
// that appears after the check.
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

// Mkdir makes one directory with mode 0777 less the umask. See filesystem.FileSystem.
func (f *FS) Mkdir(ctx context.Context, dir string) error {
	return f.MkdirMode(ctx, dir, 0o777&^f.umask)
}

// MkdirMode makes one directory with these permission bits. The error is fs.ErrNotExist if its parent
// is missing, and fs.ErrExist if there is a file or a directory. On HDFS the client looks first, because
// mkdirs succeeds for a directory that exists. So of two callers at the same time, both may succeed.
// A repeated mkdirs, whose first answer was lost, succeeds.
func (f *FS) MkdirMode(ctx context.Context, dir string, mode fs.FileMode) error {
	b, at, err := f.resolve(dir)
	if err != nil {
		return err
	}
	if err := b.mkdir(ctx, at.path, mode); err != nil {
		return failed("make directory", at, err)
	}
	return nil
}

// MkdirAll makes a directory and its parents with mode 0777 less the umask. An existing directory
// is no error and keeps its mode.
func (f *FS) MkdirAll(ctx context.Context, dir string) error {
	return f.MkdirAllMode(ctx, dir, 0o777&^f.umask)
}

// MkdirAllMode makes a directory and its missing parents with these permission bits. An existing
// directory is no error and keeps its mode.
func (f *FS) MkdirAllMode(ctx context.Context, dir string, mode fs.FileMode) error {
	b, at, err := f.resolve(dir)
	if err != nil {
		return err
	}
	if err := b.mkdirAll(ctx, at.path, mode); err != nil {
		return failed("make directory", at, err)
	}
	return nil
}

// RemoveAll removes a file or a tree. It is no error if nothing is there.
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

// Remove removes a file or an empty directory. For a directory that is not empty the error is
// filesystem.ErrNotEmpty. It is no error if nothing is there.
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

// Replicate asks for as many copies of a file as new files have. A file that was made with CreateOptions.Fewer then gets the
// others later.
func (f *FS) Replicate(ctx context.Context, uri string) error {
	b, at, err := f.resolve(uri)
	if err != nil {
		return err
	}
	if err := b.replicate(ctx, at.path); err != nil {
		return failed("replicate", at, err)
	}
	return nil
}

// failed adds the operation and the place to an error. An error of package os names its own
// operation and path, so failed keeps only its cause.
func failed(operation string, at location, err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return fmt.Errorf("%s %s: %w", operation, at, err)
}

// resolve returns the backend and the location of a URI or path.
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
