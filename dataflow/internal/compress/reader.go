package compress

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Window is the largest window of a zstd file in bytes: of what zstd -d reads without options, and
// so of --ultra -22 and --long. Files of levels up to 19 have windows of at most 8 MiB.
const Window = 128 << 20

// readBuffer is the size of the reads of compressed bytes.
const readBuffer = 64 << 10

// Errors of Read, in an *Error.
var (
	// ErrOther says that a file does not begin like a file of its format.
	ErrOther = errors.New("content is not of the format that the file's name tells: rename or replace the file")
	// ErrDamaged says that a file ends too early, has a wrong checksum, or is malformed.
	ErrDamaged = errors.New("compressed file is truncated or damaged: replace it")
	// ErrUnsupported says that a file is sound but needs too much memory, or a dictionary.
	ErrUnsupported = errors.New("compressed file cannot be read: compress it with a window of at most 128 MiB (zstd --long=27) and without a dictionary")
)

// Error is an error of a compressed file. It wraps ErrOther, ErrDamaged or ErrUnsupported.
type Error struct {
	Offset int64 // number of compressed bytes that are read
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("at compressed byte %d: %v", e.Offset, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Reader decompresses files, one after the other. It needs 250 KiB for a gzip file, 4 MiB for a
// bzip2 file, and 1 MiB more than the file's window for a zstd file. It keeps this memory for the
// next file, until Close. Its zero value is ready for Reset. It belongs to one goroutine.
type Reader struct {
	format   Format
	from     counter
	buffered *bufio.Reader
	text     io.Reader // nil: the file has not begun
	err      error     // of the file

	gzip *gzip.Reader  // nil: not needed yet
	zstd *zstd.Decoder // nil: not needed yet
}

// Reset begins to read a file of a format, which is not None.
func (r *Reader) Reset(file io.Reader, format Format) {
	r.format, r.from, r.text, r.err = format, counter{file: file}, nil, nil
	if r.buffered == nil {
		r.buffered = bufio.NewReaderSize(&r.from, readBuffer)
	}
	r.buffered.Reset(&r.from)
}

// Read reads the text of the file. The error is io.EOF itself only at the end of a complete file.
// Errors of the file's own Read come back as they are; all others are an *Error.
func (r *Reader) Read(p []byte) (int, error) {
	if r.err == nil && r.text == nil {
		r.err = r.told(r.begin())
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.text.Read(p)
	r.err = r.told(err)
	return n, r.err
}

// Close frees the memory. Reset may follow.
func (r *Reader) Close() {
	if r.zstd != nil {
		r.zstd.Close()
	}
	*r = Reader{}
}

// begin looks at the beginning of the file.
func (r *Reader) begin() error {
	head, err := r.buffered.Peek(4)
	switch {
	case len(head) == 0:
		return err
	case !begins(head, r.format):
		return ErrOther
	}
	switch r.format {
	case Gzip:
		if r.gzip == nil {
			r.gzip = new(gzip.Reader)
		}
		r.text = r.gzip
		return r.gzip.Reset(r.buffered)
	case Zstd:
		if r.zstd == nil {
			if r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(Window), zstd.WithDecoderMaxMemory(Window)); err != nil {
				return err
			}
		}
		r.text = r.zstd
		return r.zstd.Reset(r.buffered)
	default:
		r.text = bzip2.NewReader(r.buffered)
		return nil
	}
}

// begins reports whether the first bytes of a file are those of a format.
func begins(head []byte, format Format) bool {
	switch format {
	case Gzip:
		return bytes.HasPrefix(head, []byte{0x1f, 0x8b})
	case Zstd: // a frame, or a skippable one
		return bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) || len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], []byte{0x2a, 0x4d, 0x18})
	default:
		return bytes.HasPrefix(head, []byte("BZh"))
	}
}

// told returns the error that Read tells if decompression ends with err.
func (r *Reader) told(err error) error {
	switch {
	case err == nil:
		return nil
	case r.from.err != nil: // a decoder may take it for the end of the file
		return r.from.err
	case err == io.EOF: //nolint:errorlint // an error that wraps io.EOF has another cause
		return io.EOF
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrUnknownDictionary):
		err = fmt.Errorf("%w (%w)", ErrUnsupported, err)
	case !errors.Is(err, ErrOther):
		err = fmt.Errorf("%w (%w)", ErrDamaged, err)
	}
	return &Error{Offset: r.from.bytes - int64(r.buffered.Buffered()), Err: err}
}

// counter counts the bytes of a file, and keeps its error.
type counter struct {
	file  io.Reader
	bytes int64
	err   error // the first one but io.EOF
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	c.bytes += int64(n)
	if err != nil && err != io.EOF && c.err == nil { // an error that wraps io.EOF has another cause
		c.err = err
	}
	return n, err
}
