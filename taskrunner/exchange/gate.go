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

// Producer is one channel that a gate reads: where it comes from.
type Producer struct {
	Partition PartitionID
	Channel   int // of the partition
	Host      ids.HostID
	Address   string // Exchange.Address of the host
}

// InputGate is one input of a running task: a channel from each producing
// subtask, read a buffer at a time in turn. One goroutine at a time calls Next and
// Close.
type InputGate struct {
	exchange *Exchange
	channel  int // of all producers, where they are Sources
	ready    *turns[*inputChannel]
	remote   int // channels that hold a guarantee of the pool
	// others stands for all producers of the group that have nothing for this gate; nil
	// without a group.
	others *inputChannel
	group  *group

	mu       sync.Mutex // guards channels, open, closed
	channels []*inputChannel
	open     int // channels that have not ended
	closed   bool

	// Of the goroutine that reads:
	current *inputChannel // whose buffer is being read, or nil
	buffer  *buffer
	rest    []byte // of the buffer's payload

	// What Next has read, told to Traffic a buffer at a time.
	records, bytes   int64
	toldRec, toldByt atomic.Int64
}

var _ operator.RecordReader = (*InputGate)(nil)

// inputChannel is the consuming end of one channel.
type inputChannel struct {
	gate     *InputGate
	producer Producer
	source   source
	records  assembler
	ended    bool // Next has seen its end
}

// source is where a channel's buffers come from: a subpartition of this host, or
// a connection.
type source interface {
	// take gives what came next, if anything did.
	take() (delivery, error)
	// recycle takes back a buffer that was read.
	recycle(b *buffer)
	// close says that no more is needed.
	close()
}

// join gives the gate a channel that its producer, of this host, uses now. A gate that
// is closed turns it away.
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

// add takes a channel in; false when the gate is closed.
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

// left counts a channel down, and gives the number of those that have not ended.
func (g *InputGate) left(ended int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open -= ended
	return g.open
}

// notify has the gate look at this channel. It may be called from anywhere.
func (c *inputChannel) notify() { c.gate.ready.add(c) }

// Next gives the next record of any channel; it is valid until the next call.
// io.EOF after the end of all channels. It looks at ctx once a buffer.
func (g *InputGate) Next(ctx context.Context) ([]byte, error) {
	for {
		if g.current != nil {
			record, rest, found, err := g.current.records.next(g.rest)
			if err != nil {
				return nil, g.current.explain(err)
			}
			if found {
				g.rest = rest
				g.records++
				return record, nil
			}
			g.recycle()
		}
		if err := g.advance(ctx); err != nil {
			return nil, err
		}
	}
}

// advance goes on to a buffer of the channel whose turn it is.
func (g *InputGate) advance(ctx context.Context) error {
	for g.left(0) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		channel, some := g.ready.next()
		if !some {
			select {
			case <-g.ready.wake:
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if channel.ended { // a note that came late
			continue
		}
		d, err := channel.source.take()
		switch {
		case err != nil:
			return channel.explain(channel.lost(err))
		case d.end:
			if err := channel.records.end(); err != nil {
				return channel.explain(err)
			}
			channel.ended = true
			g.left(1)
		case d.buffer != nil:
			channel.notify() // there may be more, for its next turn
			g.current, g.buffer, g.rest = channel, d.buffer, d.buffer.payload()
			g.bytes += int64(len(g.rest))
			return nil
		}
	}
	return io.EOF
}

func (g *InputGate) recycle() {
	if g.current != nil {
		g.current.source.recycle(g.buffer)
		g.current, g.buffer, g.rest = nil, nil, nil
	}
	g.toldRec.Store(g.records)
	g.toldByt.Store(g.bytes)
}

// Close ends the reading of all channels: producers may go on, what they still
// send is dropped.
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

// Traffic gives the records and the bytes, lengths included, that were read. It
// may be called from any goroutine.
func (g *InputGate) Traffic() (records, bytes int64) {
	return g.toldRec.Load(), g.toldByt.Load()
}

// explain says which channel an error is about.
func (c *inputChannel) explain(err error) error {
	return fmt.Errorf("read channel %d of partition %s: %w", c.producer.Channel, c.producer.Partition, err)
}

// lost makes an error of what ended the channel before its data did: to the
// consumer that is the loss of a peer, whose own failure is reported elsewhere, but
// for what is this host's own.
func (c *inputChannel) lost(err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrPeerLost) || errors.Is(err, errTooManyChannels) {
		return err
	}
	return &PeerLostError{Host: c.producer.Host, Address: c.producer.Address, Err: err}
}
