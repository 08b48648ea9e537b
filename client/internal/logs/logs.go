// Package logs finds the logs of an application's containers: on the nodes while the application runs, through
// the NodeManagers' REST API, and on HDFS after YARN has aggregated them.
//
// It starts no goroutines. It streams logs, and keeps up to 1 MiB per container of what YARN itself has
// written, because that comes last.
package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrNotAggregated says that YARN has no aggregated logs of the application: not yet, or never if
// yarn.log-aggregation-enable is false.
var ErrNotAggregated = errors.New("logs are not aggregated")

// Log is one file of one container.
type Log struct {
	Container string
	Node      string // host:port, or host_port from the name of the aggregated file
	Name      string
	Size      int64 // bytes; -1 if it is not known
}

// Visit is called with each log and its content. It need not read all of the content.
type Visit func(l Log, content io.Reader) error

// Keys of the records of an aggregated file that are not containers.
const (
	keyVersion = "VERSION"
	keyACL     = "APPLICATION_ACL"
	keyOwner   = "APPLICATION_OWNER"
)

// Aggregated visits the aggregated logs of an application, node by node.
func Aggregated(ctx context.Context, fsys filesystem.FileSystem, conf *hadoopconf.Conf, user string, id records.ApplicationID, visit Visit) error {
	found := false
	for _, dir := range directories(conf, user, id) {
		entries, err := fsys.List(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read logs of %s: %w", id, err)
		}
		for _, entry := range entries {
			if entry.IsDir || strings.HasSuffix(entry.URI, ".tmp") {
				continue
			}
			found = true
			if err := node(ctx, fsys, entry.URI, visit); err != nil {
				return fmt.Errorf("read logs of %s: %s: %w", id, entry.URI, err)
			}
		}
	}
	if !found {
		return fmt.Errorf("read logs of %s: %w: none under %s", id, ErrNotAggregated, remoteDir(conf))
	}
	return nil
}

func remoteDir(conf *hadoopconf.Conf) string {
	if dir := conf.Get("yarn.nodemanager.remote-app-log-dir"); dir != "" {
		return dir
	}
	return "/tmp/logs"
}

// directories are where releases of Hadoop put an application's logs (LogAggregationUtils#getRemoteAppLogDir):
// in buckets by the last digits of the id, and before 3.3 directly below the user's directory.
func directories(conf *hadoopconf.Conf, user string, id records.ApplicationID) []string {
	suffix := conf.Get("yarn.nodemanager.remote-app-log-dir-suffix")
	if suffix == "" {
		suffix = "logs"
	}
	root := remoteDir(conf) + "/" + user + "/"
	const buckets = 10_000
	return []string{
		fmt.Sprintf("%sbucket-%s-tfile/%04d/%s", root, suffix, id.ID%buckets, id),
		root + suffix + "/" + id.String(),
	}
}

// node visits the logs in the file of one node.
func node(ctx context.Context, fsys filesystem.FileSystem, uri string, visit Visit) (err error) {
	file, err := fsys.Open(ctx, uri)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return visitFile(file, path.Base(uri), visit)
}

// visitFile visits the logs in the file of the node nodeName.
func visitFile(file io.ReadSeeker, nodeName string, visit Visit) error {
	t, err := openTFile(file)
	if err != nil {
		return err
	}
	return t.records(func(key []byte, value io.Reader) error {
		d := decoder{r: bufio.NewReader(bytes.NewReader(key))}
		name := d.utf()
		if d.err != nil || name == keyVersion || name == keyACL || name == keyOwner {
			return d.err
		}
		return container(name, nodeName, value, visit)
	})
}

// container visits the logs of one container, YARN's own after the others. If the file breaks off, container
// also visits the logs before that place, and returns the error.
func container(name, nodeName string, value io.Reader, visit Visit) error {
	from := &noted{from: value}
	var last held
	enough := false // visit wants no more logs
	err := each(from, Log{Container: name, Node: nodeName}, func(l Log, content io.Reader) error {
		taken, err := last.take(l, content)
		if err == nil && !taken {
			err = visit(l, content)
			enough = err != nil && from.err == nil
		}
		return err
	})
	if enough {
		return err
	}
	return errors.Join(err, last.visit(visit))
}

// each visits the logs in the value of a container: name, length and content of each log.
func each(value io.Reader, of Log, visit Visit) error {
	r := bufio.NewReader(value)
	for {
		if _, err := r.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		d := decoder{r: r}
		l := Log{Container: of.Container, Node: of.Node, Name: d.utf(), Size: d.number()}
		if d.err != nil {
			return d.err
		}
		content := &io.LimitedReader{R: r, N: l.Size}
		if err := visit(l, content); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		if content.N > 0 {
			return fmt.Errorf("%w: %s of %s ends %d bytes too soon", errFormat, l.Name, l.Container, content.N)
		}
	}
}

// noted remembers why reading failed.
type noted struct {
	from io.Reader
	err  error // nil: reading did not fail
}

func (n *noted) Read(p []byte) (int, error) {
	read, err := n.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return read, err
}
