package output

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

const (
	// writeBuffer is the size of writes, in bytes.
	writeBuffer = 256 << 10
	// packBuffer is the size of the pieces that are compressed, in bytes.
	packBuffer = 64 << 10
)

// Part is a part file that is being written. Only one goroutine may use it.
type Part struct {
	*bufio.Writer
	under []io.Closer // in the order in which they are closed; the file is the last
}

// Create makes the part of an attempt of the subtask with this index, and the directory of the attempt. The error is
// ErrFenced, and permanent, if the directory of the epoch is gone: only a later master or another job removes it while
// tasks run.
func (o Output) Create(ctx context.Context, fsys filesystem.FileSystem, attempt string, index int) (*Part, error) {
	dir := join(o.at(version{epoch: o.Epoch}), attempt)
	err := fsys.Mkdir(ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrExist) { // the answer to an earlier call may be lost
		return nil, o.notCreated(err)
	}
	file, err := fsys.Create(ctx, join(dir, o.partName(index)), filesystem.ExistingParents)
	if err != nil {
		return nil, o.notCreated(err)
	}
	part := &Part{Writer: bufio.NewWriterSize(file, writeBuffer), under: []io.Closer{file}}
	if o.Compression == compress.None {
		return part, nil
	}
	packed, err := compress.NewWriter(part.Writer, o.Compression)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	part.under = []io.Closer{packed, flush{part.Writer}, file}
	part.Writer = bufio.NewWriterSize(packed, packBuffer)
	return part, nil
}

// flush is a writer whose Close writes what is buffered.
type flush struct{ *bufio.Writer }

func (f flush) Close() error { return f.Flush() }

func (o Output) notCreated(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = operator.Permanent(fmt.Errorf("%w: %w", ErrFenced, err))
	}
	return operator.OfFiles(refused(fmt.Errorf("create output: %w", err)))
}

// Close writes the buffered bytes. After an error the part must not be
// committed.
func (p *Part) Close() error {
	err := p.Flush()
	for _, under := range p.under {
		if closeErr := under.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		return operator.OfFiles(fmt.Errorf("write output: %w", err))
	}
	return nil
}

// Abort closes a part that will not be committed.
func (p *Part) Abort() {
	_ = p.under[len(p.under)-1].Close() // the part is lost anyway
}
