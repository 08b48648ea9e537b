package dfs

import (
	"context"
	"errors"
	"io"
	"io/fs"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// errIsDirectory is the error of reading a directory as a file.
var errIsDirectory = errors.New("is a directory")

// remote is one HDFS cluster, or one of its nameservices.
type remote struct {
	*connection
	nameNode    *hdfs.NameNode // the calls that the library does not make
	replication int            // 0: the NameNode's default
	blockSize   int64          // 0: the NameNode's default
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
		nameNode: dialer.NameNode(), replication: replication, blockSize: blockSize,
	}, nil
}

// fileDefaults are what the client's files say of new files. Values that only
// Hadoop's defaults give are left to the NameNode, whose own are the cluster's.
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
	return do(ctx, r.connection, func(client *colinmarc.Client) (entry, error) {
		info, err := client.Stat(path)
		if err != nil {
			return entry{}, err
		}
		return remoteEntry(info), nil
	})
}

func remoteEntry(info fs.FileInfo) entry {
	e := entry{name: info.Name(), size: info.Size(), modTime: info.ModTime(), isDir: info.IsDir(), mode: info.Mode().Perm()}
	if info.Mode()&sticky != 0 {
		e.mode |= fs.ModeSticky
	}
	if status, ok := info.Sys().(*colinmarc.FileStatus); ok {
		e.ownedBy, e.acl = status.GetOwner(), status.GetFlags()&hasACL != 0
	}
	return e
}

const (
	// sticky is Hadoop's bit in a permission (FsPermission), which the library hands on as it is.
	sticky fs.FileMode = 0o1000
	// hasACL is a flag of HdfsFileStatusProto.
	hasACL = 1
)

func (r *remote) owner(e entry) (name string, own bool) { return e.ownedBy, e.ownedBy == r.user }

func (r *remote) list(ctx context.Context, dir string) ([]entry, error) {
	return do(ctx, r.connection, func(client *colinmarc.Client) ([]entry, error) {
		directory, err := client.Open(dir)
		if err != nil {
			return nil, err
		}
		defer directory.Close()
		if !directory.Stat().IsDir() {
			return nil, answered{errors.New("is not a directory")}
		}
		infos, err := directory.Readdir(0) // sorted by the NameNode
		if err != nil {
			return nil, err
		}
		entries := make([]entry, len(infos))
		for i, info := range infos {
			entries[i] = remoteEntry(info)
		}
		return entries, nil
	})
}

func (r *remote) blocks(ctx context.Context, path string) ([]filesystem.Block, error) {
	layout, err := r.nameNode.Layout(ctx, path)
	if err != nil {
		return nil, r.answer(err)
	}
	blocks := make([]filesystem.Block, 0, len(layout.Blocks))
	for _, b := range layout.Blocks {
		blocks = append(blocks, filesystem.Block{Offset: b.Offset, Length: b.Length, Hosts: b.Hosts})
	}
	return blocks, nil
}

func (r *remote) open(ctx context.Context, path string) (filesystem.File, error) {
	source, err := r.openSource(ctx, path)
	if err != nil {
		return nil, err
	}
	return newReader(r, path, source), nil
}

func (r *remote) openSource(ctx context.Context, path string) (*colinmarc.FileReader, error) {
	return do(ctx, r.connection, func(client *colinmarc.Client) (*colinmarc.FileReader, error) {
		source, err := client.Open(path)
		if err != nil {
			return nil, err
		}
		if source.Stat().IsDir() {
			return nil, answered{errIsDirectory}
		}
		if err := readable(source.Stat()); err != nil {
			return nil, answered{err}
		}
		return source, nil
	})
}

// readable refuses files that the dialer refuses to read, before anybody reads.
func readable(info fs.FileInfo) error {
	status, ok := info.Sys().(*colinmarc.FileStatus)
	switch {
	case !ok:
		return nil
	case status.GetFileEncryptionInfo() != nil:
		return filesystem.ErrEncryptionZone
	case status.GetEcPolicy() != nil:
		return filesystem.ErrErasureCoded
	default:
		return nil
	}
}

func (r *remote) create(ctx context.Context, path string, o CreateOptions) (io.WriteCloser, error) {
	create := func(client *colinmarc.Client) (*colinmarc.FileWriter, error) {
		return r.createTarget(client, path, o)
	}
	target, err := doOrUndo(ctx, r.connection, create, func(client *colinmarc.Client, target *colinmarc.FileWriter) {
		if err := errors.Join(target.Close(), client.Remove(path)); err != nil {
			r.log.WithError(err).WithField("path", path).Warn("file that was made too late is left behind")
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
	return client.CreateFile(path, replication, blockSize, o.Mode.Perm())
}

func (r *remote) rename(ctx context.Context, from, to string) error {
	if err := r.nameNode.Rename(ctx, from, to); err != nil {
		return r.answer(err)
	}
	return nil
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
	if errors.Is(err, fs.ErrNotExist) { // removed by somebody else meanwhile
		return nil
	}
	return err
}
