package operator

import (
	"context"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// NextSplit waits for the next split of a source vertex. It is for a task that has nothing else to do meanwhile. The error is io.EOF
// when none is left, or ctx's cause.
func NextSplit(ctx context.Context, s Subtask) (jobgraph.Split, error) {
	for {
		split, found, err := s.PollSplit(ctx)
		if found || err != nil {
			return split, err
		}
		if err := s.Await(ctx); err != nil {
			return jobgraph.Split{}, err
		}
	}
}

// NextRecord waits for the next record of an input. It is for a task that reads one input at a time. The error is io.EOF at the end
// of the data, or ctx's cause.
func NextRecord(ctx context.Context, s Subtask, input int) ([]byte, error) {
	for {
		switch item, record, err := s.Input(input).Poll(); {
		case err != nil:
			return nil, err
		case item == Record:
			return record, nil
		case item == EndOfData:
			return nil, io.EOF
		}
		if err := s.Await(ctx); err != nil {
			return nil, err
		}
	}
}
