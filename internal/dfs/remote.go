package dfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

var (
	// errIsDirectory is the error of reading a directory as a file.
	errIsDirectory = errors.New("is a directory")
	// errNotDirectory is the error of listing a file.
	errNotDirectory = errors.New("is not a directory")
	// errNoBlock says that the NameNode knows the length of a file, but not all of its blocks.
	errNoBlock = errors.New("the NameNode lists no block with the rest of the file; another program may still be writing it")
)

// remote is one HDFS cluster, or one of its nameservices.
type remote struct {
	*connection
	nameNode    *hdfs.NameNode // for calls that only read, renames, removals of one file, and tokens
	patience    time.Duration  // Options.Patience
	replication int            // 0: the NameNode's default
	blockSize   int64          // 0: the NameNode's default
	observe     func(hdfs.Transfer)
}

func newRemote(authority string, o Options) (*remote, error) {
	access, err := accessTo(authority, o)
	if err != nil {
		return nil, err
	}
	replication, blockSize, err := fileDefaults(o.Conf)
	if err != nil {
		return nil, err
	}
	dialer := hdfs.NewDialer(access)
	return &remote{
		connection: &connection{
			name: authority, user: o.User, useName: access.UseDatanodeHostname,
			dialer: dialer, log: o.Logger, closing: make(chan struct{}),
		},
		nameNode: dialer.NameNode(), patience: o.Patience, replication: replication, blockSize: blockSize, observe: o.ObserveData,
	}, nil
}

// fileDefaults returns the defaults of the client's configuration files for new files. If only
// Hadoop's own defaults have a value, fileDefaults leaves it to the NameNode, whose value is the
// cluster's.
func fileDefaults(conf *hadoopconf.Conf) (replication int, blockSize int64, err error) {
	if conf.SourceOf("dfs.replication") != (hadoopconf.Source{}) {
		n, err := conf.Int("dfs.replication")
		if err != nil {
			return 0, 0, err
		}
		replication = int(n)
	}
	if conf.SourceOf("dfs.blocksize") != (hadoopconf.Source{}) {
		if blockSize, err = conf.Size("dfs.blocksize"); err != nil {
			return 0, 0, err
		}
	}
	return replication, blockSize, nil
}

func (r *remote) stat(ctx context.Context, path string) (entry, error) {
	status, err := r.nameNode.Stat(ctx, path)
	if err != nil {
		return entry{}, r.failure(ctx, err)
	}
	return remoteEntry(status), nil
}

func remoteEntry(s hdfs.Status) entry {
	return entry{name: s.Name, size: s.Length, modTime: s.ModTime, isDir: s.IsDir, mode: s.Mode, acl: s.HasACL, ownedBy: s.Owner}
}

// failure returns the error of a call, or the cause of ctx if that has ended.
func (r *remote) failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return r.answer(err)
}

func (r *remote) owner(e entry) (name string, own bool) { return e.ownedBy, e.ownedBy == r.user }

func (r *remote) list(ctx context.Context, dir string) ([]entry, error) {
	var entries []entry
	for part, err := range r.nameNode.List(ctx, dir, false) {
		if err != nil {
			return nil, r.failure(ctx, err)
		}
		for _, status := range part {
			if status.Name == "" {
				return nil, errNotDirectory
			}
			entries = append(entries, remoteEntry(status))
		}
	}
	return entries, nil
}

func (r *remote) scan(ctx context.Context, path string, part func([]entry) error) error {
	for found, err := range r.nameNode.List(ctx, path, true) {
		if err != nil {
			return r.failure(ctx, err)
		}
		entries := make([]entry, 0, len(found))
		for _, status := range found {
			entries = append(entries, r.scanned(status))
		}
		if err := part(entries); err != nil {
			return err
		}
	}
	return nil
}

func (r *remote) scanned(s hdfs.Status) entry {
	e := remoteEntry(s)
	if s.IsDir {
		return e
	}
	if s.Refused != nil {
		e.refused = r.answer(s.Refused)
	}
	if !s.HasACL {
		e.rights = fmt.Sprintf("%s:%s:%o", s.Owner, s.Group, s.Mode)
	}
	for _, b := range s.Blocks {
		e.blocks = append(e.blocks, filesystem.Block{Offset: b.Offset, Length: b.Length, Hosts: b.Hosts})
	}
	return e
}

// checkReadable makes the NameNode check the permission, as for a reader.
func (r *remote) checkReadable(ctx context.Context, path string) error {
	_, err := r.nameNode.Locate(ctx, path, 0, 1)
	return r.failure(ctx, err)
}

func (r *remote) open(ctx context.Context, path string) (io.ReadSeekCloser, entry, error) {
	status, err := r.nameNode.Stat(ctx, path)
	if err == nil {
		err = unreadable(status)
	}
	if err != nil {
		return nil, entry{}, r.failure(ctx, err)
	}
	return newReader(r, path, status), remoteEntry(status), nil
}

