// Package lines reads the lines of text files, split by split. Several readers can share one
// file, and each line is read exactly once.
//
// The rule: a split owns the lines whose first byte lies in it. A reader begins one byte before
// its split and skips through the first newline, and it reads past the end of its split to
// finish the last line that it owns. A line ends with "\n" or at the end of the file. The
// reader drops one "\r" before that and changes nothing else; it keeps a byte order mark. To
// continue at a line, a reader begins one byte before it, too.
//
// Compressed files are parts as a whole: package compress knows them by their names. For them,
// each offset counts bytes of the text.
//
// An open split has goroutines, which end with it. One reads ahead in a file, and decompresses
// it, while lines are processed. Up to eight load the next small files.
package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Errors of Open and Next that would repeat in every attempt, beside those of package compress.
// They are permanent failures (operator.ErrPermanent).
var (
	// ErrChanged says that a file has changed since it was listed.
	ErrChanged = errors.New("input changed since the job was planned; run the job again")
	// ErrLineTooLong says that a line exceeds Options.MaxLine.
	ErrLineTooLong = errors.New("line is too long")
	// ErrPosition says that a Position is not one of the split.
	ErrPosition = errors.New("position is not in the split")
)

// Options bound a Reader's memory. A zero value means the default.
type Options struct {
	// Buffer is the size of one read in bytes, 1 MiB by default. A reader holds three buffers:
	// one being processed, one ready, one being filled. It also holds up to 2 MiB of small
	// files, and for compressed files what package compress needs.
	Buffer int
	// MaxLine is the length of the longest line in bytes, 64 MiB by default.
	MaxLine int
}

