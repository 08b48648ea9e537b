package dfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// Waits of Close until DataNodes report the last block, as the Java client's
// dfs.client.block.write.locateFollowingBlock: short at first, because most reports arrive within
// milliseconds.
const (
	firstReplicationWait = 5 * time.Millisecond
	maxReplicationWait   = 2 * time.Second
	replicationPatience  = 60 * time.Second
)

// writer writes one HDFS file. The library cannot recover a broken pipeline, so the first error is
// final. Only one goroutine at a time may use it.
type writer struct {
	remote *remote
	path   string
	target *colinmarc.FileWriter
	failed error
	closed bool
}

// Write appends to the file.
func (w *writer) Write(b []byte) (int, error) {
	switch {
	case w.closed:
		return 0, w.explain(fs.ErrClosed)
	case w.failed != nil:
		return 0, w.failed
	case len(b) == 0: // the library would begin a block that stays empty
		return 0, nil
	}
	n, err := w.target.Write(b)
	if err != nil {
		w.fail(w.remote.interpret(err))
	}
	if errors.Is(err, hdfs.ErrPipeline) {
		_ = w.target.Close() // ends the library's goroutines for the block; the error is the block's
	}
	return n, w.failed
}

// Close writes the buffered data and completes the file. When it returns nil, the data is on the
// DataNodes. It waits up to a minute while too few DataNodes have reported the last block, and as
// long as calls are retried while the NameNode does not answer. After a failed Write it returns the
// same error and leaves the file incomplete.
func (w *writer) Close() error {
	if w.closed {
		return w.failed
	}
	w.closed = true
	if w.failed != nil {
		return w.failed
	}
	if err := w.complete(); err != nil {
		w.fail(err)
	}
	return w.failed
}

// fail notes the first error. The end of the FS is no failure of HDFS.
func (w *writer) fail(err error) {
	if !errors.Is(err, ErrClosed) {
		w.remote.observe(hdfs.Transfer{Write: true, Err: err, Later: true})
	}
	w.failed = w.explain(err)
}

func (w *writer) explain(err error) error {
	return fmt.Errorf("write hdfs://%s%s: %w", w.remote.name, w.path, err)
}

// complete makes the NameNode close the file. It repeats the call while too few DataNodes have
// reported the last block.
func (w *writer) complete() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), replicationPatience,
		errors.New("its last block has not reached enough DataNodes in time"))
	defer cancel()
	for wait := firstReplicationWait; ; wait = min(2*wait, maxReplicationWait) {
		_, err := do(context.WithoutCancel(ctx), w.remote.connection, func(*colinmarc.Client) (struct{}, error) {
			return struct{}{}, w.target.Close()
		})
		if errors.Is(err, ErrClosed) {
			_ = w.target.Close() // as in Write; it cannot succeed without connections
		}
		if !errors.Is(err, colinmarc.ErrReplicating) {
			return err
		}
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
	}
}
