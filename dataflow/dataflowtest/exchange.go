package dataflowtest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// reader implements operator.RecordReader.
type reader struct{ *channel }

func (r reader) Poll() (operator.Item, []byte, error) {
	if r.records == nil {
		return r.pollKept()
	}
	select {
	case record, open := <-r.records:
		if !open {
			return operator.EndOfData, nil, nil
		}
		return operator.Record, record, nil
	default:
		return operator.Nothing, nil, nil
	}
}

// pollKept reads a blocking edge, when its producers have ended.
func (r reader) pollKept() (operator.Item, []byte, error) {
	switch {
	case r.producers.Load() > 0:
		return operator.Nothing, nil, nil
	case len(r.kept) == 0:
		return operator.EndOfData, nil, nil
	}
	record := r.kept[0]
	r.kept = r.kept[1:]
	return operator.Record, record, nil
}

// end is called when no producer is left.
func (c *channel) end() {
	if c.records != nil {
		close(c.records)
	}
	c.tell()
}

// tell wakes the consumer.
func (c *channel) tell() { wake(c.wake) }

// wake puts a token into a channel, unless it has one.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// writer implements operator.RecordWriter.
type writer struct{ consumers []*channel }

func (w writer) Channels() int { return len(w.consumers) }

func (w writer) Emit(ctx context.Context, channel int, record []byte) error {
	if channel < 0 || channel >= len(w.consumers) {
		return fmt.Errorf("emit to channel %d of %d", channel, len(w.consumers))
	}
	c := w.consumers[channel]
	if c.records == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.kept = append(c.kept, bytes.Clone(record))
		return nil
	}
	select {
	case c.records <- bytes.Clone(record):
		c.tell()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (writer) Flush(context.Context) error { return nil }
