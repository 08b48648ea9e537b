package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Producer is the source of one channel of a gate.
type Producer struct {
	Partition PartitionID
	Channel   int // of the partition
	Host      ids.HostID
	Address   string // Exchange.Address of the host
	// Finished says that the partition is blocking: its task has finished. Then Host is ids.PartitionHost of the worker that
	// has its file, and Address that of the worker's Server.
	Finished bool
}

// InputGate is one input of a running task. It has a channel from each producing subtask, and reads
// them in turn, one buffer at a time. Only one goroutine at a time may call Poll, Next and Close.
type InputGate struct {
	exchange *Exchange
	channel  int // of each producer, if they are Sources
	ready    *turns[*inputChannel]
	remote   int // channels with a guaranteed buffer of the pool
	// others stands for all producers of the group without data for this gate; nil without a group.
	others *inputChannel
	group  *group
	// begin opens the first channels of finished partitions, and follow the next one; nil: all channels are open from the start.
	begin, follow func()
	// again asks for a finished partition, also for one that was refused: see putOff. nil likewise.
	again func(Producer) *inputChannel

	mu       sync.Mutex // guards channels, open, closed
	channels []*inputChannel
	open     int // channels that have not ended
	closed   bool

	// For the reading goroutine only:
	current *inputChannel // whose buffer is being read, or nil
	buffer  *buffer
	rest    []byte // of the buffer's payload; it begins with a record, except within poll

	// Poll counts into passed, and copies it for Traffic after each buffer.
	passed                  Traffic
	records, bytes, buffers atomic.Int64
}

var _ operator.RecordReader = (*InputGate)(nil)

// inputChannel is the consuming end of one channel.
type inputChannel struct {
	gate     *InputGate
	producer Producer
	source   source
	records  assembler
	ended    bool // Poll has seen its end

	// Of a finished partition:
	begun    bool // Poll has seen data
	refusals int  // of a busy Server
	waits    bool // to be asked for again
}

// source gives the buffers of a channel: from a subpartition of this host, or from a connection.
type source interface {
	// take gives the next buffer or the end, if there is one.
	take() (delivery, error)
	// recycle takes back a buffer that was read.
	recycle(b *buffer)
	// close says that the gate needs no more.
	close()
	// usage gives the buffers of the channel, and whether they are the gate's own. Of those of a producer on this host, only
	// the queued ones count. Any goroutine may call it.
	usage() (u channelUsage, own bool)
}

// join adds a channel that its producer on this host now uses. A closed gate releases the channel.
func (g *InputGate) join(s *subpartition) {
	c := &inputChannel{gate: g, producer: g.group.sources.Producer(s.partition.id.Execution.Subtask, g.channel)}
	source := &localSource{channel: c}
	c.source = source
	if !g.add(c) {
		s.release()
		return
	}
	source.attach(s)
}

// add adds a channel; false if the gate is closed.
func (g *InputGate) add(c *inputChannel) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.channels = append(g.channels, c)
	g.open++
	return true
}

// left subtracts ended channels, and gives the number of channels that have not ended.
func (g *InputGate) left(ended int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open -= ended
	return g.open
}

// notify makes the gate look at this channel. Any goroutine may call it.
func (c *inputChannel) notify() { c.gate.ready.add(c) }

// Wakes makes the gate put a token into wake, a channel of capacity one, when Poll may have something new. The gates of a task share
// a channel. It must be called before the first Poll.
func (g *InputGate) Wakes(wake chan struct{}) { g.ready.share(wake) }

// Poll gives the next record of any channel, which is valid until the next call, or the end of the data when all channels have
// ended. It does not wait.
func (g *InputGate) Poll() (item operator.Item, record []byte, err error) {
	if record, found := g.short(); found {
		return operator.Record, record, nil
	}
	return g.poll()
}

// short gives the next record if it is short and whole in the current buffer. These are nearly all records if records are small, so
// it is kept small enough for the compiler to inline it.
func (g *InputGate) short() (record []byte, found bool) {
	rest := g.rest
	if len(rest) == 0 {
		return nil, false
	}
	end := int(rest[0]) + 1
	if end > 0x80 || end > len(rest) {
		return nil, false
	}
	g.rest = rest[end:]
	g.passed.Records++
	return rest[1:end:end], true
}

