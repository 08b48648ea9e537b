package hdfs

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// TestFilesOutliveTheNameNode would catch a call that fails because the NameNode restarts, and a file whose rest cannot
// be read.
func TestFilesOutliveTheNameNode(t *testing.T) {
	c := clusters.Change(t, clusters.Victim, "kills the NameNode")
	f := rpctest.FS(t, dfs.Options{Conf: smallBlocks(t, c), User: rpctest.Me(t), Patience: time.Hour})
	dir := rpctest.Scratch(t, f)
	content := rpctest.Noise(6 * blockSize)
	create(t, f, dir+"/before", content)
	file, err := f.Open(t.Context(), dir+"/before")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.CopyN(io.Discard, file, blockSize); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(t.Context(), "namenode"); err != nil {
		t.Fatal(err)
	}
	back := make(chan error, 1)
	go func() { back <- c.Restart(t.Context(), "namenode") }()
	entries, err := f.List(t.Context(), dir) // called while the NameNode is down
	if err != nil || len(entries) != 1 {
		t.Errorf("entries are %+v, %v", entries, err)
	}
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(file)
	if err != nil || !bytes.Equal(rest, content[blockSize:]) {
		t.Errorf("%d bytes are left to read, %v", len(rest), err)
	}
	create(t, f, dir+"/after", content)
	if err := f.Rename(t.Context(), dir+"/after", dir+"/renamed"); err != nil {
		t.Error(err)
	}
}

// TestADataNodeDies would catch a read that ends with its DataNode although the other one has the blocks, and a write
// that loses bytes with a DataNode without an error. The library does not repair pipelines, so the first error is
// final.
func TestADataNodeDies(t *testing.T) {
	c := clusters.Change(t, clusters.Victim, "kills a DataNode")
	f := rpctest.FS(t, dfs.Options{Conf: smallBlocks(t, c), User: rpctest.Me(t), Patience: time.Hour})
	dir := rpctest.Scratch(t, f)
	content := rpctest.Noise(6 * blockSize)
	twice := dfs.CreateOptions{Mode: 0o600, Replication: 2}
	whole, err := f.CreateMode(t.Context(), dir+"/read", twice)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whole.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := f.Open(t.Context(), dir+"/read")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.CopyN(io.Discard, file, blockSize/2); err != nil {
		t.Fatal(err)
	}
	broken, err := f.CreateMode(t.Context(), dir+"/written", twice)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broken.Write(content[:blockSize/2]); err != nil {
		t.Fatal(err)
	}

	if err := c.Kill(t.Context(), "datanode1"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(file); err != nil || !bytes.Equal(rest, content[blockSize/2:]) {
		t.Errorf("%d bytes are left to read, %v", len(rest), err)
	}
	_, writing := broken.Write(content[blockSize/2:])
	closing := broken.Close()
	if closing == nil || writing != nil && !errors.Is(closing, writing) {
		t.Errorf("write: %v; close: %v", writing, closing)
	}
}
