package dfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// Reading ahead. A DataNode sends packets of 64 KiB; four of them are enough to
// overlap the network with the consumer, and bound the memory of an open file
// to 256 KiB.
const (
	chunkBytes  = 64 << 10
	chunksAhead = 4
)

// Tries to open a file again after its connections broke, without a byte in
// between.
const (
	maxReopens      = 3
	firstReopenWait = 200 * time.Millisecond
)

// errChanged says that a file is not the one that was opened.
var errChanged = errors.New("the file has changed while it was read")

// reader reads one HDFS file, ahead of its consumer: a goroutine fetches chunks
// from the current position until the end, the next Seek or Close. Its fields
// belong to the consumer, except closed.
type reader struct {
	remote  *remote
	path    string
	size    int64
	modTime time.Time

	source   *colinmarc.FileReader // opened, not yet read from; nil once it is used
	fetching *fetch                // nil until the first Read, and after a Seek
	position int64                 // of the consumer
	rest     []byte                // of the chunk that is being consumed
	failed   error                 // what came after the last chunk

	closing sync.Once
	closed  chan struct{} // closed by Close
}

// fetch is one run of the goroutine that reads ahead.
type fetch struct {
	chunks chan chunk    // sent by the goroutine, never closed; bounds what is ahead
	empty  chan []byte   // buffers on their way back
	stop   chan struct{} // closed by Seek
	taken  []byte        // buffer of the chunk that is being consumed
}

type chunk struct {
	data []byte
	err  error // io.EOF at the end
}

func newReader(r *remote, path string, source *colinmarc.FileReader) *reader {
	info := source.Stat()
	return &reader{
		remote: r, path: path, size: info.Size(), modTime: info.ModTime(),
		source: source, closed: make(chan struct{}),
	}
}

// Read reads what has been fetched, and waits where nothing has.
func (r *reader) Read(b []byte) (int, error) {
	select {
	case <-r.closed:
		return 0, r.explain(fs.ErrClosed)
	default:
	}
	if len(b) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		if r.failed != nil {
			return 0, r.failed
		}
		if r.position >= r.size {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	r.position += int64(n)
	return n, nil
}

// next takes the next chunk.
func (r *reader) next() error {
	if r.fetching == nil && !r.start() {
		return r.explain(ErrClosed)
	}
	f := r.fetching
	if f.taken != nil {
		f.empty <- f.taken // never full: it has room for all buffers
		f.taken = nil
	}
	select {
	case c := <-f.chunks:
		r.rest, f.taken = c.data, c.data[:cap(c.data)]
		if c.err != nil {
			r.failed = c.err
			if !errors.Is(c.err, io.EOF) {
				r.failed = r.explain(c.err)
			}
		}
		return nil
	case <-r.closed:
		return r.explain(fs.ErrClosed)
	case <-r.remote.closing:
		return r.explain(ErrClosed)
	}
}

// start begins to fetch at the consumer's position.
func (r *reader) start() bool {
	f := &fetch{
		chunks: make(chan chunk, chunksAhead),
		empty:  make(chan []byte, chunksAhead),
		stop:   make(chan struct{}),
	}
	for range chunksAhead {
		f.empty <- nil // buffers are made when they are needed
	}
	s := &source{reader: r, file: r.source, offset: r.position}
	r.source = nil
	if !r.remote.start(func() { s.run(f) }) {
		return false
	}
	r.fetching = f
	return true
}

// Seek moves the consumer. What has been fetched for another place is lost,
// except where the new position is in the chunk being consumed.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.position
	case io.SeekEnd:
		offset += r.size
	case io.SeekStart:
	default:
		return 0, r.explain(fmt.Errorf("seek with whence %d: %w", whence, fs.ErrInvalid))
	}
	if offset < 0 {
		return 0, r.explain(fmt.Errorf("seek to %d: %w", offset, fs.ErrInvalid))
	}
	if ahead := offset - r.position; ahead >= 0 && ahead <= int64(len(r.rest)) && r.fetching != nil {
		r.rest, r.position = r.rest[ahead:], offset
		return offset, nil
	}
	if r.fetching != nil {
		close(r.fetching.stop)
		r.fetching = nil
	}
	r.rest, r.failed, r.position = nil, nil, offset
	return offset, nil
}

