package minicluster

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// ErrKilled is the cause of a killed worker's end.
var ErrKilled = errors.New("worker was killed")

// Worker is a TaskExecutor with its task hosts. Its methods may be called from any goroutine.
type Worker struct {
	spec   resourcemanager.WorkerResourceSpec
	roles  *rolerpc.Local
	wires  *wires
	end    context.CancelCauseFunc
	dying  atomic.Bool // from the begin of Kill
	killed atomic.Bool
}

// Process is what the task hosts of a worker have instead of a process of their own.
type Process struct {
	Program    taskhost.Program
	FileSystem filesystem.FileSystem // the caller of the cluster closes it
}

// Kill ends the worker as a crash does: its connections break without a farewell, and nothing that it still
// does reaches the other roles. The cluster then learns of its end as YARN reports that of a container, and
// starts another worker if a job needs one.
//
// Kill does not wait for the worker's goroutines, so a task may call it. Go cannot end a goroutine: a function
// of the user continues until it returns, and can still reach everything that is not the cluster's. The caller
// must cut such ways itself (see Killed).
func (w *Worker) Kill() {
	if w.dying.Swap(true) {
		return
	}
	_ = w.roles.Close() // first, so that nobody hears of what follows; never fails
	w.killed.Store(true)
	w.wires.cut()
	w.end(ErrKilled)
}

// Killed tells whether the worker was killed, and the other roles hear nothing of it any more.
func (w *Worker) Killed() bool { return w.killed.Load() }
