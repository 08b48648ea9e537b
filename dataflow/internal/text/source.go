// Package text reads and writes text files as a source and a sink of package connector. It joins what package splits finds,
// what package lines reads, and how package output commits; the rules are in their comments.
//
// It has no goroutines of its own.
package text

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/splits"
)

// Source reads the lines of the files that URIs name.
type Source struct{ URIs []string }

// String is the same for equal sources.
func (s Source) String() string { return fmt.Sprintf("%q", s.URIs) }

// Enumerate implements connector.Source.
func (s Source) Enumerate(ctx context.Context, p connector.Planning) ([]connector.Split, error) {
	return splits.Plan(ctx, p.FileSystem, s.URIs, p.Parallelism, p.Found)
}

// NewReader implements connector.Source. The reader keeps its buffers from split to split.
func (s Source) NewReader(_ context.Context, e connector.Environment) (connector.Reader[[]byte], error) {
	return &reader{lines.NewReader(e.FileSystem, lines.Options{})}, nil
}

// reader implements connector.Reader.
type reader struct{ lines *lines.Reader }

func (r *reader) Open(ctx context.Context, split connector.Split, position []byte) error {
	var from lines.Position
	if position != nil {
		var err error
		if from, err = lines.ParsePosition(position); err != nil {
			return err
		}
	}
	return r.lines.Open(ctx, split, from)
}

func (r *reader) Poll() (line []byte, found bool, err error) {
	line, err = r.lines.Next()
	return line, err == nil, err
}

func (r *reader) Position(dst []byte) []byte { return r.lines.Position().Append(dst) }

func (r *reader) At() string { return r.lines.At() }

func (r *reader) Close() error {
	r.lines.Close()
	return nil
}
