package lines

import (
	"context"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// readAhead is the goroutine that fills buffers while earlier ones are
// processed.
type readAhead struct {
	file   filesystem.File
	free   chan []byte   // shared with the Reader, which gives buffers back
	filled chan []byte   // sent and closed by the goroutine; never blocks, because it has room for all buffers
	quit   chan struct{} // closed by stop
	done   chan struct{} // closed when the goroutine has ended
	err    error         // why filled was closed, or nil at the file's end; valid after the close
}

// readAhead starts to read a part's file in order. It reads from the byte before the
// part to the end of the file, or until stop.
func (r *Reader) readAhead(file filesystem.File, part jobgraph.Part) *readAhead {
	a := &readAhead{
		file: file, free: r.free,
		filled: make(chan []byte, buffers),
		quit:   make(chan struct{}), done: make(chan struct{}),
	}
	go func() { // ends at the file's end or by stop
		defer close(a.done)
		defer close(a.filled)
		a.err = a.run(part, r.options.Buffer)
	}()
	return a
}

// next returns the next buffer, or nil at the file's end.
func (a *readAhead) next(ctx context.Context) ([]byte, error) {
	select {
	case buffer, ok := <-a.filled:
		if !ok {
			return nil, a.err
		}
		return buffer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// stop closes the file, ends the goroutine and waits for it. The close ends a read
// that is under way.
func (a *readAhead) stop() {
	close(a.quit)
	_ = a.file.Close() // nothing was written
	<-a.done
	for buffer := range a.filled {
		a.free <- buffer[:cap(buffer)]
	}
}

func (a *readAhead) run(part jobgraph.Part, size int) error {
	position, end := begin(part), part.Offset+part.Length
	if position > 0 {
		if _, err := a.file.Seek(position, io.SeekStart); err != nil {
			return readError(a.file.Info(), position, err)
		}
	}
	for position < part.FileLength {
		var buffer []byte
		select {
		case buffer = <-a.free:
		case <-a.quit:
			return nil
		}
		if buffer == nil {
			buffer = make([]byte, size)
		}
		n := min(int64(size), part.FileLength-position)
		if position < end {
			n = min(n, end-position)
		} else {
			n = min(n, afterSplit)
		}
		read, err := io.ReadFull(a.file, buffer[:n])
		if err != nil {
			a.free <- buffer
			return readError(a.file.Info(), position+int64(read), err)
		}
		a.filled <- buffer[:n]
		position += n
	}
	return nil
}

// readError makes the Reader's error from an error of Seek or io.ReadFull. Only io.EOF or io.ErrUnexpectedEOF
// itself means that the file has ended. An error that wraps one of them has another cause, such as a DataNode
// that has closed the connection.
func readError(file filesystem.FileInfo, position int64, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // an error that wraps these has another cause
		return operator.Permanent(fmt.Errorf("read %s: %w: it had %d bytes, and now ends at byte %d", file.URI, ErrChanged, file.Size, position))
	}
	return operator.OfFiles(fmt.Errorf("read %s at %d: %w", file.URI, position, err))
}
