package exchange

import (
	"fmt"
	"net"
)

// linkWriter writes a connection. One goroutine at a time runs it: if a read of a disk is slow, another one replaces it.
type linkWriter[E endpoint] struct {
	link    *link[E]
	conn    net.Conn
	below   *batch // of conn
	to      *frameWriter
	stopped chan struct{} // closed when the reader has ended
	written chan error    // gets the error of the last goroutine; its capacity is one
}

// run writes until the connection ends, or another goroutine replaces this one.
func (w *linkWriter[E]) run() {
	replaced, err := w.write(&relief{replace: w.run})
	if !replaced {
		w.conn.Close() // ends the reader
		w.written <- err
	}
}

// write calls the channels in turn. A nil error means that the reader has ended.
func (w *linkWriter[E]) write(r *relief) (replaced bool, err error) {
	l := w.link
	for {
		channel, some := l.turns.next()
		if some {
			w.below.hold()
			if channel.prepare(r) {
				return true, nil
			}
			more, err := channel.produce(w.to)
			if err != nil {
				return false, fmt.Errorf("write: %w", err)
			}
			if more {
				l.turns.add(channel)
			}
			continue
		}
		err := w.to.Flush()
		if err == nil {
			err = w.below.flush()
		}
		if err != nil {
			return false, fmt.Errorf("write: %w", err)
		}
		select {
		case <-l.turns.wake:
		case <-w.stopped:
			return false, nil
		case <-l.parting:
			return false, ErrClosed
		}
	}
}
