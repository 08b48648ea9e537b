package dfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// Reading ahead: a DataNode sends packets of 64 KiB. Four of them are enough to overlap the network
// with the consumer, and bound the memory of an open file to 256 KiB.
const (
	chunkBytes  = 64 << 10
	chunksAhead = 4
)

// locateAhead is the length that is located at a time, in bytes: ten blocks, as
// dfs.client.read.prefetch.size.
const locateAhead = 10 * 128 << 20

// errChanged says that a file is not the one that was opened.
var errChanged = errors.New("the file has changed while it was read")

// reader reads one HDFS file ahead of its consumer: a goroutine fetches chunks from the current
// position until the end, the next Seek or Close. Its fields belong to the consumer, except life
// and end.
type reader struct {
	remote  *remote
	path    string
	size    int64
	modTime time.Time

	fetching *fetch // nil until the first Read, and after a Seek
	position int64  // of the consumer
	rest     []byte // of the current chunk
	failed   error  // after the last chunk

	life context.Context //nolint:containedctx // of the open file, not of a call
	end  context.CancelFunc
}

// fetch is one run of the goroutine that reads ahead.
type fetch struct {
	chunks chan chunk         // from the goroutine, never closed; its size bounds the reading ahead
	empty  chan []byte        // used buffers
	stop   context.CancelFunc // called by Seek
	taken  []byte             // buffer of the current chunk
}

type chunk struct {
	data []byte
	err  error // io.EOF at the end
}

func newReader(r *remote, path string, status hdfs.Status) *reader {
	f := &reader{remote: r, path: path, size: status.Length, modTime: status.ModTime}
	f.life, f.end = context.WithCancel(context.Background())
	return f
}

// Read returns fetched bytes, and waits if there are none.
func (r *reader) Read(b []byte) (int, error) {
	if r.life.Err() != nil {
		return 0, r.explain(fs.ErrClosed)
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
	case <-r.life.Done():
		return r.explain(fs.ErrClosed)
	case <-r.remote.closing:
		return r.explain(ErrClosed)
	}
}

// start begins to fetch at the consumer's position.
func (r *reader) start() bool {
	ctx, stop := context.WithCancel(r.life)
	f := &fetch{
		chunks: make(chan chunk, chunksAhead),
		empty:  make(chan []byte, chunksAhead),
		stop:   stop,
	}
	for range chunksAhead {
		f.empty <- nil // buffers are made when they are needed
	}
	s := &source{reader: r, offset: r.position}
	if !r.remote.start(func() { s.run(ctx, f) }) {
		stop()
		return false
	}
	r.fetching = f
	return true
}

// Seek moves the consumer. It drops what was fetched, unless the new position is in the current
// chunk.
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
		r.fetching.stop()
		r.fetching = nil
	}
	r.rest, r.failed, r.position = nil, nil, offset
	return offset, nil
}

// Close ends reading. A Read that waits in another goroutine returns.
func (r *reader) Close() error {
	r.end()
	return nil
}

func (r *reader) explain(err error) error {
	return fmt.Errorf("read hdfs://%s%s: %w", r.remote.name, r.path, err)
}

// source reads the file for a fetch, block after block. If a connection breaks, it continues at the
// same position. It belongs to the goroutine of the fetch.
type source struct {
	reader  *reader
	offset  int64
	blocks  []hdfs.Block      // the blocks that were located last
	block   *hdfs.BlockReader // nil: not open
	suspect bool              // after a failure: the file may have been replaced
}

// run fetches chunks until the end of the file, an error, or the end of ctx.
func (s *source) run(ctx context.Context, f *fetch) {
	defer s.drop()
	defer f.stop()
	for {
		var buffer []byte
		select {
		case buffer = <-f.empty:
		case <-ctx.Done():
			return
		case <-s.reader.remote.closing:
			return
		}
		if buffer == nil {
			buffer = make([]byte, min(chunkBytes, max(0, s.reader.size-s.offset)))
		}
		n, err := s.fill(ctx, buffer)
		f.chunks <- chunk{buffer[:n], err} // never full: it has room for all buffers
		if err != nil {
			return
		}
	}
}

// fill reads the next bytes. If a connection breaks, it looks up the file again and continues at
// the same position.
func (s *source) fill(ctx context.Context, buffer []byte) (int, error) {
	if s.offset >= s.reader.size {
		return 0, io.EOF
	}
	tries := retries{patience: s.reader.remote.patience}
	for {
		n, err := s.read(ctx, buffer)
		if n > 0 {
			s.offset += int64(n)
			return n, nil
		}
		err = s.reader.remote.failure(ctx, err)
		s.drop()
		wait, again := tries.after(err)
		if !again {
			return 0, err
		}
		s.reader.remote.log.WithError(err).WithField("path", s.reader.path).Debug("file is opened again")
		if err := s.pause(ctx, wait); err != nil {
			return 0, err
		}
		s.suspect, s.blocks = true, nil
	}
}

// pause waits. It returns an error if the file or the FS is closed.
func (s *source) pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fs.ErrClosed
	case <-s.reader.remote.closing:
		return ErrClosed
	}
}

// read reads from the block at the offset. It returns some bytes or an error.
func (s *source) read(ctx context.Context, buffer []byte) (int, error) {
	for {
		if s.block == nil {
			if err := s.next(ctx); err != nil {
				return 0, err
			}
		}
		n, err := s.block.Read(buffer[:min(int64(len(buffer)), s.reader.size-s.offset)])
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		s.drop() // the end of the block
	}
}

// next opens the block at the offset.
func (s *source) next(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	at := s.find()
	if at < 0 {
		layout, err := s.reader.remote.nameNode.Locate(ctx, s.reader.path, s.offset, locateAhead)
		if err != nil {
			return err
		}
		if layout.Complete && layout.Length != s.reader.size {
			return errChanged
		}
		s.blocks = layout.Blocks
		if at = s.find(); at < 0 {
			return errNoBlock
		}
	}
	block := s.blocks[at]
	s.block = s.reader.remote.dialer.ReadBlock(ctx, block, s.offset-block.Offset)
	return nil
}

// find returns the index of the block that contains the offset; -1 if it is not known.
func (s *source) find() int {
	return slices.IndexFunc(s.blocks, func(b hdfs.Block) bool { return b.Offset <= s.offset && s.offset < b.Offset+b.Length })
}

// check checks, after a failure, whether the file is still the one that was opened.
func (s *source) check(ctx context.Context) error {
	if !s.suspect {
		return nil
	}
	status, err := s.reader.remote.nameNode.Stat(ctx, s.reader.path)
	switch {
	case err != nil:
		return err
	case status.IsDir || status.Length != s.reader.size || !status.ModTime.Equal(s.reader.modTime):
		return errChanged
	}
	s.suspect = false
	return nil
}

func (s *source) drop() {
	if s.block != nil {
		s.block.Close()
		s.block = nil
	}
}
