package dataflow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// ErrDetached says that there is no result because the job runs detached.
var ErrDetached = errors.New("the job runs detached, so its result is not available")

// Result is the result of an executed job.
type Result struct {
	JobID string
	// Detached is true if the job runs detached. Then only JobID is set.
	Detached bool
	// Duration is the time from the job's start to its end.
	Duration time.Duration
	// Counters holds the sums over all subtasks, by name.
	Counters map[string]int64

	collected map[string]collected
}

// collected holds the records of one collect sink.
type collected struct {
	epoch   int
	records [][]byte
}

// collect implements Execution.Collected.
func (r *Result) collect(name string, epoch int, records []byte) error {
	have := r.collected[name]
	if have.epoch != epoch {
		have = collected{epoch: epoch}
	}
	records = append([]byte(nil), records...)
	for len(records) > 0 {
		length, n := binary.Uvarint(records)
		if n <= 0 || length > uint64(len(records)-n) {
			return fmt.Errorf("collect %s: %w: a record should have %d bytes, and only %d follow", name, codec.ErrCorrupt, length, len(records)-max(n, 0))
		}
		end := n + int(length)
		have.records = append(have.records, records[n:end:end])
		records = records[end:]
	}
	r.collected[name] = have
	return nil
}

// Collected returns the elements that a job collected, in the order in which
// they arrived.
func Collected[T any](r *Result, from Collector[T]) ([]T, error) {
	if r.Detached {
		return nil, fmt.Errorf("collect %s: %w", from.name, ErrDetached)
	}
	c, err := from.codec()
	if err != nil {
		return nil, fmt.Errorf("collect %s: %w", from.name, err)
	}
	have := r.collected[from.name]
	elements := make([]T, len(have.records))
	for i, record := range have.records {
		if elements[i], err = c.Decode(record); err != nil {
			return nil, fmt.Errorf("collect %s: %w", from.name, err)
		}
	}
	return elements, nil
}