// poll is Poll for any record.
func (g *InputGate) poll() (item operator.Item, record []byte, err error) {
	for {
		if g.current != nil {
			record, rest, found, err := g.current.records.next(g.rest)
			if err != nil {
				return operator.Nothing, nil, g.current.explain(err)
			}
			if found {
				g.rest = rest
				g.passed.Records++
				return operator.Record, record, nil
			}
			g.recycle()
		}
		if item, err := g.advance(); item != operator.Record {
			return item, nil, err
		}
	}
}

// Next waits for the next record of any channel; it is valid until the next call. It returns io.EOF when all channels have ended, or
// ctx's cause; it checks ctx at least once for each buffer. It is for a goroutine that reads only this gate.
func (g *InputGate) Next(ctx context.Context) ([]byte, error) {
	for {
		if record, found := g.short(); found {
			return record, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch item, record, err := g.poll(); {
		case err != nil:
			return nil, err
		case item == operator.Record:
			return record, nil
		case item == operator.EndOfData:
			return nil, io.EOF
		}
		select {
		case <-g.ready.wake:
		case <-ctx.Done():
		}
	}
}

// advance takes a buffer of the channel whose turn it is. The item is Record if there is one.
func (g *InputGate) advance() (operator.Item, error) {
	if g.begin != nil {
		g.begin()
		g.begin = nil
	}
	for g.left(0) > 0 {
		channel, some := g.ready.next()
		if !some {
			return operator.Nothing, nil
		}
		switch {
		case channel.ended: // a late notify
			continue
		case channel.waits:
			g.askAgain(channel)
			continue
		}
		d, err := channel.source.take()
		switch {
		case err != nil && g.putOff(channel, err):
		case err != nil:
			return operator.Nothing, channel.explain(channel.lost(err))
		case d.end:
			if err := channel.records.end(); err != nil {
				return operator.Nothing, channel.explain(err)
			}
			channel.ended = true
			if g.follow != nil {
				g.drop(channel)
				g.follow()
			}
			g.left(1)
		case d.buffer != nil:
			channel.begun = true
			channel.notify() // there may be more data for its next turn
			g.current, g.buffer, g.rest = channel, d.buffer, d.buffer.payload()
			g.passed.Bytes += int64(len(g.rest))
			g.passed.Buffers++
			return operator.Record, nil
		}
	}
	return operator.EndOfData, nil
}

func (g *InputGate) recycle() {
	if g.current != nil {
		g.current.source.recycle(g.buffer)
		g.current, g.buffer, g.rest = nil, nil, nil
	}
	g.records.Store(g.passed.Records)
	g.bytes.Store(g.passed.Bytes)
	g.buffers.Store(g.passed.Buffers)
}

// Close closes all channels. Producers may continue, and the data that they still send is dropped.
func (g *InputGate) Close() {
	g.mu.Lock()
	closed, channels := g.closed, g.channels
	g.closed = true
	g.mu.Unlock()
	if closed {
		return
	}
	g.recycle()
	for _, c := range channels {
		c.source.close()
	}
	g.exchange.pool.reserve(-g.remote)
}

// Traffic gives what was read. Any goroutine may call it.
func (g *InputGate) Traffic() Traffic {
	return Traffic{g.records.Load(), g.bytes.Load(), g.buffers.Load()}
}

// Usage gives the buffers that the gate uses. Any goroutine may call it.
func (g *InputGate) Usage() Usage {
	var total usageCount
	g.mu.Lock()
	channels := g.channels // its elements do not change
	g.mu.Unlock()
	for _, c := range channels {
		switch u, own := c.source.usage(); {
		case own:
			total.count(u)
		default:
			total.Queued += u.queued
		}
	}
	return total.with(g.exchange.pool)
}

// explain adds the channel to an error.
func (c *inputChannel) explain(err error) error {
	return fmt.Errorf("read channel %d of partition %s: %w", c.producer.Channel, c.producer.Partition, err)
}

// lost makes a PeerLostError if a channel ended before its data did: the failure of the peer is
// reported elsewhere. Errors of this host stay as they are. A Server that is busy is not lost: others read there.
func (c *inputChannel) lost(err error) error {
	if lost, is := errors.AsType[*PeerLostError](err); is && errors.Is(lost.Err, errBusy) {
		return fmt.Errorf("host %s at %s: %w", lost.Host, lost.Address, lost.Err)
	}
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrPeerLost) || errors.Is(err, errTooManyChannels) {
		return err
	}
	if _, is := errors.AsType[*PartitionLostError](err); is {
		return err
	}
	return &PeerLostError{Host: c.producer.Host, Address: c.producer.Address, Err: err}
}
