package dataflowtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// reader implements operator.RecordReader.
type reader struct{ *channel }

func (r reader) Next(ctx context.Context) ([]byte, error) {
	select {
	case record, ok := <-r.records:
		if !ok {
			return nil, io.EOF
		}
		return record, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// writer implements operator.RecordWriter.
type writer struct{ consumers []*channel }

func (w writer) Channels() int { return len(w.consumers) }

func (w writer) Emit(ctx context.Context, channel int, record []byte) error {
	if channel < 0 || channel >= len(w.consumers) {
		return fmt.Errorf("emit to channel %d of %d", channel, len(w.consumers))
	}
	select {
	case w.consumers[channel].records <- bytes.Clone(record):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (writer) Flush(context.Context) error { return nil }
