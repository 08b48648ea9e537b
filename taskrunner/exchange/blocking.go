package exchange

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

const (
	// defaultSortBuffers is the number of buffers in which a blocking output sorts its records, as Flink's
	// taskmanager.network.sort-shuffle.min-buffers.
	defaultSortBuffers = 512
	// leastSortBuffers are taken even if the host has no memory for them.
	leastSortBuffers = 16
	// fileBuffers are what a file takes beside them, for blocks that are compressed and written together.
	fileBuffers = 9
)

// errNoDirs says that the worker gave its host no directory for blocking partitions.
var errNoDirs = errors.New("the worker has no directory for blocking partitions")

// BlockingPartition is one output of a running task whose edge is blocking. It writes all records into one file, and never waits for
// consumers. Only the task's goroutine may call its methods, except Traffic and Usage.
type BlockingPartition struct {
	exchange *Exchange
	id       PartitionID
	width    int
	dir      int
	writer   *partition.Writer
	buffers  int // charged to the pool
	charged  bool

	// Emit counts into passed, and copies it for Traffic after each buffer's worth of bytes.
	passed                   Traffic
	next                     int64 // bytes at which Emit copies again
	records, bytes, buffered atomic.Int64
	written                  msg.WrittenPartition
}

var _ operator.RecordWriter = (*BlockingPartition)(nil)

// BlockingPartition makes one output of a task whose edge is blocking, in one of these directories. Tasks use the directories in turn,
// and if one cannot be written, the next. The memory in which it sorts is part of the host's memory for buffers: half of what is free,
// but no more than Config.SortBuffers.
func (e *Exchange) BlockingPartition(execution ids.ExecutionAttemptID, output, channels int, dirs []string) (*BlockingPartition, error) {
	p := &BlockingPartition{exchange: e, id: PartitionID{Execution: execution, Output: output}, width: channels}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("write partition %s: %w", p.id, errNoDirs)
	}
	sort := 0
	if channels > 1 {
		spare, _ := e.pool.spare()
		sort = min(max(spare/2, leastSortBuffers), e.config.SortBuffers)
	}
	p.buffers = sort + fileBuffers
	var errs []error
	for i := range dirs {
		p.dir = (execution.Subtask + execution.Attempt + output + i) % len(dirs)
		writer, err := partition.Create(partition.Config{
			Path: filepath.Join(dirs[p.dir], p.id.String()), Subpartitions: channels,
			Memory: sort * bufferSize, Compress: e.config.Compress,
		})
		if err == nil {
			p.writer = writer
			p.charged = true
			e.warnTight(e.pool.lend(p.buffers))
			return p, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Channels is the number of consuming subtasks.
func (p *BlockingPartition) Channels() int { return p.width }

// Emit appends a copy of the record to a channel. It checks ctx once for each buffer's worth of bytes.
func (p *BlockingPartition) Emit(ctx context.Context, channel int, record []byte) error {
	if err := p.writer.Append(channel, record); err != nil {
		return fmt.Errorf("write partition %s: %w", p.id, err)
	}
	p.passed.Records++
	p.passed.Bytes += int64(prefixOf(record) + len(record))
	if p.passed.Bytes < p.next {
		return nil
	}
	p.count()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// prefixOf is the size of a record's length.
func prefixOf(record []byte) (size int) {
	for length := len(record); length >= 0x80; length >>= 7 {
		size++
	}
	return size + 1
}

// count copies what has passed for Traffic.
func (p *BlockingPartition) count() {
	p.passed.Buffers = (p.passed.Bytes + maxPayload - 1) / maxPayload
	p.next = p.passed.Bytes + maxPayload
	p.records.Store(p.passed.Records)
	p.bytes.Store(p.passed.Bytes)
	p.buffered.Store(p.passed.Buffers)
}

// Flush does nothing: no consumer reads before the end.
func (p *BlockingPartition) Flush(context.Context) error { return nil }

// Watch does nothing: the partition never waits for consumers.
func (p *BlockingPartition) Watch(Watcher) {}

// Finish completes the file.
func (p *BlockingPartition) Finish(context.Context) error {
	written, err := p.writer.Finish()
	p.uncharge()
	p.count()
	if err != nil {
		return fmt.Errorf("finish partition %s: %w", p.id, err)
	}
	p.written = msg.WrittenPartition{Output: p.id.Output, Dir: p.dir, Records: written.Records, Bytes: written.Bytes}
	return nil
}

// Written says what Finish has left.
func (p *BlockingPartition) Written() msg.WrittenPartition { return p.written }

// Fail removes the file. It may be called after Finish, and more than once.
func (p *BlockingPartition) Fail(error) {
	p.uncharge()
	if err := p.writer.Abort(); err != nil {
		p.exchange.log.WithError(err).Warn("the file of a failed task stays until the job ends")
	}
}

func (p *BlockingPartition) uncharge() {
	if p.charged {
		p.charged = false
		p.exchange.pool.lend(-p.buffers)
	}
}

// Traffic gives what was emitted, up to a buffer's worth of bytes.
func (p *BlockingPartition) Traffic() Traffic {
	return Traffic{p.records.Load(), p.bytes.Load(), p.buffered.Load()}
}

// Usage gives no buffers, because none waits for a consumer.
func (p *BlockingPartition) Usage() Usage { return Usage{} }
