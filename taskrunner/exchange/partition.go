package exchange

import (
	"context"
	"fmt"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// ResultPartition is one output of a running task: one channel to each consuming
// subtask. Emit, Flush and Finish belong to the task's goroutine; Fail and
// Traffic may be called from any.
type ResultPartition struct {
	exchange *Exchange
	id       PartitionID
	channels []subpartition
	// room has a token when a buffer came back since it was last drawn. Capacity
	// one: the task, the only one to draw, looks at its channel for each token.
	room chan struct{}

	ended chan struct{} // closed by end, once

	mu   sync.Mutex // guards open, err
	open int        // channels that are not released
	err  error      // set before ended is closed; nil when the partition is drained
}

var _ operator.RecordWriter = (*ResultPartition)(nil)

func newPartition(e *Exchange, id PartitionID, channels int) *ResultPartition {
	p := &ResultPartition{
		exchange: e, id: id,
		channels: make([]subpartition, channels),
		room:     make(chan struct{}, 1),
		ended:    make(chan struct{}),
		open:     channels,
	}
	for i := range p.channels {
		p.channels[i].partition = p
		p.channels[i].quota.pool = e.pool
	}
	return p
}

// Channels is the number of consuming subtasks.
func (p *ResultPartition) Channels() int { return len(p.channels) }

// Emit appends a copy of the record to a channel. It blocks while the consumer
// has no room, and looks at ctx once a buffer. A record for a consumer that ended
// before its input did is dropped. ErrPeerLost when a consumer's host was lost.
func (p *ResultPartition) Emit(ctx context.Context, channel int, record []byte) error {
	if len(record) > MaxRecord {
		return fmt.Errorf("emit record of %d bytes to partition %s: %w", len(record), p.id, ErrRecordTooLarge)
	}
	return p.channels[channel].append(ctx, record)
}

// Flush lets partly filled buffers go as soon as their consumers can take them.
// It does not wait for that.
func (p *ResultPartition) Flush(context.Context) error {
	p.flush()
	return nil
}

func (p *ResultPartition) flush() {
	for i := range p.channels {
		p.channels[i].requestFlush()
	}
}

// Finish ends all channels and waits until every consumer's host has all data or
// wants no more: the producing host is not needed for this partition then.
func (p *ResultPartition) Finish(ctx context.Context) error {
	for i := range p.channels {
		p.channels[i].finish()
	}
	select {
	case <-p.ended:
		return p.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Fail ends all channels that are not drained; their consumers fail with
// ErrPeerLost and the text of err. It may be called after Finish, and more than
// once.
func (p *ResultPartition) Fail(err error) {
	p.end(fmt.Errorf("partition %s: %w", p.id, err))
}

// Traffic gives the records and the bytes, lengths included, that were emitted.
func (p *ResultPartition) Traffic() (records, bytes int64) {
	for i := range p.channels {
		r, b := p.channels[i].traffic()
		records, bytes = records+r, bytes+b
	}
	return records, bytes
}

func (p *ResultPartition) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// waitForRoom waits for a buffer of any channel to come back.
func (p *ResultPartition) waitForRoom(ctx context.Context) error {
	select {
	case <-p.room:
		return nil
	case <-p.ended:
		return p.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *ResultPartition) signalRoom() {
	select {
	case p.room <- struct{}{}:
	default:
	}
}

// channelReleased counts down to the end of a partition that all have read.
func (p *ResultPartition) channelReleased() {
	p.mu.Lock()
	p.open--
	last := p.open == 0
	p.mu.Unlock()
	if last {
		p.end(nil)
	}
	p.signalRoom() // the task may wait for room in this very channel
}

// end closes the partition once, drained (nil) or failed.
func (p *ResultPartition) end(err error) {
	p.mu.Lock()
	select {
	case <-p.ended:
		p.mu.Unlock()
		return
	default:
	}
	p.err = err
	close(p.ended)
	p.mu.Unlock()
	p.exchange.forget(p)
	if err == nil {
		return
	}
	for i := range p.channels {
		p.channels[i].fail(err)
	}
}