// Close ends reading; a Read that waits in another goroutine returns.
func (r *reader) Close() error {
	r.closing.Do(func() { close(r.closed) })
	return nil
}

func (r *reader) explain(err error) error {
	return fmt.Errorf("read hdfs://%s%s: %w", r.remote.name, r.path, err)
}

// source is the library's reader under a fetch, opened again when it breaks.
// It belongs to the goroutine of the fetch.
type source struct {
	reader *reader
	file   *colinmarc.FileReader // nil: to be opened
	offset int64
}

// run fetches chunks until the end of the file, an error, or a stop.
func (s *source) run(f *fetch) {
	defer s.drop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.file != nil {
		if _, err := s.file.Seek(s.offset, io.SeekStart); err != nil {
			s.drop()
		}
	}
	for {
		var buffer []byte
		select {
		case buffer = <-f.empty:
		case <-f.stop:
			return
		case <-s.reader.closed:
			return
		case <-s.reader.remote.closing:
			return
		}
		if buffer == nil {
			buffer = make([]byte, chunkBytes)
		}
		n, err := s.fill(ctx, buffer, f)
		f.chunks <- chunk{buffer[:n], err} // never full: it has room for all buffers
		if err != nil {
			return
		}
	}
}

// fill reads the next bytes. When the connections break it opens the file again
// and goes on where it was.
func (s *source) fill(ctx context.Context, buffer []byte, f *fetch) (int, error) {
	if s.offset >= s.reader.size {
		return 0, io.EOF
	}
	wait := firstReopenWait
	for reopens := 0; ; reopens++ {
		n, err := s.read(ctx, buffer)
		if n > 0 || err == nil {
			s.offset += int64(n)
			return n, nil
		}
		s.drop()
		if reopens == maxReopens || final(err) {
			return 0, err
		}
		s.reader.remote.log.WithError(err).WithField("path", s.reader.path).Debug("file is opened again")
		if err := s.pause(wait, f); err != nil {
			return 0, err
		}
		wait *= 2
	}
}

// final says that to open the file again would not help: it is another one, or the
// NameNode has been tried for as long as it may be.
func final(err error) bool {
	for _, end := range []error{errChanged, fs.ErrNotExist, ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	_, unanswered := errors.AsType[*yarnrpc.CallError](err)
	return unanswered
}

// pause waits; an error says that nobody wants to read on.
func (s *source) pause(wait time.Duration, f *fetch) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-f.stop:
		return fs.ErrClosed
	case <-s.reader.closed:
		return fs.ErrClosed
	case <-s.reader.remote.closing:
		return ErrClosed
	}
}

func (s *source) read(ctx context.Context, buffer []byte) (int, error) {
	if s.file == nil {
		if err := s.reopen(ctx); err != nil {
			return 0, err
		}
	}
	n, err := s.file.Read(buffer)
	if n == 0 && errors.Is(err, io.EOF) { // before the size that the file had
		return 0, errChanged
	}
	return n, s.reader.remote.interpret(err)
}

func (s *source) reopen(ctx context.Context) error {
	file, err := s.reader.remote.openSource(ctx, s.reader.path)
	if err != nil {
		return err
	}
	if info := file.Stat(); info.Size() != s.reader.size || !info.ModTime().Equal(s.reader.modTime) {
		return errors.Join(errChanged, file.Close())
	}
	if _, err := file.Seek(s.offset, io.SeekStart); err != nil {
		return errors.Join(err, file.Close())
	}
	s.file = file
	return nil
}

func (s *source) drop() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}
