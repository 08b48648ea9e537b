package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
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
		r.closeSplit()
		r.uri = ""
		return io.EOF
	}
	part := r.split.Parts[r.part]
	if part.Length <= 0 {
		r.part, r.base = r.part+1, 0
		return nil
	}
	from, format := max(r.base, part.Offset), compress.Of(part.Name)
	r.uri, r.first = r.split.URI(part), from
	begin := max(0, from-1)
	text, err := r.open(part, format, begin)
	if err != nil {
		return err
	}
	r.text, r.base, r.end = text, begin, part.Offset+part.Length
	if format != compress.None {
		r.end = math.MaxInt64
	}
	r.within, r.skip = begin < from, begin < from
	return nil
}

// open returns the text of a part from an offset on.
func (r *Reader) open(part jobgraph.Part, format compress.Format, begin int64) (source, error) {
	if format != compress.None && part.Length != part.FileLength {
		return nil, operator.Permanent(fmt.Errorf("read %s: a compressed file cannot be divided", r.uri))
	}
	if r.isSmall(part) {
		content, err := r.loads.next()
		switch {
		case err != nil:
			return nil, err
		case format == compress.None:
			return &loaded{content[begin:]}, nil
		}
		r.decoder.Reset(bytes.NewReader(content), format)
		return r.readAhead(&unpacked{r.uri, &r.decoder, begin}, func() {}), nil
	}
	file, err := r.fs.Open(r.ctx, r.uri)
	if err != nil {
		return nil, notRead(r.uri, err)
	}
	if err := checkUnchanged(file.Info(), part); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	shut := func() { _ = file.Close() } // nothing was written
	if format == compress.None {
		return r.readAhead(&stored{file: file, part: part, position: begin}, shut), nil
	}
	r.decoder.Reset(&stored{file: file, part: part}, format)
	return r.readAhead(&unpacked{r.uri, &r.decoder, begin}, shut), nil
}

// closePart closes the part, if one is open.
func (r *Reader) closePart() {
	if r.text != nil {
		r.text.stop()
		r.text = nil
	}
	r.buffer, r.next, r.within, r.skip = nil, 0, false, false
}

// closeSplit ends all goroutines of the split, if one is open.
func (r *Reader) closeSplit() {
	r.closePart()
	if r.loads != nil {
		r.loads.stop()
		r.loads = nil
	}
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
