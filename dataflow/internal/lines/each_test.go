package lines_test

import (
	"context"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// each calls line for each line of a split, until one fails.
func each(ctx context.Context, r *lines.Reader, split jobgraph.Split, line func([]byte) error) error {
	if err := r.Open(ctx, split, lines.Position{}); err != nil {
		return err
	}
	defer r.Close()
	for {
		next, err := r.Next()
		if err == io.EOF { //nolint:errorlint // as Next says
			return nil
		}
		if err != nil {
			return err
		}
		if err := line(next); err != nil {
			return err
		}
	}
}
