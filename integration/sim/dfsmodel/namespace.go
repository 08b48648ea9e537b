package dfsmodel

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// FileID identifies a file, also after a rename. No two files ever have the same id.
type FileID uint64

// Status describes a file or directory.
type Status struct {
	Path    string // absolute
	IsDir   bool
	Mode    fs.FileMode // permission bits, and fs.ModeSticky
	Owner   string
	ModTime time.Time // to the millisecond
	Size    int64     // bytes; 0 for directories, and for files that are open for writing
	Writer  string    // the holder of a file that is open for writing; "" for all others
}

// Namespace is the state of a NameNode and its DataNodes. Its methods return the NameNode's exceptions as
// *yarnrpc.RemoteError. Paths are absolute and clean. The time may not go back from call to call. Only one
// goroutine may use it.
type Namespace struct {
	// ListLimit is the number of entries in one part of a listing (dfs.ls.limit). New sets 1000.
	ListLimit int

	root   *inode
	files  map[FileID]*inode // all that exist; never iterated over
	lastID FileID
	open   []*inode             // files with a holder, in the order of their creation
	silent map[string]time.Time // clients that renew their leases no more, and since when; never iterated over
}

// inode is a file or directory.
type inode struct {
	name     string
	parent   *inode // nil for the root, and after the removal
	children map[string]*inode
	dir      bool
	mode     fs.FileMode
	owner    string
	modTime  time.Time
	file
}

// NewNamespace makes an HDFS with only a root directory. As on a cluster, everybody may write there only if the
// administrator says so: its owner is hdfs and its mode 0755.
func NewNamespace(now time.Time) *Namespace {
	root := &inode{children: map[string]*inode{}, dir: true, mode: 0o755, owner: "hdfs", modTime: milliseconds(now)}
	return &Namespace{ListLimit: 1000, root: root, files: map[FileID]*inode{}, silent: map[string]time.Time{}}
}

func milliseconds(t time.Time) time.Time { return t.Truncate(time.Millisecond) }

// find returns the inode of a path, or nil. A path below a file is an exception.
func (n *Namespace) find(method Kind, at string) (*inode, error) {
	return n.resolve(method, classDenied, at)
}

// findNew is find for a path that the call would create.
func (n *Namespace) findNew(method Kind, at string) (*inode, error) {
	return n.resolve(method, classNotDirectory, at)
}

func (n *Namespace) resolve(method Kind, below, at string) (*inode, error) {
	node := n.root
	for name := range strings.SplitSeq(strings.Trim(at, "/"), "/") {
		switch {
		case name == "":
		case !node.dir:
			return nil, exception(method, below, "%s (is not a directory)", node.path())
		default:
			if node = node.children[name]; node == nil {
				return nil, nil
			}
		}
	}
	return node, nil
}

// path returns the absolute path of an inode.
func (i *inode) path() string {
	if i.parent == nil {
		return "/" + i.name // only the root has no name
	}
	return path.Join(i.parent.path(), i.name)
}

func (i *inode) status() Status {
	s := Status{Path: i.path(), IsDir: i.dir, Mode: i.mode, Owner: i.owner, ModTime: i.modTime, Writer: i.writer}
	if i.writer == "" {
		s.Size = int64(len(i.data))
	}
	return s
}

// names returns the names of a directory's entries, sorted.
func (i *inode) names() []string { return slices.Sorted(maps.Keys(i.children)) }

// attach makes an inode an entry of a directory.
func (i *inode) attach(dir *inode, name string, now time.Time) {
	i.parent, i.name = dir, name
	dir.children[name] = i
	dir.modTime = milliseconds(now)
}

// detach removes an inode from its directory.
func (i *inode) detach(now time.Time) {
	delete(i.parent.children, i.name)
	i.parent.modTime = milliseconds(now)
	i.parent = nil
}

// Stat describes a file or directory.
func (n *Namespace) Stat(now time.Time, at string) (Status, error) {
	n.settle(now)
	node, err := n.existing(GetFileInfo, at)
	if err != nil {
		return Status{}, err
	}
	return node.status(), nil
}

// existing returns the inode of a path, or an exception.
func (n *Namespace) existing(method Kind, at string) (*inode, error) {
	node, err := n.find(method, at)
	if err == nil && node == nil {
		err = exception(method, classNotFound, "File does not exist: %s", at)
	}
	return node, err
}

// List describes the entries of a directory whose names come after a given one, ListLimit of them at most,
// sorted, and reports whether there are more. Of a file it describes that file.
func (n *Namespace) List(now time.Time, at, after string) (part []Status, more bool, err error) {
	n.settle(now)
	node, err := n.existing(GetListing, at)
	if err != nil {
		return nil, false, err
	}
	if !node.dir {
		return []Status{node.status()}, false, nil
	}
	names := node.names()
	from, found := slices.BinarySearch(names, after)
	if found {
		from++
	}
	names = names[from:]
	more = len(names) > n.ListLimit
	for _, name := range names[:min(len(names), n.ListLimit)] {
		part = append(part, node.children[name].status())
	}
	return part, more, nil
}

// Read returns the bytes of a file and describes it. An open file has no bytes for readers.
func (n *Namespace) Read(now time.Time, at string) ([]byte, Status, error) {
	n.settle(now)
	node, err := n.existing(GetBlockLocations, at)
	if err != nil {
		return nil, Status{}, err
	}
	if node.dir {
		return nil, node.status(), exception(GetBlockLocations, classNotFound, "Path is not a file: %s", at)
	}
	if node.writer != "" {
		return nil, node.status(), nil
	}
	return slices.Clone(node.data), node.status(), nil
}

// Tree describes all files and directories below a directory, without it, sorted by path: a parent comes before
// its entries. It is for the checks of a simulation; there is no such call to a NameNode.
func (n *Namespace) Tree(now time.Time, dir string) []Status {
	n.settle(now)
	top, err := n.find(GetListing, dir)
	if err != nil || top == nil {
		return nil
	}
	var all []Status
	var walk func(*inode)
	walk = func(node *inode) {
		for _, name := range node.names() {
			child := node.children[name]
			all = append(all, child.status())
			walk(child)
		}
	}
	walk(top)
	return all
}
