package dfs

import (
	"errors"
	"io/fs"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// Tries to read on after something has failed, without a byte in between.
const (
	maxRetries     = 3
	firstRetryWait = 200 * time.Millisecond
	maxRetryWait   = 5 * time.Second
)

// retries follows the tries to read the same bytes.
type retries struct {
	// patience is how long DataNodes that cannot be reached are waited for: they may be starting,
	// as the NameNode may be that is tried for so long. 0: maxRetries is for them, too.
	patience time.Duration

	failed      int
	unreachable time.Time // since when no DataNode was reached; zero: one was
	wait        time.Duration
}

// after says, after a try that failed, whether there will be another and after what wait.
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

// final says that to read again would not help: the file is another one, it is not to be read, or
// the NameNode, which has been tried for as long as it may be, does not answer or refuses.
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
