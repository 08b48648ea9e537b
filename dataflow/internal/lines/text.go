package lines

import (
	"errors"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// afterSplit is the size of reads past a split's end, in bytes. It is small because
// these reads need only the rest of one line.
const afterSplit = 64 << 10

// stored is the content of an open file, as it is stored.
type stored struct {
	file     filesystem.File
	part     jobgraph.Part
	position int64 // of the next byte
	sought   bool  // the file is at position
}

// fill makes reads that end at the end of the part.
func (s *stored) fill(buffer []byte) (int, error) {
	n, end := min(int64(len(buffer)), s.part.FileLength-s.position), s.part.Offset+s.part.Length
	if s.position < end {
		n = min(n, end-s.position)
	} else {
		n = min(n, afterSplit)
	}
	return s.Read(buffer[:n])
}

// Read fills p, unless the file ends.
func (s *stored) Read(p []byte) (int, error) {
	left := s.part.FileLength - s.position
	if left <= 0 {
		return 0, io.EOF
	}
	if !s.sought && s.position > 0 {
		if _, err := s.file.Seek(s.position, io.SeekStart); err != nil {
			return 0, s.failed(err)
		}
	}
	s.sought = true
	n, err := io.ReadFull(s.file, p[:min(int64(len(p)), left)])
	s.position += int64(n)
	if err != nil {
		err = s.failed(err)
	}
	return n, err
}

// failed makes the Reader's error from an error of Seek or io.ReadFull. Only io.EOF or io.ErrUnexpectedEOF
// itself means that the file has ended. An error that wraps one of them has another cause, such as a DataNode
// that has closed the connection.
func (s *stored) failed(err error) error {
	info := s.file.Info()
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // an error that wraps these has another cause
		return operator.Permanent(fmt.Errorf("read %s: %w: it had %d bytes, and now ends at byte %d", info.URI, ErrChanged, info.Size, s.position))
	}
	return operator.OfFiles(fmt.Errorf("read %s at %d: %w", info.URI, s.position, err))
}

// unpacked is the text of a compressed file.
type unpacked struct {
	uri    string
	reader *compress.Reader
	skip   int64 // number of bytes before the first one of interest
}

func (u *unpacked) fill(buffer []byte) (int, error) {
	skipping := u.skip > 0
	if skipping {
		buffer = buffer[:min(int64(len(buffer)), u.skip)]
	}
	n, err := io.ReadFull(u.reader, buffer)
	switch {
	case skipping && (err == io.EOF || err == io.ErrUnexpectedEOF): //nolint:errorlint // that of io.ReadFull
		return 0, operator.Permanent(fmt.Errorf("read %s: %w: it has not so much text", u.uri, ErrPosition))
	case err == io.ErrUnexpectedEOF: //nolint:errorlint // that of io.ReadFull
		err = nil // io.EOF comes next
	case errors.As(err, new(*compress.Error)):
		err = operator.Permanent(fmt.Errorf("read %s: %w", u.uri, err))
	}
	if skipping {
		u.skip -= int64(n)
		n = 0
	}
	return n, err
}
