package dfsmodel

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// Limits of the lease of a client that does not renew it.
const (
	// SoftLimit is the time after which another client's create of an open file begins its recovery
	// (HdfsConstants.LEASE_SOFTLIMIT_PERIOD).
	SoftLimit = time.Minute
	// HardLimit is the time after which the NameNode begins the recovery of the client's files
	// (dfs.namenode.lease-hard-limit-sec).
	HardLimit = 20 * time.Minute
	// RecoveryTime is how long the DataNodes take to agree on the length of a block. It takes two heartbeats
	// of a DataNode, of 3 s each (dfs.heartbeat.interval).
	RecoveryTime = 6 * time.Second
)

// recoverer holds the files that are being recovered (HdfsServerConstants.NAMENODE_LEASE_HOLDER).
const recoverer = "HDFS_NameNode"

// file is the part of an inode that only files have.
type file struct {
	id        FileID
	data      []byte
	block     bool      // it has a block, perhaps an empty one
	writer    string    // client that has it open; "": it is complete
	recovered bool      // its holder has lost the lease
	completes time.Time // end of the recovery; only if writer is recoverer
}

// Create makes a file, open for writing by the client. Its parent must exist. The exception for a file that
// another client has open is AlreadyBeingCreatedException.
func (n *Namespace) Create(now time.Time, at string, mode fs.FileMode, client, user string) (FileID, error) {
	n.settle(now)
	node, err := n.findNew(Create, at)
	switch {
	case err != nil:
		return 0, err
	case node != nil && node.dir:
		return 0, exception(Create, classExists, "%s already exists as a directory", at)
	case node != nil:
		return 0, n.exists(now, node, client)
	}
	dir, err := n.parent(Create, at)
	if err != nil {
		return 0, err
	}
	n.lastID++
	node = &inode{mode: mode, owner: user, modTime: milliseconds(now), file: file{id: n.lastID, writer: client}}
	node.attach(dir, path.Base(at), now)
	n.files[node.id] = node
	n.open = append(n.open, node)
	if _, silent := n.silent[client]; silent { // a call that was under way when the client died
		n.silent[client] = now // a create renews the lease
	}
	return node.id, nil
}

// exists returns the exception of a create of a file that exists. It begins the recovery of the file if its
// holder has not renewed the lease for the soft limit (FSNamesystem#recoverLeaseInternal).
func (n *Namespace) exists(now time.Time, node *inode, client string) error {
	since, silent := n.silent[node.writer]
	expired := silent && now.Sub(since) > SoftLimit
	switch {
	case node.writer == "":
	case node.writer == recoverer:
		return exception(Create, classRecovery, "Failed to CREATE_FILE %s for %s because another recovery is in progress", node.path(), client)
	case node.writer == client || !expired:
		return exception(Create, classBeingCreated, "Failed to CREATE_FILE %s for %s because this file lease is currently owned by %s", node.path(), client, node.writer)
	case node.block:
		n.revoke(now, node)
		return exception(Create, classRecovery, "Failed to CREATE_FILE %s for %s because lease recovery is in progress. Try again later.", node.path(), client)
	default:
		n.revoke(now, node)
	}
	return exception(Create, classExists, "%s for client %s already exists", node.path(), client)
}

// revoke takes the lease of an open file away from its holder. A file without a block is complete at once.
func (n *Namespace) revoke(at time.Time, node *inode) {
	node.recovered = true
	if !node.block {
		n.finish(at, node)
		return
	}
	node.writer, node.completes = recoverer, at.Add(RecoveryTime)
}

// finish makes an open file complete.
func (n *Namespace) finish(at time.Time, node *inode) {
	node.writer, node.modTime = "", milliseconds(at)
	n.closed(node)
}

// closed drops a file from those that are open.
func (n *Namespace) closed(node *inode) {
	n.open = slices.DeleteFunc(n.open, func(each *inode) bool { return each == node })
}

// settle does what the NameNode has done by itself until now: it begins and ends recoveries.
func (n *Namespace) settle(now time.Time) {
	for _, node := range slices.Clone(n.open) {
		if since, silent := n.silent[node.writer]; silent && now.Sub(since) > HardLimit {
			n.revoke(since.Add(HardLimit), node)
		}
		if node.writer == recoverer && !now.Before(node.completes) {
			n.finish(node.completes, node)
		}
	}
}

// held returns the file that a client has open.
func (n *Namespace) held(method Kind, id FileID, client string) (*inode, error) {
	node := n.files[id]
	switch {
	case node == nil:
		return nil, exception(method, classNotFound, "File does not exist: (inode %d) Holder %s", id, client)
	case node.writer == "":
		return node, exception(method, classLease, "File is not open for writing: %s (inode %d) Holder %s", node.path(), id, client)
	case node.writer != client:
		return node, exception(method, classLease, "Client (=%s) is not the lease owner (=%s: %s", client, node.writer, node.path())
	default:
		return node, nil
	}
}

// AddBlock gives a file that the client has open its block.
func (n *Namespace) AddBlock(now time.Time, id FileID, client string) error {
	n.settle(now)
	node, err := n.held(AddBlock, id, client)
	if err == nil {
		node.block = true
	}
	return err
}

// Append writes bytes to the block of a file. It is a call to the DataNodes. They refuse it only after the
// recovery of the block has begun. They have not heard yet of a removal, so the bytes are lost then.
func (n *Namespace) Append(now time.Time, id FileID, client string, data []byte) error {
	n.settle(now)
	node := n.files[id]
	switch {
	case node == nil:
		return nil
	case node.writer != client:
		return fmt.Errorf("write block of file %d: its recovery has begun: %w", id, hdfs.ErrPipeline)
	default:
		node.data = append(node.data, data...)
		return nil
	}
}

// Complete closes a file that the client has open. For a file that is closed already it succeeds if the client
// may have closed it: the call is repeated if its answer is lost (FSDirWriteFileOp#completeFileInternal).
func (n *Namespace) Complete(now time.Time, id FileID, client string) error {
	n.settle(now)
	node, err := n.held(Complete, id, client)
	switch {
	case err == nil:
		n.finish(now, node)
		return nil
	case node != nil && node.writer == "" && (!node.block || !node.recovered): // the same last block
		return nil
	default:
		return err
	}
}

// Crash ends a client: it renews its leases no more. Files that it has open stay open until their recovery.
func (n *Namespace) Crash(now time.Time, client string) { n.Freeze(now, client) }

// Freeze says that a client renews its leases no more, until Wake. It may still live.
func (n *Namespace) Freeze(now time.Time, client string) {
	n.settle(now)
	if _, silent := n.silent[client]; !silent {
		n.silent[client] = now
	}
}

// Wake says that a client renews its leases again. Files that were taken from it stay lost.
func (n *Namespace) Wake(now time.Time, client string) {
	n.settle(now)
	delete(n.silent, client)
}
