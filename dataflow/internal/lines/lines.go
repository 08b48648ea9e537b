// Package lines reads the lines of text files, split by split. Several readers can share one
// file, and each line is read exactly once.
//
// The rule: a split owns the lines whose first byte lies in it. A reader begins one byte before
// its split and skips through the first newline, and it reads past the end of its split to
// finish the last line that it owns. A line ends with "\n" or at the end of the file. The
// reader drops one "\r" before that and changes nothing else; it keeps a byte order mark.
//
// Each Read starts goroutines, which end before it returns. One reads ahead in a file while
// lines are processed. Up to eight load the next small files.
package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Errors of Read that would repeat in every attempt. They are permanent failures
// (operator.ErrPermanent).
var (
	// ErrChanged says that a file has changed since it was listed.
	ErrChanged = errors.New("input changed since the job was planned; run the job again")
	// ErrLineTooLong says that a line exceeds Options.MaxLine.
	ErrLineTooLong = errors.New("line is too long")
)

// Options bound a Reader's memory. A zero value means the default.
type Options struct {
	// Buffer is the size of one read in bytes, 1 MiB by default. A reader holds three buffers:
	// one being processed, one ready, one being filled. It also holds up to 2 MiB of small
	// files.
	Buffer int
	// MaxLine is the length of the longest line in bytes, 64 MiB by default.
	MaxLine int
}

// afterSplit is the size of reads past a split's end, in bytes. It is small because
// these reads need only the rest of one line.
const afterSplit = 64 << 10

const buffers = 3

// Reader reads splits, one after the other. It belongs to one goroutine.
type Reader struct {
	fs      filesystem.FileSystem
	options Options
	free    chan []byte // buffers not in use; nil ones are not yet allocated
	line    []byte      // a line that began in an earlier buffer
	now     *scan       // what Read reads; nil: it is not called
}

// NewReader makes a reader of files in fsys.
func NewReader(fsys filesystem.FileSystem, o Options) *Reader {
	if o.Buffer == 0 {
		o.Buffer = 1 << 20
	}
	if o.MaxLine == 0 {
		o.MaxLine = 64 << 20
	}
	r := &Reader{fs: fsys, options: o, free: make(chan []byte, buffers)}
	for range buffers {
		r.free <- nil
	}
	return r
}

// Read calls line for each line that the split owns, without the line end, in the order of the
// split's parts. The callee owns the line until it returns. Its first error ends Read.
func (r *Reader) Read(ctx context.Context, split jobgraph.Split, line func([]byte) error) error {
	ahead := r.loadAhead(ctx, &split)
	defer ahead.stop()
	for _, part := range split.Parts {
		s := &scan{reader: r, uri: split.URI(part), part: part, line: line, skipping: part.Offset > 0}
		r.now = s
		var err error
		switch {
		case part.Length <= 0:
		case r.isSmall(part):
			err = s.loaded(ahead.next())
		default:
			err = s.file(ctx)
		}
		if err != nil {
			return err
		}
	}
	r.now = nil
	return nil
}

// At says which line Read has passed on last, in words for an error. It is "" if Read is not called; if it has panicked, it still
// counts as called.
func (r *Reader) At() string {
	if r.now == nil {
		return ""
	}
	return fmt.Sprintf("reading %s, the line at byte %d", r.now.uri, r.now.first)
}

// checkUnchanged returns an error if a file's size or time differs from the listing.
func checkUnchanged(info filesystem.FileInfo, part jobgraph.Part) error {
	if info.Size != part.FileLength || info.ModTime.UnixMilli() != part.FileModTime {
		return operator.Permanent(fmt.Errorf("read %s: %w: it had %d bytes, modified at %s; now it has %d bytes, modified at %s", info.URI, ErrChanged,
			part.FileLength, time.UnixMilli(part.FileModTime).UTC().Format(timeFormat), info.Size, info.ModTime.UTC().Format(timeFormat)))
	}
	return nil
}

