package hdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// TestAnUnreachableNameNodeIsNamedWithTheTimeTried would catch an error that does not name the server.
func TestAnUnreachableNameNodeIsNamedWithTheTimeTried(t *testing.T) {
	t.Parallel()
	const address = "127.0.0.1:1" // no server listens there
	f := rpctest.FS(t, dfs.Options{User: clusters.Alice, Patience: 5 * time.Second})
	_, err := f.Stat(t.Context(), "hdfs://"+address+"/x")
	if err == nil || !strings.Contains(err.Error(), "NameNode "+address+" did not answer") || !strings.Contains(err.Error(), " tries in ") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error is %v", err)
	}
	if err := f.CheckReadable(t.Context(), "hdfs://"+address+"/x"); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("error of CheckReadable is %v", err)
	}
}

// faulty makes connections that the test can cut.
type faulty struct {
	mu    sync.Mutex // guards conns
	conns map[net.Conn]string
	away  atomic.Int64 // number of dials to refuse
}

func (d *faulty) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.away.Add(-1) >= 0 {
		return nil, syscall.ECONNREFUSED
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns[conn] = address
	return conn, nil
}

// cut closes the connections to all addresses, or to one.
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

// TestReadsGoOnWhenConnectionsBreak would catch bytes that are read twice or not at all when a connection is replaced.
func TestReadsGoOnWhenConnectionsBreak(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	d := &faulty{conns: map[net.Conn]string{}}
	f := rpctest.FS(t, dfs.Options{Conf: smallBlocks(t, c), User: rpctest.Me(t), Dial: d.dial})
	uri := rpctest.Scratch(t, f) + "/file"
	content := rpctest.Noise(20*blockSize + 1)
	create(t, f, uri, content)
	file, err := f.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var got bytes.Buffer
	// When the connections break, the client may already have five chunks of 64 KiB. A step is longer, so that it needs
	// new ones.
	for _, step := range []int64{blockSize / 2, 6 * blockSize, 6 * blockSize} {
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

// TestAFileThatChangesWhileItIsReadIsAnError would catch content that is mixed from two files.
func TestAFileThatChangesWhileItIsReadIsAnError(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	d := &faulty{conns: map[net.Conn]string{}}
	// Larger than the client reads ahead. The DataNode keeps the blocks of the removed file for a while.
	const large = 1 << 20
	conf := rpctest.Conf(t, c).With("test", map[string]string{"dfs.blocksize": fmt.Sprint(large)})
	f := rpctest.FS(t, dfs.Options{Conf: conf, User: rpctest.Me(t), Dial: d.dial})
	uri := rpctest.Scratch(t, f) + "/file"
	create(t, f, uri, rpctest.Noise(4*large))
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
	create(t, f, uri, rpctest.Noise(4*large-1))
	d.cut("")
	if _, err := io.Copy(io.Discard, file); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("error is %v", err)
	}
}

// TestMetadataCallsAreMadeAgain would catch a call that fails because its connection is broken.
func TestMetadataCallsAreMadeAgain(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	d := &faulty{conns: map[net.Conn]string{}}
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: rpctest.Me(t), Dial: d.dial})
	dir := rpctest.Scratch(t, f)
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

	// Unreachable for some tries.
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
		d.away.Store(3)
		d.cut("")
		if err := call(); err != nil || d.away.Load() > 0 {
			t.Errorf("%s: %v, and %d dials were not made", name, err, d.away.Load())
		}
	}
}

// TestCloseEndsOpenFiles would catch an open file that keeps the process from ending.
func TestCloseEndsOpenFiles(t *testing.T) {
	t.Parallel()
	f := dfs.New(dfs.Options{Conf: smallBlocks(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t)})
	uri := rpctest.Scratch(t, f) + "/file"
	create(t, f, uri, rpctest.Noise(20*blockSize))
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
	if n, err := io.Copy(io.Discard, file); !errors.Is(err, dfs.ErrClosed) || n > 5*blockSize { // the data that was read ahead
		t.Errorf("%d bytes are read after Close, %v", n, err)
	}
	if _, err := f.Stat(t.Context(), uri); !errors.Is(err, dfs.ErrClosed) {
		t.Errorf("stat after Close: %v", err)
	}
}

// TestCloseFromElsewhereEndsAReadThatWaits would catch a read that waits for ever for a DataNode that does not answer.
func TestCloseFromElsewhereEndsAReadThatWaits(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	hung := make(chan struct{}) // closed when the DataNode has been dialled, and hangs
	var once sync.Once
	dataNode := atomic.Bool{}
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: rpctest.Me(t), Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dataNode.Load() && address != c.NameNodeAddress() {
			near, _ := net.Pipe() // no server reads or answers
			once.Do(func() { close(hung) })
			return near, nil
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	uri := rpctest.Scratch(t, f) + "/file"
	create(t, f, uri, rpctest.Noise(1000))
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
