package exchange

import (
	"bytes"
	"errors"
	"net"
	"testing"
)

// TestBatchesHaveBoundedMemory would catch a server whose memory grows with the connections that write at the same time, and one that
// has no memory for batches any more because connections have ended while they wrote.
func TestBatchesHaveBoundedMemory(t *testing.T) {
	t.Parallel()
	memory := batchesIn(2 * batchSize)
	var to [3]noted
	var batches [3]*batch
	for i := range batches {
		batches[i] = &batch{Conn: &to[i], memory: memory}
	}
	write := func(i, writes int) {
		t.Helper()
		batches[i].hold()
		if _, err := batches[i].Write([]byte("record")); err != nil || to[i].writes != writes {
			t.Errorf("batch %d: %d writes, want %d: %v", i, to[i].writes, writes, err)
		}
	}
	write(0, 0)
	write(1, 0)
	write(2, 1) // without memory
	if err := batches[0].flush(); err != nil || !bytes.Equal(to[0].bytes, []byte("record")) {
		t.Errorf("%q is written: %v", to[0].bytes, err)
	}
	write(2, 1)
	if err := batches[1].Close(); err != nil { // in the middle
		t.Error(err)
	}
	write(0, 1)
	if _, err := batches[1].Write([]byte("goodbye")); !errors.Is(err, net.ErrClosed) || memory.left.Load() != 0 {
		t.Errorf("a connection that has ended writes (%v), or keeps memory for %d batches", err, memory.left.Load())
	}
	for _, i := range []int{0, 2} {
		if err := batches[i].flush(); err != nil {
			t.Error(err)
		}
	}
	if n := memory.left.Load(); n != 2 {
		t.Errorf("%d of 2 batches are there when all have ended", n)
	}
}
