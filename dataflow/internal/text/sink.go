package text

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Sink writes each element as a line into a directory, one part for each subtask. The committable of a part is the name of the
// attempt that has written it.
type Sink[T any] struct {
	URI         string
	Mode        output.Mode
	Compression compress.Format
	Format      func(dst []byte, element T) []byte // appends the line, without its end
}

// String is the same for equal sinks, except for their formats.
func (s Sink[T]) String() string { return fmt.Sprintf("%q %d %q", s.URI, s.Mode, s.Compression) }

// Check implements connector.Sink.
func (s Sink[T]) Check(ctx context.Context, p connector.Planning) ([]string, error) {
	dir, err := p.FileSystem.Qualify(s.URI)
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", s.URI, err)
	}
	return []string{dir}, output.Check(ctx, p.FileSystem, dir, s.Mode)
}

// output returns the output as a subtask sees it.
func (s Sink[T]) output(e connector.Environment) (output.Output, error) {
	dir, err := e.FileSystem.Qualify(s.URI)
	return output.Output{Dir: dir, Job: e.Job, Epoch: e.Epoch, Mode: s.Mode, Compression: s.Compression}, err
}

// NewWriter implements connector.Sink.
func (s Sink[T]) NewWriter(ctx context.Context, e connector.Environment) (connector.Writer[T], error) {
	o, err := s.output(e)
	if err != nil {
		return nil, err
	}
	part, err := o.Create(ctx, e.FileSystem, e.Attempt, e.Index)
	if err != nil {
		return nil, err
	}
	return &writer[T]{attempt: e.Attempt, format: s.Format, part: part}, nil
}

// Commit implements connector.Sink.
func (s Sink[T]) Commit(ctx context.Context, e connector.Environment, committables []string) error {
	o, err := s.output(e)
	if err != nil {
		return err
	}
	return o.Commit(ctx, e.FileSystem, e.Attempt, committables)
}

// writer implements connector.Writer.
type writer[T any] struct {
	attempt string
	format  func(dst []byte, element T) []byte
	part    *output.Part // nil: it is complete, or given up
	line    []byte
}

func (w *writer[T]) Write(element T) error {
	w.line = append(w.format(w.line[:0], element), '\n')
	if _, err := w.part.Write(w.line); err != nil {
		return operator.OfFiles(fmt.Errorf("write output: %w", err))
	}
	return nil
}

func (w *writer[T]) Prepare(context.Context) (string, error) {
	part := w.part
	w.part = nil
	return w.attempt, part.Close()
}

// Close gives up a part that is not complete. Its file stays until the commit, or the end of the job, removes the directory.
func (w *writer[T]) Close() error {
	if w.part != nil {
		w.part.Abort()
		w.part = nil
	}
	return nil
}
