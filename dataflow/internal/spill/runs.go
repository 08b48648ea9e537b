package spill

import (
	"errors"
	"io"
)

// Runs are the files of one sequence of records. Nil has no records.
type Runs []*Run

// Records is the number of records.
func (rs Runs) Records() (n int64) {
	for _, r := range rs {
		n += r.records
	}
	return n
}

// Close removes the files.
func (rs Runs) Close() error {
	var errs []error
	for _, r := range rs {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Open makes a reader at the first record. Several may read the same files.
func (rs Runs) Open() *RunsReader { return &RunsReader{rest: rs} }

// RunsReader reads the records of Runs in their order. It belongs to one goroutine, and needs no Close.
type RunsReader struct {
	rest    Runs // those that were not opened yet
	current *Reader
}

// Next is as that of Reader.
func (r *RunsReader) Next() ([]byte, error) {
	for {
		if r.current != nil {
			record, err := r.current.Next()
			if !errors.Is(err, io.EOF) {
				return record, err
			}
			r.current = nil // before the next one is made
		}
		if len(r.rest) == 0 {
			return nil, io.EOF
		}
		r.current, r.rest = r.rest[0].Open(), r.rest[1:]
	}
}

// Corrupt is as that of Reader.
func (r *RunsReader) Corrupt(why string) error { return r.current.Corrupt(why) }
