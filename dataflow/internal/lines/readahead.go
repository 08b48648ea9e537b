package lines

import (
	"context"
	"io"
)

// buffers is the number of buffers of a Reader.
const buffers = 3

// text fills buffers. Only one goroutine uses it.
type text interface {
	// fill fills a buffer, or a part of it, and returns the number of bytes. At the end of the file
	// the error is io.EOF itself.
	fill(buffer []byte) (int, error)
}

// readAhead is the goroutine that fills buffers while earlier ones are
// processed.
type readAhead struct {
	free   chan []byte   // shared with the Reader
	filled chan []byte   // sent and closed by the goroutine; never blocks, because it has room for all buffers
	taken  []byte        // the buffer that next has returned
	shut   func()        // closes the file, which ends a read that is under way
	quit   chan struct{} // closed by stop
	done   chan struct{} // closed when the goroutine has ended
	err    error         // why filled was closed; valid after the close
}

// readAhead starts to read a text in order, to its end or until stop.
func (r *Reader) readAhead(t text, shut func()) *readAhead {
	a := &readAhead{
		free: r.free, filled: make(chan []byte, buffers), shut: shut,
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	go func() { // ends at the file's end or by stop
		defer close(a.done)
		defer close(a.filled)
		a.err = a.run(t, r.options.Buffer)
	}()
	return a
}

func (a *readAhead) next(ctx context.Context) ([]byte, error) {
	a.giveBack()
	select {
	case buffer, ok := <-a.filled:
		if !ok {
			return nil, a.err
		}
		a.taken = buffer
		return buffer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// giveBack gives the buffer back that next has returned.
func (a *readAhead) giveBack() {
	if a.taken != nil {
		a.free <- a.taken[:cap(a.taken)]
		a.taken = nil
	}
}

// stop closes the file, ends the goroutine and waits for it.
func (a *readAhead) stop() {
	close(a.quit)
	a.shut()
	<-a.done
	a.giveBack()
	for buffer := range a.filled {
		a.free <- buffer[:cap(buffer)]
	}
}

func (a *readAhead) run(t text, size int) error {
	for {
		var buffer []byte
		select {
		case buffer = <-a.free:
		case <-a.quit:
			return io.EOF
		}
		if buffer == nil {
			buffer = make([]byte, size)
		}
		n, err := t.fill(buffer)
		if err != nil || n == 0 {
			a.free <- buffer
		} else {
			a.filled <- buffer[:n]
		}
		if err != nil {
			return err
		}
	}
}
