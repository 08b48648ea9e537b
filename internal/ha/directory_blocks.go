package ha

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// blockPatience is how long files are tried while the NameNode answers, and no DataNode has their blocks. They may be lost for
// good. Other jobs must go on then, and an attempt that cannot lead without such a file must end and say why.
const blockPatience = 10 * time.Minute

// blockPause is the longest time from the end of a failed read to the begin of the next one in one period without blocks.
const blockPause = 5 * time.Minute

// errNoBlocks says that blockPatience is over.
var errNoBlocks = fmt.Errorf("its blocks could not be read for %s", blockPatience)

// lostBlocks notes since when blocks cannot be read. All files share this time, because their blocks are lost together, with a
// node: otherwise some jobs would wait after the others. The zero value is ready for use, also from several goroutines.
type lostBlocks struct {
	mu          sync.Mutex // guards what follows
	since, last time.Time  // of failed reads
}

// over notes a failed read, and tells whether blockPatience is over. A read may take minutes: DataNodes that are frozen
// accept its connections.
func (l *lostBlocks) over(began, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if began.Sub(l.last) > blockPause {
		l.since = began
	}
	l.last = now
	return now.Sub(l.since) >= blockPatience
}

// reset begins anew: HDFS as a whole is away.
func (l *lostBlocks) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Time{}
}

// load reads a file. If its blocks are lost, the error is errNoBlocks after blockPatience.
func (s *directoryStore) load(ctx context.Context, name string) ([]byte, error) {
	return s.read(ctx, name, func(ctx context.Context, at string) ([]byte, error) {
		content, _, err := s.Files.Load(ctx, at, maxFile)
		return content, err
	})
}

// head is load for the first bytes of a file.
func (s *directoryStore) head(ctx context.Context, name string, most int64) ([]byte, error) {
	return s.read(ctx, name, func(ctx context.Context, at string) ([]byte, error) {
		file, err := s.Files.Open(ctx, at)
		if err != nil {
			return nil, err
		}
		head, err := io.ReadAll(io.LimitReader(file, most))
		return head, errors.Join(err, file.Close())
	})
}

func (s *directoryStore) read(ctx context.Context, name string, try func(ctx context.Context, at string) ([]byte, error)) (content []byte, err error) {
	failed := false
	err = s.patient(ctx, "read "+name, func(ctx context.Context) error {
		at, began := s.dir+"/"+name, sched.Now(ctx)
		var why error
		if content, why = try(ctx, at); why == nil {
			return nil
		}
		err := s.unread(ctx, at, began, why)
		if errors.Is(err, errNoBlocks) && !failed { // for others the time is over: this file has one more try
			failed = true
			return why
		}
		return err
	})
	return content, err
}

// unread looks why a file could not be read, in a call that began at some time. The error is errNoBlocks once blockPatience is
// over, and otherwise that of the NameNode, or why.
func (d *Directory) unread(ctx context.Context, at string, began time.Time, why error) error {
	if silent(why) {
		d.lost.reset()
		return why
	}
	if _, err := d.Files.Stat(ctx, at); err != nil { // the NameNode is away, too
		d.lost.reset()
		return err
	}
	if d.lost.over(began, sched.Now(ctx)) {
		return fmt.Errorf("%w: %w", errNoBlocks, why)
	}
	return why
}

// silent reports whether the NameNode has not answered, or has answered that it cannot now.
func silent(err error) bool {
	_, unanswered := errors.AsType[*yarnrpc.CallError](err)
	_, refused := errors.AsType[*yarnrpc.RemoteError](err)
	return unanswered || refused
}
