package taskrunner

import (
	"context"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// idleTime is how long a connection to a NameNode stays open after its last use, as with Hadoop's clients
// (ipc.client.connection.maxidletime). A small application looks for its leader each second, over one connection. In a
// large one each worker looks seldom, and the NameNode need not hold a connection for each.
const idleTime = 10 * time.Second

// lookPatience is how long a NameNode may take for a call of a look. A look may last 10 s (package taskexecutor). The call
// must end before the look does: then the file system goes on to the other NameNode, and the next look asks that one.
// If the look ended first, the file system would learn nothing of the NameNode, and each look would wait for it again.
const lookPatience = 4 * time.Second

// lister lists directories of the cluster. It opens the file system when it is needed, and closes it when it is idle.
// Its methods may be called from any goroutine.
type lister struct {
	open func() (*dfs.FS, error)

	mu    sync.Mutex // guards what follows
	files *dfs.FS    // nil: not open
	users int
	idle  *time.Timer
}

// List implements ha.Lister.
func (l *lister) List(ctx context.Context, dir string) ([]filesystem.FileInfo, error) {
	files, err := l.take()
	if err != nil {
		return nil, err
	}
	defer l.release()
	return files.List(ctx, dir)
}

func (l *lister) take() (*dfs.FS, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files == nil {
		files, err := l.open()
		if err != nil {
			return nil, err
		}
		l.files = files
	}
	l.users++
	return l.files, nil
}

func (l *lister) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	if l.idle != nil {
		l.idle.Stop()
	}
	l.idle = time.AfterFunc(idleTime, l.close)
}

// close closes the file system, unless it is in use.
func (l *lister) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle != nil {
		l.idle.Stop()
	}
	if l.files != nil && l.users == 0 {
		l.files.Close()
		l.files = nil
	}
}
