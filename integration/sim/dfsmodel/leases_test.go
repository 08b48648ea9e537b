package dfsmodel_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// The test would catch a model in which two processes write one file, in which a reader sees a file before it is
// complete, and in which a dead process blocks a file forever, or not at all.
func TestAnOpenFileHasAHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two, ctx := w.process("one"), w.process("two"), t.Context()
	file, empty := create(t, one, "/d/file"), create(t, one, "/d/empty")
	if _, err := io.WriteString(file, strings.Repeat("x", 300<<10)); err != nil { // which is flushed
		t.Fatal(err)
	}
	again := func(f *dfsmodel.FileSystem, uri string) error {
		_, err := f.Create(ctx, uri, filesystem.ExistingParents)
		return err
	}
	if err := errors.Join(again(one, "/d/file"), again(two, "/d/file")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an open file was created: %v", err)
	}
	if content, info, err := two.Load(ctx, "/d/file", 1<<20); err != nil || len(content) > 0 || info.Size > 0 {
		t.Errorf("a reader sees %d of %d bytes, %v", len(content), info.Size, err)
	}
	w.now = w.now.Add(time.Hour) // while it lives, it renews its lease
	want(t, w, "/d", "/d/empty open by one", "/d/file open by one")

	w.space.Crash(w.now, "one")
	w.now = w.now.Add(dfsmodel.SoftLimit - time.Second)
	if err := again(two, "/d/empty"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("before the soft limit: %v", err)
	}
	want(t, w, "/d", "/d/empty open by one", "/d/file open by one")
	w.now = w.now.Add(2 * time.Second)
	if err := again(two, "/d/file"); !remote(err, "RecoveryInProgressException") {
		t.Errorf("after the soft limit: %v", err)
	}
	if err := again(two, "/d/file"); !remote(err, "RecoveryInProgressException") {
		t.Errorf("during the recovery: %v", err)
	}
	if err := again(two, "/d/empty"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("after the soft limit, without a block: %v", err)
	}
	want(t, w, "/d", "/d/empty 0", "/d/file open by HDFS_NameNode")
	w.now = w.now.Add(dfsmodel.RecoveryTime)
	want(t, w, "/d", "/d/empty 0", "/d/file 307200")
	if err := again(two, "/d/file"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("after the recovery: %v", err)
	}

	// It was only frozen. Nobody has noticed that it had not written anything to the second file.
	w.space.Wake(w.now, "one")
	if err := file.Close(); !remote(err, "LeaseExpiredException") {
		t.Errorf("the old holder closes its file: %v", err)
	}
	if err := empty.Close(); err != nil {
		t.Errorf("the old holder closes its empty file: %v", err)
	}
	_ = create(t, one, "/d/next")
	w.now = w.now.Add(time.Hour)
	want(t, w, "/d", "/d/empty 0", "/d/file 307200", "/d/next open by one")
	w.space.Freeze(w.now, "one")
	w.now = w.now.Add(2 * dfsmodel.SoftLimit)
	if err := again(one, "/d/next"); !errors.Is(err, fs.ErrExist) { // sent before the freeze
		t.Errorf("the holder creates its own file after the soft limit: %v", err)
	}
	want(t, w, "/d", "/d/empty 0", "/d/file 307200", "/d/next open by one")
}

