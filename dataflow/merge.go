package dataflow

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// inboxSize bounds the records that wait in an inbox, in bytes. A single record may
// exceed it.
const inboxSize = 64 << 10

// feedMerged takes records from several inputs in the order of their arrival.
// Reading the inputs one after the other would block a producer that feeds two of
// them. A goroutine for each input copies records into its inbox. The operators run
// only in the calling goroutine. All goroutines end before feedMerged returns.
func feedMerged(ctx context.Context, c *chain, takers []func([]byte)) error {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	ready := make(chan struct{}, 1) // some inbox has changed
	inboxes := make([]*inbox, len(takers))
	for i := range takers {
		inboxes[i] = &inbox{ready: ready, room: make(chan struct{}, 1)}
		reader := c.subtask.Input(i)
		wait.Go(func() { inboxes[i].fill(ctx, reader) })
	}
	for {
		open, taken := 0, false
		for i, in := range inboxes {
			records, err := in.take()
			for len(records) > 0 {
				length, n := binary.Uvarint(records)
				end := n + int(length)
				takers[i](records[n:end:end])
				if err := c.fault(); err != nil {
					return err
				}
				records = records[end:]
				taken = true
			}
			switch {
			case err == nil:
				open++
			case !errors.Is(err, io.EOF):
				return err
			}
		}
		if open == 0 {
			return nil
		}
		if taken {
			continue
		}
		c.subtask.Idle(true)
		select {
		case <-ready:
			c.subtask.Idle(false)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// inbox holds records of one input, each with a uvarint length before it.
type inbox struct {
	mu      sync.Mutex    // guards records, err
	records []byte        // read and not yet taken
	err     error         // why no more follow; io.EOF at the end
	taken   []byte        // result of the last take; the next take reuses its memory
	ready   chan struct{} // signals that records or err have come; capacity 1, shared
	room    chan struct{} // signals that all records were taken; capacity 1
}

// fill reads the input to its end, and waits while the inbox is full.
func (b *inbox) fill(ctx context.Context, reader operator.RecordReader) {
	for {
		record, err := reader.Next(ctx)
		b.mu.Lock()
		if err == nil {
			b.records = append(binary.AppendUvarint(b.records, uint64(len(record))), record...)
		}
		b.err = err
		full := len(b.records) >= inboxSize
		b.mu.Unlock()
		signal(b.ready)
		if err != nil {
			return
		}
		for full {
			select {
			case <-b.room:
			case <-ctx.Done():
				return
			}
			b.mu.Lock()
			full = len(b.records) >= inboxSize
			b.mu.Unlock()
		}
	}
}

// take returns the records read since the last take, which are valid until the next
// one. The error is not nil when no more records follow; it is io.EOF at the end.
func (b *inbox) take() ([]byte, error) {
	b.mu.Lock()
	b.records, b.taken = b.taken[:0], b.records
	err := b.err
	b.mu.Unlock()
	signal(b.room)
	return b.taken, err
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
