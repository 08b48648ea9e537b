package hdfsfake

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// inode is a file or a directory.
type inode struct {
	id       uint64
	dir      bool
	perm     uint32
	owner    string
	modified time.Time
	kind     fileKind // of a directory: the kind of new files in it
	writer   string   // client that has the file open for writing; "": it is complete
	blocks   []*block
	// replication is the number of copies that the file's client has asked for.
	replication uint32
}

// fileKind says how a file's bytes are stored on the DataNodes.
type fileKind int

const (
	plain fileKind = iota
	encrypted
	striped
)

// block is one block of a file.
type block struct {
	id, stamp uint64
	data      []byte
}

func (n *inode) length() uint64 {
	var total uint64
	for _, b := range n.blocks {
		total += uint64(len(b.data))
	}
	return total
}

// namespace holds the NameNodes' knowledge and the content of blocks. It is plain data.
type namespace struct {
	inodes map[string]*inode // by clean absolute path
	blocks map[uint64]*block
	lastID uint64
}

func newNamespace() namespace {
	return namespace{
		inodes: map[string]*inode{"/": {id: 1, dir: true, perm: 0o777, owner: "hdfs", modified: time.Now()}},
		blocks: make(map[uint64]*block), lastID: 1,
	}
}

func (s *namespace) nextID() uint64 {
	s.lastID++
	return s.lastID
}

// make adds an inode to an existing directory, and gives it the directory's kind.
func (s *namespace) make(at string, n inode) *inode {
	n.id, n.modified, n.kind = s.nextID(), time.Now(), s.inodes[path.Dir(at)].kind
	s.inodes[at] = &n
	return &n
}

// mkdirs makes a directory and its missing parents.
func (s *namespace) mkdirs(at string, perm uint32, owner string) error {
	if n := s.inodes[at]; n != nil {
		if !n.dir {
			return rpctest.Exception(classExists, at+" is not a directory")
		}
		return nil
	}
	if err := s.mkdirs(path.Dir(at), perm, owner); err != nil {
		return err
	}
	s.make(at, inode{dir: true, perm: perm, owner: owner})
	return nil
}

// parent checks that a path can be made.
func (s *namespace) parent(at string) error {
	switch n := s.inodes[path.Dir(at)]; {
	case n == nil:
		return rpctest.Exception(classNotFound, "Parent directory doesn't exist: "+path.Dir(at))
	case !n.dir:
		return rpctest.Exception("org.apache.hadoop.fs.ParentNotDirectoryException", path.Dir(at)+" is not a directory")
	default:
		return nil
	}
}

// rename moves a tree and replaces nothing (Options.Rename.NONE).
func (s *namespace) rename(from, to string) error {
	if s.inodes[from] == nil {
		return rpctest.Exception(classNotFound, "rename source "+from+" is not found.")
	}
	if s.inodes[to] != nil {
		return rpctest.Exception(classExists, "rename destination "+to+" already exists")
	}
	if err := s.parent(to); err != nil {
		return err
	}
	for _, at := range s.tree(from) {
		s.inodes[to+strings.TrimPrefix(at, from)] = s.inodes[at]
		delete(s.inodes, at)
	}
	return nil
}

// remove removes a tree, and reports whether there was one.
func (s *namespace) remove(at string, recursive bool) (bool, error) {
	tree := s.tree(at)
	if len(tree) > 1 && !recursive {
		return false, rpctest.Exception("org.apache.hadoop.fs.PathIsNotEmptyDirectoryException", at+" is non empty")
	}
	for _, each := range tree {
		for _, b := range s.inodes[each].blocks {
			delete(s.blocks, b.id)
		}
		delete(s.inodes, each)
	}
	return len(tree) > 0, nil
}

// tree returns a path and all paths below it.
func (s *namespace) tree(at string) []string {
	var all []string
	for _, each := range slices.Sorted(maps.Keys(s.inodes)) {
		if each == at || strings.HasPrefix(each, strings.TrimSuffix(at, "/")+"/") {
			all = append(all, each)
		}
	}
	return all
}

// children returns the names in a directory after a given one, in order.
func (s *namespace) children(dir, after string) []string {
	var names []string
	for at := range s.inodes {
		if at != "/" && path.Dir(at) == dir && path.Base(at) > after {
			names = append(names, path.Base(at))
		}
	}
	slices.Sort(names)
	return names
}

// addBlock adds a block to a file that is being written.
func (s *namespace) addBlock(n *inode) *block {
	b := &block{id: s.nextID(), stamp: 1000}
	n.blocks = append(n.blocks, b)
	s.blocks[b.id] = b
	return b
}

// WriteFile makes or changes a file, and makes its parents. A changed file gets new
// blocks and a later modification time.
func (f *Fake) WriteFile(at string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.space
	var before time.Time
	if old := s.inodes[at]; old != nil {
		before = old.modified
	}
	if _, err := s.remove(at, true); err != nil {
		panic(err) // it cannot fail
	}
	if err := s.mkdirs(path.Dir(at), 0o755, "hdfs"); err != nil {
		panic("hdfsfake: " + err.Error())
	}
	n := s.make(at, inode{perm: 0o644, owner: "hdfs", replication: 1})
	if !n.modified.Truncate(time.Millisecond).After(before) {
		n.modified = before.Add(time.Millisecond)
	}
	for len(content) > 0 {
		size := min(int64(len(content)), f.config.BlockSize)
		s.addBlock(n).data = slices.Clone(content[:size])
		content = content[size:]
	}
}

// ReadFile returns the content of a file, and whether it is complete. It returns nil and
// false if there is no file.
func (f *Fake) ReadFile(at string) (content []byte, complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.space.inodes[at]
	if n == nil || n.dir {
		return nil, false
	}
	content = []byte{}
	for _, b := range n.blocks {
		content = append(content, b.data...)
	}
	return content, n.writer == ""
}

// Replication returns the number of copies that the client of a file has asked for. It is
// 0 if there is no file.
func (f *Fake) Replication(at string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.space.inodes[at]; n != nil {
		return int(n.replication)
	}
	return 0
}

// Paths returns all files and directories except the root, in order.
func (f *Fake) Paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.space.tree("/")[1:]
}

// Encrypt makes a directory an encryption zone, for its present and later files.
func (f *Fake) Encrypt(dir string) { f.setKind(dir, encrypted) }

// Stripe sets an erasure coding policy for a directory and its files.
func (f *Fake) Stripe(dir string) { f.setKind(dir, striped) }

func (f *Fake) setKind(dir string, kind fileKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.space.mkdirs(dir, 0o777, "hdfs"); err != nil {
		panic("hdfsfake: " + err.Error())
	}
	for _, at := range f.space.tree(dir) {
		f.space.inodes[at].kind = kind
	}
}

// Remove removes a file or a tree.
func (f *Fake) Remove(at string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.space.remove(at, true); err != nil {
		panic(err) // it cannot fail
	}
}