// notRead returns the error of a file that cannot be opened.
func notRead(uri string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return operator.Permanent(fmt.Errorf("read %s: %w: the file does not exist any more", uri, ErrChanged))
	case errors.Is(err, filesystem.ErrTooLarge):
		return operator.Permanent(fmt.Errorf("read %s: %w: the file has grown", uri, ErrChanged))
	default:
		return operator.OfFiles(fmt.Errorf("read input: %w", err))
	}
}

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// scan is the state of reading one part.
type scan struct {
	reader   *Reader
	uri      string
	part     jobgraph.Part
	line     func([]byte) error
	position int64 // of the next buffer's first byte in the file
	skipping bool  // the current line belongs to the part before
	first    int64 // position of the current line's first byte, unless skipping
	held     bool  // reader.line holds the beginning of the current line
}

// file reads a part with a goroutine that reads ahead.
func (s *scan) file(ctx context.Context) error {
	file, err := s.reader.fs.Open(ctx, s.uri)
	if err != nil {
		return notRead(s.uri, err)
	}
	if err := checkUnchanged(file.Info(), s.part); err != nil {
		return errors.Join(err, file.Close())
	}
	ahead := s.reader.readAhead(file, s.part)
	defer ahead.stop()
	s.position = begin(s.part)
	for {
		buffer, err := ahead.next(ctx)
		switch {
		case err != nil:
			return err
		case buffer == nil:
			return s.endOfFile()
		}
		done, err := s.buffer(buffer)
		s.reader.free <- buffer[:cap(buffer)]
		if done || err != nil {
			return err
		}
	}
}

// loaded reads a whole file from its loaded content.
func (s *scan) loaded(content []byte, err error) error {
	if err != nil {
		return err
	}
	if done, err := s.buffer(content); done || err != nil {
		return err
	}
	return s.endOfFile()
}

// begin returns the offset at which the reader of a part begins.
func begin(part jobgraph.Part) int64 { return max(0, part.Offset-1) }

// buffer passes on the lines that end in b. done is true when the part owns no more
// lines.
func (s *scan) buffer(b []byte) (done bool, err error) {
	rest := b
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			s.position += int64(len(b))
			return false, s.hold(rest)
		}
		if !s.skipping {
			if err := s.emit(rest[:i]); err != nil {
				return false, err
			}
		}
		rest = rest[i+1:]
		s.skipping = false
		s.first = s.position + int64(len(b)-len(rest))
		if s.first >= s.part.Offset+s.part.Length {
			return true, nil
		}
	}
}

// emit passes on the current line. end holds its last bytes.
func (s *scan) emit(end []byte) error {
	if s.held {
		if err := s.hold(end); err != nil {
			return err
		}
		end = s.reader.line
		s.held = false
	}
	if n := len(end); n > 0 && end[n-1] == '\r' {
		end = end[:n-1]
	}
	if len(end) > s.reader.options.MaxLine {
		return s.tooLong()
	}
	return s.line(slices.Clip(end))
}

// hold keeps a part of the current line until the reader finds the line's end.
func (s *scan) hold(part []byte) error {
	if s.skipping || len(part) == 0 {
		return nil
	}
	if !s.held {
		s.reader.line = s.reader.line[:0]
		s.held = true
	}
	if len(s.reader.line)+len(part) > s.reader.options.MaxLine+1 { // 1 for "\r"
		return s.tooLong()
	}
	s.reader.line = append(s.reader.line, part...)
	return nil
}

// endOfFile passes on a last line without a newline.
func (s *scan) endOfFile() error {
	if !s.held {
		return nil
	}
	return s.emit(nil)
}

func (s *scan) tooLong() error {
	return operator.Permanent(fmt.Errorf("read %s: %w: the line at byte %d has more than %d bytes",
		s.uri, ErrLineTooLong, s.first, s.reader.options.MaxLine))
}