// Reader reads splits, one after the other: Open, then Next until io.EOF. It belongs to one
// goroutine.
type Reader struct {
	fs      filesystem.FileSystem
	options Options
	free    chan []byte // buffers not in use; nil ones are not yet allocated
	decoder compress.Reader

	ctx   context.Context //nolint:containedctx // of the open split
	split jobgraph.Split
	loads *loadAhead // of the split's small files; nil: no split is open
	part  int        // index of the part that is read, or comes next
	uri   string     // of the part opened last; "": none, or the split is read

	text   source // of the part; nil: the part is not open
	buffer []byte // of the text
	next   int    // index in buffer of the next byte
	base   int64  // offset of buffer in the file; if the part is not open, where to begin
	end    int64  // a line that begins here or later is not of this part
	within bool   // the next byte continues a line
	skip   bool   // this line belongs to the part before
	first  int64  // offset of this line, or else of the one that Next has returned last
	line   []byte // the beginning of this line
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

// Open begins to read a split at a position. It closes the split before. The split's parts must
// not change until it is closed. ctx ends what Next waits for. The error is ErrPosition if the
// split does not have the position.
func (r *Reader) Open(ctx context.Context, split jobgraph.Split, from Position) error {
	r.closeSplit()
	count := len(split.Parts)
	if from.Part < 0 || from.Part > count || from.Offset < 0 || from.Part == count && from.Offset > 0 {
		return noPosition(from, fmt.Sprintf("a split of %d files", count))
	}
	if from.Part < count {
		if part := split.Parts[from.Part]; compress.Of(part.Name) == compress.None {
			switch {
			case from.Offset > part.FileLength:
				return noPosition(from, fmt.Sprintf("%s, which has %d bytes", split.URI(part), part.FileLength))
			case from.Offset >= part.Offset+part.Length: // after its last line
				from = Position{Part: from.Part + 1}
			}
		}
	}
	r.ctx, r.split, r.part, r.base, r.uri = ctx, split, from.Part, from.Offset, ""
	r.loads = r.loadAhead(ctx, &r.split, from.Part)
	return nil
}

func noPosition(p Position, in string) error {
	return operator.Permanent(fmt.Errorf("read on in file %d at byte %d of %s: %w", p.Part, p.Offset, in, ErrPosition))
}

// Next returns the next line that the split owns, without the line end, in the order of the
// split's parts. The caller owns the line until the next call, and may change it. At the end of
// the split the error is io.EOF itself; an error that wraps io.EOF has another cause. After any
// other error, only Open and Close may follow.
func (r *Reader) Next() ([]byte, error) {
	i := bytes.IndexByte(r.buffer[r.next:], '\n')
	if i < 0 || r.within || r.offset() >= r.end {
		return r.search()
	}
	r.first = r.offset()
	line := trim(r.advance(i))
	if len(line) > r.options.MaxLine {
		return nil, r.tooLong()
	}
	return line, nil
}

// Position returns the place of the line that Next returns next. It is valid after Open, after a
// line and after io.EOF.
func (r *Reader) Position() Position { return Position{Part: r.part, Offset: r.offset()} }

// At says which line Next has returned last, in words for an error. It is "" before the first
// line and after io.EOF. It stays after Close, because the caller may have panicked.
func (r *Reader) At() string {
	if r.uri == "" {
		return ""
	}
	return fmt.Sprintf("reading %s, the line at byte %d", r.uri, r.first)
}

// Close ends the open split, if there is one, waits for its goroutines, and frees the memory of
// decompression. Open may follow.
func (r *Reader) Close() {
	r.closeSplit()
	r.decoder.Close()
}

// offset returns the offset of the next byte in the file.
func (r *Reader) offset() int64 { return r.base + int64(r.next) }

// search returns the next line if the buffer does not hold it as a whole.
func (r *Reader) search() ([]byte, error) {
	for {
		switch {
		case r.text == nil:
			if err := r.openPart(); err != nil {
				return nil, err
			}
		case !r.within && r.offset() >= r.end:
			r.closePart()
			r.part, r.base = r.part+1, 0
		default:
			line, found, err := r.read()
			if found || err != nil {
				return line, err
			}
		}
	}
}

// read goes to the end of the line or of the buffer, whichever comes first.
func (r *Reader) read() (line []byte, found bool, err error) {
	if !r.within {
		r.first, r.line = r.offset(), r.line[:0]
	}
	if i := bytes.IndexByte(r.buffer[r.next:], '\n'); i >= 0 {
		end := r.advance(i)
		if err := r.hold(end); err != nil {
			return nil, false, err
		}
		return r.finish()
	}
	if rest := r.buffer[r.next:]; len(rest) > 0 {
		r.within = true
		if err := r.hold(rest); err != nil {
			return nil, false, err
		}
	}
	r.base += int64(len(r.buffer))
	r.buffer, r.next = nil, 0
	r.buffer, err = r.text.next(r.ctx)
	switch {
	case err != io.EOF: //nolint:errorlint // an error that wraps io.EOF has another cause
		return nil, false, err
	case r.within:
		r.end = r.base
		return r.finish()
	}
	r.end = r.base
	return nil, false, nil
}

// advance returns the next n bytes of the buffer, and moves behind the byte after them.
func (r *Reader) advance(n int) []byte {
	begin, end := r.next, r.next+n
	r.next = end + 1
	return r.buffer[begin:end:end] // a caller who appends to the line must not change the next one
}

// hold keeps a part of the current line until the reader finds the line's end.
func (r *Reader) hold(part []byte) error {
	switch {
	case r.skip:
		return nil
	case len(r.line)+len(part) > r.options.MaxLine+1: // 1 for "\r"
		return r.tooLong()
	}
	r.line = append(r.line, part...)
	return nil
}

// finish returns the line that was held, unless it belongs to the part before.
func (r *Reader) finish() (line []byte, found bool, err error) {
	found = !r.skip
	r.within, r.skip = false, false
	line = trim(r.line)
	if len(line) > r.options.MaxLine {
		return nil, false, r.tooLong()
	}
	return line, found, nil
}

// trim removes the rest of a line end.
func trim(line []byte) []byte {
	if n := len(line) - 1; n >= 0 && line[n] == '\r' {
		return line[:n:n]
	}
	return line
}

func (r *Reader) tooLong() error {
	return operator.Permanent(fmt.Errorf("read %s: %w: the line at byte %d has more than %d bytes",
		r.uri, ErrLineTooLong, r.first, r.options.MaxLine))
}