// The test would catch files of dead processes that stay open forever, and a late message of a dead process that gives
// it a lease without end.
func TestTheHardLimitEndsLeases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.process("one")
	file := create(t, one, "/d/file")
	if _, err := io.WriteString(file, strings.Repeat("x", 300<<10)); err != nil {
		t.Fatal(err)
	}
	w.space.Crash(w.now, "one")
	w.now = w.now.Add(dfsmodel.HardLimit)
	want(t, w, "/d", "/d/file open by one")
	w.now = w.now.Add(time.Second)
	want(t, w, "/d", "/d/file open by HDFS_NameNode")
	if _, err := io.WriteString(file, strings.Repeat("x", 300<<10)); !errors.Is(err, hdfs.ErrPipeline) {
		t.Errorf("a DataNode takes bytes during the recovery: %v", err)
	}
	_ = create(t, one, "/d/late")
	w.now = w.now.Add(dfsmodel.RecoveryTime)
	want(t, w, "/d", "/d/file 307200", "/d/late open by one")
	w.now = w.now.Add(dfsmodel.HardLimit)
	want(t, w, "/d", "/d/file 307200", "/d/late 0")
	ends := start.Add(4*time.Millisecond + dfsmodel.HardLimit + dfsmodel.RecoveryTime) // after the calls of the first file
	if s, err := w.space.Stat(w.now, "/d/file"); err != nil || !s.ModTime.Equal(ends) {
		t.Errorf("the file was complete at %v, %v, want %v", s.ModTime, err, ends)
	}

	// Nobody looks at this one before it is complete.
	two := w.process("two")
	write(t, two, "/d/whole", "x")
	begun := w.now
	last := create(t, two, "/d/last")
	if _, err := io.WriteString(last, "x"); err != nil {
		t.Fatal(err)
	}
	w.space.Crash(begun, "two")
	w.now = w.now.Add(24 * time.Hour)
	ends = begun.Add(dfsmodel.HardLimit + dfsmodel.RecoveryTime)
	if s, err := w.space.Stat(w.now, "/d/last"); err != nil || !s.ModTime.Equal(ends) || s.Size != 0 {
		t.Errorf("the file with a block of no bytes is %+v, %v", s, err)
	}
}

// The test would catch a file that is taken for complete after one of its bytes was lost, and a writer that stops at the
// end of the context with which it was made.
func TestTheFirstErrorOfAWriterIsFinal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.process("one")
	ctx, cancel := context.WithCancel(t.Context())
	good, err := f.Create(ctx, "/good", filesystem.ExistingParents)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.WriteString(good, "x"); err != nil {
		t.Errorf("write after the end of the context: %v", err)
	}
	if err := errors.Join(good.Close(), good.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := io.WriteString(good, "x"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	content, err := f.ReadFile(t.Context(), "/good", 1)
	if err != nil {
		t.Fatal(err)
	}
	content[0] = 'y' // the reader's copy
	if content, err := f.ReadFile(t.Context(), "/good", 1); err != nil || string(content) != "x" {
		t.Errorf("it reads %q, %v", content, err)
	}

	bad := create(t, f, "/bad")
	if _, err := io.WriteString(bad, "x"); err != nil {
		t.Fatal(err)
	}
	w.nth(0, lost)
	if _, err := io.WriteString(bad, strings.Repeat("x", 300<<10)); !errors.Is(err, hdfs.ErrPipeline) {
		t.Errorf("a lost write: %v", err)
	}
	if err := bad.Close(); !errors.Is(err, hdfs.ErrPipeline) {
		t.Errorf("close after a lost write: %v", err)
	}
	want(t, w, "/", "/bad open by one", "/good 1", "/user/", "/user/alice/")
}

// A late attempt may write while another process renames or removes the directories above its file. The test would
// catch a model in which that attempt notices a rename, or completes a file that was removed.
func TestAWriterFollowsItsFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two, ctx := w.process("one"), w.process("two"), t.Context()
	moved, removed, silent := create(t, one, "/job/a/moved"), create(t, one, "/job/a/removed"), create(t, one, "/job/a/silent")
	if _, err := io.WriteString(silent, "x"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(two.Rename(ctx, "/job", "/away"), two.RemoveAll(ctx, "/away/a/removed"), two.RemoveAll(ctx, "/away/a/silent")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(moved, "all"); err != nil {
		t.Errorf("write after the rename: %v", err)
	}
	if err := moved.Close(); err != nil {
		t.Errorf("close after the rename: %v", err)
	}
	want(t, w, "/", "/away/", "/away/a/", "/away/a/moved 3", "/user/", "/user/alice/")
	if _, err := io.WriteString(removed, "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the first write after the removal: %v", err)
	}
	if _, err := io.WriteString(silent, strings.Repeat("x", 300<<10)); err != nil {
		t.Errorf("a later write after the removal, which asks only DataNodes: %v", err)
	}
	if err := silent.Close(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("close after the removal: %v", err)
	}
	if _, err := one.Create(ctx, "/job/a/next", filesystem.ExistingParents); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("create in the directory that was renamed away: %v", err)
	}
	if _, err := one.Create(ctx, "/away/a/next", filesystem.ExistingParents); err != nil {
		t.Errorf("create at its new place: %v", err)
	}
}
