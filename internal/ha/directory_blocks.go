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

// blockPatience is how long files of jobs are tried while the NameNode answers, and no DataNode has their blocks. They may be
// lost for good, and other jobs must go on.
const blockPatience = 10 * time.Minute

// blockPause is the longest time from the end of a failed read to the begin of the next one in one period without blocks.
const blockPause = 5 * time.Minute

// errNoBlocks says that blockPatience is over.
var errNoBlocks = fmt.Errorf("its blocks could not be read for %s", blockPatience)

// lostBlocks notes since when blocks cannot be read. All jobs share this time, because their blocks are lost together, with a
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

// loadOfJob is load for a file that not every job needs.
func (s *directoryStore) loadOfJob(ctx context.Context, name string) ([]byte, error) {
	return s.readOfJob(ctx, name, func(ctx context.Context, at string) ([]byte, error) {
		content, _, err := s.Files.Load(ctx, at, maxFile)
		return content, err
	})
}

// headOfJob is loadOfJob for the first bytes of a file.
func (s *directoryStore) headOfJob(ctx context.Context, name string, most int64) ([]byte, error) {
	return s.readOfJob(ctx, name, func(ctx context.Context, at string) ([]byte, error) {
		file, err := s.Files.Open(ctx, at)
		if err != nil {
			return nil, err
		}
		head, err := io.ReadAll(io.LimitReader(file, most))
		return head, errors.Join(err, file.Close())
	})
}

func (s *directoryStore) readOfJob(ctx context.Context, name string, read func(ctx context.Context, at string) ([]byte, error)) (content []byte, err error) {
	err = s.patient(ctx, "read "+name, func(ctx context.Context) error {
		at, began := s.dir+"/"+name, sched.Now(ctx)
		content, err = read(ctx, at)
		if err == nil {
			return nil
		}
		if silent(err) {
			s.lost.reset()
			return err
		}
		if _, err := s.Files.Stat(ctx, at); err != nil { // the NameNode is away, too
			s.lost.reset()
			return err
		}
		if s.lost.over(began, sched.Now(ctx)) {
			return fmt.Errorf("%w: %w", errNoBlocks, err)
		}
		return err
	})
	return content, err
}

// silent reports whether the NameNode has not answered, or has answered that it cannot now.
func silent(err error) bool {
	_, unanswered := errors.AsType[*yarnrpc.CallError](err)
	_, refused := errors.AsType[*yarnrpc.RemoteError](err)
	return unanswered || refused
}
