package dfs

import (
	"errors"
	"io/fs"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// Retries of a read after a failure, while no byte comes.
const (
	maxRetries     = 3
	firstRetryWait = 200 * time.Millisecond
	maxRetryWait   = 5 * time.Second
)

// retries counts the tries to read the same bytes.
type retries struct {
	// patience is how long reads wait for DataNodes that cannot be reached: like the NameNode, they
	// may be starting. 0: maxRetries applies to them too.
	patience time.Duration

	failed      int
	unreachable time.Time // since when no DataNode can be reached; zero: the last try reached one
	wait        time.Duration
}

// after says whether to try again after a failed try, and how long to wait first.
func (r *retries) after(err error) (wait time.Duration, again bool) {
	if final(err) {
		return 0, false
	}
	if r.wait = min(2*r.wait, maxRetryWait); r.wait == 0 {
		r.wait = firstRetryWait
	}
	now := time.Now()
	if r.patience > 0 && errors.Is(err, hdfs.ErrUnreachable) {
		if r.unreachable.IsZero() {
			r.unreachable = now
		}
		return r.wait, now.Add(r.wait).Sub(r.unreachable) <= r.patience
	}
	r.unreachable = time.Time{}
	r.failed++
	return r.wait, r.failed <= maxRetries
}

// final reports whether another try cannot help: the file has changed or must not be read, or the
// NameNode refuses, or has not answered for its whole patience.
func final(err error) bool {
	for _, end := range []error{errChanged, errIsDirectory, filesystem.ErrTooLarge, fs.ErrNotExist, ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	_, unanswered := errors.AsType[*yarnrpc.CallError](err)
	_, refused := errors.AsType[*yarnrpc.RemoteError](err)
	return unanswered || refused || filesystem.Final(err)
}
