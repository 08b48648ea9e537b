package yarn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

const blockSize = 1 << 20

// smallBlocks is the cluster's configuration with blocks of a megabyte, so that
// small files have many.
func smallBlocks(t *testing.T, c *cluster.Cluster) *hadoopconf.Conf {
	return confOf(t, c).With("test", map[string]string{"dfs.blocksize": fmt.Sprint(blockSize)})
}

// noise is content in which every place is different.
func noise(n int) []byte {
	r := rand.NewChaCha8([32]byte{byte(n)})
	b := make([]byte, n)
	r.Read(b)
	return b
}

func create(t *testing.T, f *dfs.FS, uri string, content []byte) {
	t.Helper()
	w, err := f.Create(t.Context(), uri, filesystem.MakeParents)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestHDFSFilesOfManyBlocks(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	f := newFS(t, dfs.Options{Conf: smallBlocks(t, c), User: me(t)})
	dir := scratch(t, f)
	content := noise(5*blockSize + 12345)
	uri := dir + "/a b%20c#d/file" // nothing in a name is special
	create(t, f, uri, content)

	info, err := f.Stat(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	if info.URI != uri || info.Size != int64(len(content)) || info.IsDir || time.Since(info.ModTime).Abs() > time.Hour {
		t.Errorf("stat is %+v", info)
	}
	entries, err := f.List(t.Context(), dir)
	if err != nil || len(entries) != 1 || entries[0].URI != strings.TrimSuffix(uri, "/file") || !entries[0].IsDir {
		t.Errorf("entries are %+v, %v", entries, err)
	}

	blocks, err := f.Blocks(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	var end int64
	for _, b := range blocks {
		if b.Offset != end || len(b.Hosts) != 1 || b.Hosts[0] == "" {
			t.Errorf("block is %+v, want one at %d with its host", b, end)
		}
		end += b.Length
	}
	if len(blocks) != 6 || end != int64(len(content)) {
		t.Errorf("%d blocks end at %d", len(blocks), end)
	}

	file, err := f.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// From the beginning, across each border between blocks, at the end, beyond it.
	for _, from := range []int64{0, blockSize - 3, 3*blockSize - 1, blockSize, 17, int64(len(content)) - 5, int64(len(content)), int64(len(content)) + 99} {
		if _, err := file.Seek(from, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		want := content[min(from, int64(len(content))):]
		if from != 0 {
			want = want[:min(len(want), 200_000)]
		}
		got := make([]byte, len(want))
		if n, err := io.ReadFull(file, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes from %d: %d read, %v, equal %v", len(want), from, n, err, bytes.Equal(got, want))
		}
	}
	if _, err := file.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read at the end: %v", err)
	}
	if at, err := file.Seek(-5, io.SeekEnd); err != nil || at != int64(len(content))-5 {
		t.Errorf("seek from the end: %d, %v", at, err)
	}
	if rest, err := io.ReadAll(file); err != nil || !bytes.Equal(rest, content[len(content)-5:]) {
		t.Errorf("the last bytes are %d, %v", len(rest), err)
	}
}

func TestHDFSEmptyFileHasNoBlocks(t *testing.T) {
	t.Parallel()
	f := newFS(t, dfs.Options{Conf: confOf(t, clusters.Use(t, clusters.Features)), User: me(t)})
	uri := scratch(t, f) + "/empty"
	create(t, f, uri, nil)
	if blocks, err := f.Blocks(t.Context(), uri); err != nil || len(blocks) != 0 {
		t.Errorf("blocks are %v, %v", blocks, err)
	}
	if content, err := f.ReadFile(t.Context(), uri, 10); err != nil || len(content) != 0 {
		t.Errorf("content is %q, %v", content, err)
	}
}

func TestHDFSErrorsCanBeTested(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	ctx := t.Context()
	f := newFS(t, dfs.Options{Conf: confOf(t, c), User: me(t)})
	stranger := newFS(t, dfs.Options{Conf: confOf(t, c), User: alice})
	dir := scratch(t, f)
	create(t, f, dir+"/file", []byte("x"))
	create(t, f, dir+"/sub/file", []byte("x"))
	if err := f.MkdirMode(ctx, dir+"/mine", 0o700); err != nil {
		t.Fatal(err)
	}
	creates := func(f *dfs.FS, uri string) error {
		_, err := f.Create(ctx, uri, filesystem.ExistingParents)
		return err
	}
	opens := func(uri string) error {
		_, err := f.Open(ctx, uri)
		return err
	}
	_, stat := f.Stat(ctx, dir+"/none")
	_, list := f.List(ctx, dir+"/none")
	_, blocks := f.Blocks(ctx, dir+"/none")
	_, forbidden := stranger.List(ctx, dir+"/mine")
	tests := map[string]struct{ err, want error }{
		"stat of nothing":                  {stat, fs.ErrNotExist},
		"list of nothing":                  {list, fs.ErrNotExist},
		"blocks of nothing":                {blocks, fs.ErrNotExist},
		"open of nothing":                  {opens(dir + "/none"), fs.ErrNotExist},
		"create of what exists":            {creates(f, dir+"/file"), fs.ErrExist},
		"create in a missing directory":    {creates(f, dir+"/none/x"), fs.ErrNotExist},
		"create in another's directory":    {creates(stranger, dir+"/mine/x"), fs.ErrPermission},
		"list of another's directory":      {forbidden, fs.ErrPermission},
		"rename of nothing":                {f.Rename(ctx, dir+"/none", dir+"/x"), fs.ErrNotExist},
		"rename to a file that exists":     {f.Rename(ctx, dir+"/sub/file", dir+"/file"), fs.ErrExist},
		"rename into a missing directory":  {f.Rename(ctx, dir+"/file", dir+"/none/x"), fs.ErrNotExist},
		"removal of nothing":               {f.RemoveAll(ctx, dir+"/none"), nil},
		"making a directory that is there": {f.MkdirAll(ctx, dir), nil},
		"a rename":                         {f.Rename(ctx, dir+"/sub/file", dir+"/sub/moved"), nil},
		"removal of a tree":                {f.RemoveAll(ctx, dir+"/sub"), nil},
	}
	for name, test := range tests {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: error is %v, want %v", name, test.err, test.want)
		}
		if test.err != nil && !strings.Contains(test.err.Error(), dir) {
			t.Errorf("%s: error does not say where: %v", name, test.err)
		}
	}
	if err := opens(dir); err == nil {
		t.Error("a directory was opened as a file")
	}
	if _, err := f.List(ctx, dir+"/file"); err == nil {
		t.Error("a file was listed as a directory")
	}
}

func TestHDFSModesOwnersAndReplication(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	f := newFS(t, dfs.Options{Conf: confOf(t, c), User: alice})
	home, err := f.Home()
	if err != nil {
		t.Fatal(err)
	}
	dir := fmt.Sprintf("%s/%d", home, time.Now().UnixNano())
	ctx := t.Context()
	if err := f.MkdirMode(ctx, dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteFile(ctx, dir+"/secret", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, f, dir+"/open", []byte("x"))
	w, err := f.CreateMode(ctx, dir+"/twice", dfs.CreateOptions{Mode: 0o640, Replication: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	web, err := c.HDFS()
	if err != nil {
		t.Fatal(err)
	}
	_, at, _ := strings.Cut(strings.TrimPrefix(dir, "hdfs://"), "/")
	got, err := web.List(ctx, "/"+at)
	if err != nil {
		t.Fatal(err)
	}
	brief := map[string]string{}
	for _, s := range got {
		brief[s.Name] = fmt.Sprintf("%s %s x%d", s.Owner, s.Permission, s.Replication)
	}
	want := map[string]string{"open": "alice 644 x1", "secret": "alice 600 x1", "twice": "alice 640 x2"}
	if diff := cmp.Diff(want, brief); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestHDFSManyGoroutinesShareOneClient(t *testing.T) {
	t.Parallel()
	f := newFS(t, dfs.Options{Conf: smallBlocks(t, clusters.Use(t, clusters.Features)), User: me(t)})
	dir := scratch(t, f)
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			content := noise(blockSize + i)
			uri := fmt.Sprintf("%s/%d/file", dir, i)
			w, err := f.Create(t.Context(), uri, filesystem.MakeParents)
			if err != nil {
				return err
			}
			if _, err := w.Write(content); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
			got, err := f.ReadFile(t.Context(), uri, 2*blockSize)
			if err == nil && !bytes.Equal(got, content) {
				err = fmt.Errorf("%s reads differently", uri)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestHDFSUnreachableNameNodeIsNamedWithTheTimeTried(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close() // nobody listens there now
	f := newFS(t, dfs.Options{User: alice, Patience: 500 * time.Millisecond})
	_, err = f.Stat(t.Context(), "hdfs://"+address+"/x")
	if err == nil || !strings.Contains(err.Error(), "NameNode "+address+" did not answer") || !strings.Contains(err.Error(), " tries in ") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error is %v", err)
	}
	if _, err := f.Blocks(t.Context(), "hdfs://"+address+"/x"); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("error of Blocks is %v", err)
	}
}

// faulty dials connections that the test can cut.
type faulty struct {
	mu    sync.Mutex // guards conns
	conns map[net.Conn]string
	dials atomic.Int64
	away  atomic.Bool // nobody can be reached
}

func (d *faulty) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.away.Load() {
		return nil, syscall.ECONNREFUSED
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.dials.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns[conn] = address
	return conn, nil
}

// cut ends the connections to all addresses, or to one.
func (d *faulty) cut(address string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for conn, to := range d.conns {
		if address == "" || to == address {
			conn.Close()
			delete(d.conns, conn)
			n++
		}
	}
	return n
}

func TestHDFSReadsGoOnWhenConnectionsBreak(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	d := &faulty{conns: map[net.Conn]string{}}
	f := newFS(t, dfs.Options{Conf: smallBlocks(t, c), User: me(t), Dial: d.dial})
	uri := scratch(t, f) + "/file"
	content := noise(4*blockSize + 1)
	create(t, f, uri, content)
	file, err := f.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var got bytes.Buffer
	for _, step := range []int64{blockSize / 2, blockSize, blockSize} {
		if _, err := io.CopyN(&got, file, step); err != nil {
			t.Fatal(err)
		}
		if d.cut("") == 0 { // NameNode and DataNode alike
			t.Error("no connection was open")
		}
	}
	if _, err := io.Copy(&got, file); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), content) {
		t.Errorf("%d bytes read differ from the %d written", got.Len(), len(content))
	}
}

func TestHDFSAFileThatChangesWhileItIsReadIsAnError(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	d := &faulty{conns: map[net.Conn]string{}}
	f := newFS(t, dfs.Options{Conf: smallBlocks(t, c), User: me(t), Dial: d.dial})
	uri := scratch(t, f) + "/file"
	create(t, f, uri, noise(4*blockSize))
	file, err := f.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.CopyN(io.Discard, file, 100); err != nil {
		t.Fatal(err)
	}
	if err := f.RemoveAll(t.Context(), uri); err != nil {
		t.Fatal(err)
	}
	create(t, f, uri, noise(4*blockSize-1))
	d.cut("")
	if _, err := io.Copy(io.Discard, file); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("error is %v", err)
	}
}

func TestHDFSMetadataCallsAreMadeAgain(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	d := &faulty{conns: map[net.Conn]string{}}
	f := newFS(t, dfs.Options{Conf: confOf(t, c), User: me(t), Dial: d.dial})
	dir := scratch(t, f)
	ctx := t.Context()
	d.cut("")
	if _, err := f.Stat(ctx, dir); err != nil {
		t.Errorf("stat: %v", err)
	}
	create(t, f, dir+"/from", []byte("x"))
	d.cut("")
	if err := f.Rename(ctx, dir+"/from", dir+"/to"); err != nil {
		t.Errorf("rename: %v", err)
	}
	d.cut("")
	create(t, f, dir+"/after", []byte("x"))

	// Away for longer than from one try to the next, whatever the next looks up first.
	for name, call := range map[string]func() error{
		"create": func() error {
			w, err := f.Create(ctx, dir+"/while-away", filesystem.ExistingParents)
			if err == nil {
				err = w.Close()
			}
			return err
		},
		"rename": func() error { return f.Rename(ctx, dir+"/to", dir+"/moved") },
	} {
		d.away.Store(true)
		d.cut("")
		time.AfterFunc(time.Second, func() { d.away.Store(false) })
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that somebody forgot to close must not keep the process from ending.
func TestHDFSCloseEndsOpenFiles(t *testing.T) {
	t.Parallel()
	f := dfs.New(dfs.Options{Conf: smallBlocks(t, clusters.Use(t, clusters.Features)), User: me(t)})
	uri := scratch(t, f) + "/file"
	create(t, f, uri, noise(2*blockSize))
	file, err := f.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, file, 10); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, file); !errors.Is(err, dfs.ErrClosed) || n > blockSize {
		t.Errorf("%d bytes are read after Close, %v", n, err)
	}
	if _, err := f.Stat(t.Context(), uri); !errors.Is(err, dfs.ErrClosed) {
		t.Errorf("stat after Close: %v", err)
	}
}

func TestHDFSCloseFromElsewhereEndsAReadThatWaits(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	hung := make(chan struct{}) // closed when the DataNode has been dialled, and hangs
	var once sync.Once
	dataNode := atomic.Bool{}
	f := newFS(t, dfs.Options{Conf: confOf(t, c), User: me(t), Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dataNode.Load() && address != c.NameNodeAddress() {
			near, _ := net.Pipe() // nobody reads or answers
			once.Do(func() { close(hung) })
			return near, nil
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	uri := scratch(t, f) + "/file"
	create(t, f, uri, noise(1000))
	dataNode.Store(true)
	file, err := f.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := file.Read(make([]byte, 10))
		read <- err
	}()
	<-hung
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-read; !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read: %v", err)
	}
}
