package compress

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// writeWindow is the window of the zstd files that NewWriter writes, in bytes, as of zstd -3.
const writeWindow = 2 << 20

// Writable reports whether NewWriter can write a format.
func Writable(f Format) bool { return f == Gzip || f == Zstd }

// NewWriter compresses what is written to it into a file of a format, at the format's default level,
// with checksums. Close completes the file's content, and does not close the file. It needs 1 MiB
// for gzip, and 5 MiB for zstd. It writes small pieces, so the file should be buffered. A Writer
// that is not needed any more need not be closed. It belongs to one goroutine.
func NewWriter(file io.Writer, f Format) (io.WriteCloser, error) {
	switch f {
	case Gzip:
		return gzip.NewWriter(file), nil
	case Zstd: // an empty file has a frame: a file without one would look as if it had been cut off
		return zstd.NewWriter(file, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(writeWindow), zstd.WithZeroFrames(true))
	default:
		return nil, fmt.Errorf("write files of the format %q: %w", f, ErrUnsupported)
	}
}