// unreadable says why a path cannot be read; nil for a plain file.
func unreadable(s hdfs.Status) error {
	if s.IsDir {
		return errIsDirectory
	}
	return s.Refused
}

// load reads a small file with one call to the NameNode. If that call or a DataNode fails, load
// starts again, because the file may be another one then, with other blocks.
func (r *remote) load(ctx context.Context, path string, limit int64) ([]byte, entry, error) {
	tries := retries{patience: r.patience}
	for {
		content, e, err := r.loadOnce(ctx, path, limit)
		if err == nil {
			return content, e, nil
		}
		err = r.failure(ctx, err)
		wait, again := tries.after(err)
		if !again {
			return nil, entry{}, err
		}
		r.log.WithError(err).WithField("path", path).Debug("file is read again")
		if err := pause.For(ctx, wait); err != nil {
			return nil, entry{}, err
		}
	}
}

func (r *remote) loadOnce(ctx context.Context, path string, limit int64) ([]byte, entry, error) {
	status, err := r.nameNode.Open(ctx, path)
	if err == nil {
		err = unreadable(status)
	}
	if err == nil && status.Length > limit {
		err = filesystem.ErrTooLarge
	}
	if err != nil {
		return nil, entry{}, err
	}
	content := make([]byte, 0, status.Length)
	for _, block := range status.Blocks {
		rest := content[len(content):cap(content)]
		if block.Offset != int64(len(content)) || len(rest) == 0 {
			break
		}
		reader := r.dialer.ReadBlock(ctx, block, 0)
		n, err := io.ReadFull(reader, rest[:min(block.Length, int64(len(rest)))])
		reader.Close()
		if err != nil {
			return nil, entry{}, err
		}
		content = content[:len(content)+n]
	}
	if int64(len(content)) < status.Length {
		return nil, entry{}, errNoBlock
	}
	return content, remoteEntry(status), nil
}

func (r *remote) create(ctx context.Context, path string, o CreateOptions) (io.WriteCloser, error) {
	create := func(client *colinmarc.Client) (*colinmarc.FileWriter, error) {
		return r.createTarget(client, path, o)
	}
	target, err := doOrUndo(ctx, r.connection, create, func(client *colinmarc.Client, target *colinmarc.FileWriter) {
		if err := errors.Join(target.Close(), client.Remove(path)); err != nil {
			r.log.WithError(err).WithField("path", path).Warn("could not remove a file that was created after its caller had given up")
		}
	})
	if err != nil {
		return nil, err
	}
	return &writer{remote: r, path: path, target: target}, nil
}

func (r *remote) createTarget(client *colinmarc.Client, path string, o CreateOptions) (*colinmarc.FileWriter, error) {
	defaults, err := client.ServerDefaults()
	if err != nil {
		return nil, err
	}
	replication, blockSize := defaults.Replication, defaults.BlockSize
	if r.blockSize != 0 {
		blockSize = r.blockSize
	}
	if r.replication != 0 {
		replication = r.replication
	}
	if o.Replication != 0 {
		replication = o.Replication
	}
	replication = max(replication-o.Fewer, 1)
	return client.CreateFile(path, replication, blockSize, o.Mode.Perm())
}

func (r *remote) replicate(ctx context.Context, path string) error {
	replication := r.replication
	if replication == 0 {
		defaults, err := do(ctx, r.connection, func(client *colinmarc.Client) (colinmarc.ServerDefaults, error) { return client.ServerDefaults() })
		if err != nil {
			return err
		}
		replication = defaults.Replication
	}
	if err := r.nameNode.SetReplication(ctx, path, replication); err != nil {
		return r.answer(err)
	}
	return nil
}

func (r *remote) rename(ctx context.Context, from, to string) error {
	if err := r.nameNode.Rename(ctx, from, to); err != nil {
		return r.answer(err)
	}
	return nil
}

func (r *remote) mkdir(ctx context.Context, dir string, mode fs.FileMode) error {
	_, err := do(ctx, r.connection, func(client *colinmarc.Client) (struct{}, error) {
		return struct{}{}, client.Mkdir(dir, mode.Perm())
	})
	return err
}

func (r *remote) mkdirAll(ctx context.Context, dir string, mode fs.FileMode) error {
	_, err := do(ctx, r.connection, func(client *colinmarc.Client) (struct{}, error) {
		return struct{}{}, client.MkdirAll(dir, mode.Perm())
	})
	return err
}

func (r *remote) removeAll(ctx context.Context, path string) error {
	_, err := do(ctx, r.connection, func(client *colinmarc.Client) (struct{}, error) {
		return struct{}{}, client.RemoveAll(path)
	})
	if errors.Is(err, fs.ErrNotExist) { // another client has removed it meanwhile
		return nil
	}
	return err
}

func (r *remote) remove(ctx context.Context, path string) error {
	if err := r.nameNode.Remove(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r.answer(err)
	}
	return nil
}
