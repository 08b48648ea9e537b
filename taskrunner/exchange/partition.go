package exchange

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// ResultPartition is one output of a running task, with one channel to each consuming subtask. Only
// the task's goroutine may call Emit, Flush and Finish; any goroutine may call Fail, Traffic and Usage.
//
// A channel costs memory and time only when it is used: when the task emits a record to it, or a
// consumer on another host requests it.
type ResultPartition struct {
	exchange *Exchange
	id       PartitionID
	width    int   // number of channels
	channels table // the used channels
	// room has a token if a channel got room after the last token was taken. Its capacity is one:
	// only the task takes tokens, and looks at its channel for each.
	room chan struct{}

	ended chan struct{} // closed by end, once

	mu       sync.Mutex // guards what follows; under it only the pool is locked
	used     []*subpartition
	open     int             // channels in use that are not released
	filling  []*subpartition // channels that may have data to flush, each once
	finished bool            // Finish was called: only consumers may use further channels
	err      error           // set before ended is closed; nil when the partition is drained

	watcher Watcher // set before the first Emit

	announced bool // the registry knows that no more records come; its mutex guards this
}

var _ operator.RecordWriter = (*ResultPartition)(nil)

func newPartition(e *Exchange, id PartitionID, channels int) *ResultPartition {
	return &ResultPartition{
		exchange: e, id: id, width: channels,
		channels: newTable(channels),
		room:     make(chan struct{}, 1),
		ended:    make(chan struct{}),
		watcher:  unwatched{},
	}
}

// Channels is the number of consuming subtasks.
func (p *ResultPartition) Channels() int { return p.width }

// Emit appends a copy of the record to a channel. It blocks while the consumer has no room, and
// checks ctx once for each buffer. If the consumer has ended before its input, the record is
// dropped. The error is ErrPeerLost if a consumer's host was lost.
func (p *ResultPartition) Emit(ctx context.Context, channel int, record []byte) error {
	if len(record) > MaxRecord {
		return fmt.Errorf("emit record of %d bytes to partition %s: %w", len(record), p.id, ErrRecordTooLarge)
	}
	s := p.channels.get(channel)
	if s == nil {
		s = p.use(channel)
		p.exchange.registry.offer(s)
	}
	return s.append(ctx, record)
}

// use gives a channel, and marks it as used.
func (p *ResultPartition) use(channel int) *subpartition {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.channels.get(channel); s != nil {
		return s
	}
	s := &subpartition{partition: p, channel: channel, quota: quota{pool: p.exchange.pool}}
	s.finished, s.err = p.finished, p.err
	p.channels.set(channel, s)
	select {
	case <-p.ended: // end has already given the guarantees back
	default:
		p.used = append(p.used, s)
		p.open++
		p.exchange.reserve(1)
	}
	return s
}

// inUse gives the channels that are in use now.
func (p *ResultPartition) inUse() []*subpartition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clip(p.used) // it only grows
}

// Flush sends partly filled buffers as soon as their consumers can take them. It does not wait for
// that.
func (p *ResultPartition) Flush(context.Context) error {
	p.flush()
	return nil
}

func (p *ResultPartition) flush() {
	p.mu.Lock()
	filling := p.filling
	p.filling = nil
	p.mu.Unlock()
	for _, s := range filling {
		s.requestFlush()
	}
}

// fills notes that a channel has started a buffer.
func (p *ResultPartition) fills(s *subpartition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.filling = append(p.filling, s)
}

// Finish ends all channels, and waits until every consumer's host has all data or needs no more.
// Then the partition's data does not need the producing host any more.
func (p *ResultPartition) Finish(ctx context.Context) error {
	p.mu.Lock()
	p.finished = true
	drained := p.open == 0
	p.mu.Unlock()
	for _, s := range p.inUse() {
		s.finish()
	}
	p.exchange.registry.announce(p)
	if drained {
		p.end(nil)
	}
	p.watcher.Wait()
	defer p.watcher.Resume()
	select {
	case <-p.ended:
		return p.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Fail ends all channels that are not drained. Their consumers fail with ErrPeerLost and the text
// of err. It may be called after Finish, and more than once.
func (p *ResultPartition) Fail(err error) {
	p.end(fmt.Errorf("partition %s: %w", p.id, err))
}

// Traffic gives what was emitted.
func (p *ResultPartition) Traffic() (total Traffic) {
	for _, s := range p.inUse() {
		passed := s.traffic()
		total.Records += passed.Records
		total.Bytes += passed.Bytes
		total.Buffers += passed.Buffers
	}
	return total
}

// Usage gives the buffers that the partition uses.
func (p *ResultPartition) Usage() Usage {
	var total usageCount
	for _, s := range p.inUse() {
		total.count(s.usage())
	}
	return total.with(p.exchange.pool)
}

func (p *ResultPartition) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Watch makes w watch the goroutine that calls Emit. It must be called before the first Emit.
func (p *ResultPartition) Watch(w Watcher) { p.watcher = w }

// waitForRoom waits until any channel may have room again.
func (p *ResultPartition) waitForRoom(ctx context.Context) error {
	select {
	case <-p.room:
		return nil
	default:
	}
	p.watcher.Wait()
	defer p.watcher.Resume()
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

// channelReleased ends the partition after its last channel was released.
func (p *ResultPartition) channelReleased() {
	p.mu.Lock()
	p.open--
	last := p.open == 0 && p.finished
	p.mu.Unlock()
	if last {
		p.end(nil)
	}
	p.signalRoom() // the task may be waiting for room in this channel
}

// end ends the partition once: drained (nil) or failed.
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
	used := p.used
	p.mu.Unlock()
	p.exchange.forget(p, used)
	if err == nil {
		return
	}
	for _, s := range used {
		s.fail(err)
	}
}
