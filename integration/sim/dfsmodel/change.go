package dfsmodel

import (
	"io/fs"
	"path"
	"strings"
	"time"
)

// Mkdir makes a directory whose parent must exist (mkdirs without createParent). It is no error if the directory
// exists.
func (n *Namespace) Mkdir(now time.Time, at string, mode fs.FileMode, owner string) error {
	n.settle(now)
	node, err := n.findNew(Mkdirs, at)
	if err == nil && node == nil {
		_, err = n.parent(Mkdirs, at)
	}
	if err != nil {
		return err
	}
	return n.Mkdirs(now, at, mode, owner)
}

// Mkdirs makes a directory and its missing parents. It is no error if the directory exists. Missing parents get
// the same mode, and their owner may always enter them and add entries (FSDirMkdirOp#addImplicitUwx).
func (n *Namespace) Mkdirs(now time.Time, at string, mode fs.FileMode, owner string) error {
	n.settle(now)
	node, err := n.findNew(Mkdirs, at)
	switch {
	case err != nil:
		return err
	case node != nil && !node.dir:
		return exception(Mkdirs, classExists, "Path is not a directory: %s", at)
	case node != nil:
		return nil
	}
	node = n.root
	names := strings.Split(strings.Trim(at, "/"), "/")
	for i, name := range names {
		child := node.children[name]
		if child == nil {
			m := mode
			if i < len(names)-1 {
				m |= 0o300
			}
			child = &inode{children: map[string]*inode{}, dir: true, mode: m, owner: owner, modTime: milliseconds(now)}
			child.attach(node, name, now)
		}
		node = child
	}
	return nil
}

// Rename moves a file or a tree, with the files in it that are open for writing. It replaces nothing.
func (n *Namespace) Rename(now time.Time, from, to string) error {
	n.settle(now)
	source, err := n.find(Rename, from)
	if err != nil {
		return err
	}
	target, err := n.findNew(Rename, to)
	switch {
	case err != nil:
		return err
	case source == nil:
		return exception(Rename, classNotFound, "rename source %s is not found.", from)
	case source == n.root:
		return exception(Rename, classIO, "rename source cannot be the root")
	case strings.HasPrefix(to, from+"/"):
		return exception(Rename, classIO, "Rename destination %s is a directory or file under source %s", to, from)
	case target == n.root:
		return exception(Rename, classIO, "rename destination cannot be the root")
	case target != nil && target.dir != source.dir:
		return exception(Rename, classIO, "Source %s and destination %s must both be directories", from, to)
	case target != nil:
		return exception(Rename, classExists, "rename destination %s already exists", to)
	}
	dir, err := n.parent(Rename, to)
	if err != nil {
		return err
	}
	source.detach(now)
	source.attach(dir, path.Base(to), now)
	return nil
}

// parent returns the directory of a path that a call creates.
func (n *Namespace) parent(method Kind, at string) (*inode, error) {
	dir, err := n.findNew(method, path.Dir(at))
	switch {
	case err != nil:
		return nil, err
	case dir == nil:
		return nil, exception(method, classNotFound, "Parent directory doesn't exist: %s", path.Dir(at))
	default: // findNew of the whole path has refused a file
		return dir, nil
	}
}

// Delete removes a file or a tree, or without recursive a file or an empty directory, and reports whether there
// was anything. The NameNode keeps its root. Writers of removed files fail at their next call to the NameNode.
func (n *Namespace) Delete(now time.Time, at string, recursive bool) (was bool, err error) {
	n.settle(now)
	node, err := n.find(Delete, at)
	switch {
	case err != nil:
		return false, err
	case node == nil || node == n.root:
		return false, nil
	case len(node.children) > 0 && !recursive:
		return false, exception(Delete, classNotEmpty, "%s is non empty", at)
	}
	node.detach(now)
	n.forget(node)
	return true, nil
}

// forget drops the files of a removed tree.
func (n *Namespace) forget(node *inode) {
	if !node.dir {
		delete(n.files, node.id)
		n.closed(node)
		return
	}
	for _, name := range node.names() {
		n.forget(node.children[name])
	}
}
