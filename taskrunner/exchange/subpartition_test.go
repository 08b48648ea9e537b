package exchange

import (
	"context"
	"testing"
)

// cancelledAt is the context of a task that is cancelled between two looks at it.
type cancelledAt struct {
	context.Context //nolint:containedctx // it is one

	looks int
}

func (e *cancelledAt) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestNoEmptyBufferIsSent would catch a task that is cancelled just when it begins a buffer, and leaves it empty. A flush would send it,
// the other end would take the frame for a broken protocol, and the tasks of both hosts would fail.
func TestNoEmptyBufferIsSent(t *testing.T) {
	t.Parallel()
	for looks := range 3 {
		s := &subpartition{partition: newPartition(nil, PartitionID{}, 1), quota: quota{pool: poolOf(10 * bufferSize)}}
		err := s.append(&cancelledAt{t.Context(), looks}, []byte("record"))
		s.requestFlush()
		switch d, takes := s.take(true); {
		case takes != nil:
			t.Error(takes)
		case (d.buffer != nil) != (err == nil):
			t.Errorf("cancelled at look %d (%v): a buffer is there: %v", looks, err, d.buffer != nil)
		case d.buffer != nil && len(d.buffer.payload()) == 0:
			t.Errorf("cancelled at look %d: the buffer is empty", looks)
		}
	}
}
