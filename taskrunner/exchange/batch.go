package exchange

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// batchSize is the most bytes that a batch collects.
const batchSize = 64 << 10

// batch is a connection that writes much at a time. It lies below TLS, which writes each record of 16 KiB on its own, and each write
// may wake up the other end. It collects only between hold and flush, so a handshake or the end of a connection does not wait.
// Several goroutines may write.
type batch struct {
	net.Conn
	memory *batchMemory // lends pending; nil: the connection has its own

	mu      sync.Mutex // guards all below; held while data is written
	holding bool
	pending []byte // at most batchSize; nil: no memory is lent
	err     error  // of a write that failed, perhaps in the middle of a TLS record: nothing may follow
	// patience is how long the other end may take nothing of a write; 0: for ever.
	patience time.Duration

	deadline sync.Mutex // guards aborted; a leaf
	aborted  bool
}

// batchBelow returns the batch of a connection with or without TLS.
func batchBelow(conn net.Conn) *batch {
	if secured, is := conn.(*tls.Conn); is {
		conn = secured.NetConn()
	}
	return conn.(*batch)
}

// NetConn returns the connection below. doorstep needs the system's connection.
func (b *batch) NetConn() net.Conn { return b.Conn }

// Write collects p, or writes it. An error may be that of data which was collected before.
func (b *batch) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending)+len(p) > batchSize {
		b.write()
	}
	switch {
	case b.err != nil:
		return 0, b.err
	case b.holding && len(p) <= batchSize && b.borrow():
		b.pending = append(b.pending, p...)
		return len(p), nil
	}
	return b.pass(p)
}

// borrow tells whether there is memory to collect.
func (b *batch) borrow() bool {
	if b.memory != nil && b.pending == nil {
		b.pending = b.memory.take()
	}
	return b.memory == nil || b.pending != nil
}

// giveBack ends the use of the memory.
func (b *batch) giveBack() {
	if b.memory != nil && b.pending != nil {
		b.memory.giveBack(b.pending)
		b.pending = nil
	}
}

// pass writes p to the connection.
func (b *batch) pass(p []byte) (n int, err error) {
	if b.patience > 0 {
		b.extend()
	}
	n, err = b.Conn.Write(p)
	if b.patience > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the other end has not taken %d bytes within %s: %w", len(p)-n, b.patience, err)
	}
	b.err = err
	return n, err
}

// extend gives the next write its time, unless abort has ended it.
func (b *batch) extend() {
	b.deadline.Lock()
	defer b.deadline.Unlock()
	if !b.aborted {
		_ = b.SetWriteDeadline(time.Now().Add(b.patience)) // an error says that the connection has ended
	}
}

// expect makes the other end take what is written from now on within a time: see patience.
func (b *batch) expect(patience time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.patience = patience
}

// hold begins to collect.
func (b *batch) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holding = true
}

// flush ends collecting, and writes what was collected.
func (b *batch) flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holding = false
	b.write()
	b.giveBack()
	return b.err
}

// Close ends the connection, and a write that waits.
func (b *batch) Close() error {
	err := b.Conn.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = net.ErrClosed
	}
	b.giveBack()
	return err
}

// write writes what was collected, unless an earlier write failed.
func (b *batch) write() {
	if len(b.pending) > 0 && b.err == nil {
		_, _ = b.pass(b.pending)
	}
	b.pending = b.pending[:0]
}

// abort ends a write that waits for the other end.
func (b *batch) abort() {
	b.deadline.Lock()
	defer b.deadline.Unlock()
	b.aborted = true
	_ = b.SetWriteDeadline(time.Now()) // an error says that the connection has ended
}
