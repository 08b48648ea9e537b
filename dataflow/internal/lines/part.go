package lines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// source gives the text of a part in order.
type source interface {
	// next returns the next bytes, which are valid until the next call. At the end of the file the
	// error is io.EOF itself.
	next(ctx context.Context) ([]byte, error)
	// stop ends the source's goroutine and closes its file.
	stop()
}

// openPart opens the next part, if it is not empty. After the last one the error is io.EOF.
func (r *Reader) openPart() error {
	if r.part >= len(r.split.Parts) {
		r.Close()
		r.uri = ""
		return io.EOF
	}
	part := r.split.Parts[r.part]
	if part.Length <= 0 {
		r.part, r.base = r.part+1, 0
		return nil
	}
	from := max(r.base, part.Offset)
	r.uri, r.first = r.split.URI(part), from
	begin := max(0, from-1)
	text, err := r.open(part, begin)
	if err != nil {
		return err
	}
	r.text, r.base, r.end = text, begin, part.Offset+part.Length
	r.within, r.skip = begin < from, begin < from
	return nil
}

// open returns the text of a part from an offset on.
func (r *Reader) open(part jobgraph.Part, begin int64) (source, error) {
	if r.isSmall(part) {
		content, err := r.loads.next()
		if err != nil {
			return nil, err
		}
		return &loaded{content[begin:]}, nil
	}
	file, err := r.fs.Open(r.ctx, r.uri)
	if err != nil {
		return nil, notRead(r.uri, err)
	}
	if err := checkUnchanged(file.Info(), part); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	shut := func() { _ = file.Close() } // nothing was written
	return r.readAhead(&stored{file: file, part: part, position: begin}, shut), nil
}

// closePart closes the part, if one is open.
func (r *Reader) closePart() {
	if r.text != nil {
		r.text.stop()
		r.text = nil
	}
	r.buffer, r.next, r.within, r.skip = nil, 0, false, false
}

// loaded is the text of a small file.
type loaded struct {
	content []byte // nil: it is read
}

func (l *loaded) next(context.Context) ([]byte, error) {
	content := l.content
	if len(content) == 0 {
		return nil, io.EOF
	}
	l.content = nil
	return content, nil
}

func (*loaded) stop() {}

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
