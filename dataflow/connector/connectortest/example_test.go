package connectortest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
)

// Numbers is a source of the numbers from 0 to N-1.
type Numbers struct{ N int64 }

// Enumerate divides the numbers into ranges, some for each subtask.
func (n Numbers) Enumerate(_ context.Context, p connector.Planning) ([]connector.Split, error) {
	var splits []connector.Split
	pieces := int64(4 * p.Parallelism)
	for i := range pieces {
		data, err := json.Marshal(numberRange{n.N * i / pieces, n.N * (i + 1) / pieces})
		if err != nil {
			return nil, err
		}
		splits = append(splits, connector.Split{Data: data})
	}
	return splits, nil
}

// NewReader makes the reader of a subtask.
func (n Numbers) NewReader(context.Context, connector.Environment) (connector.Reader[int64], error) {
	return &numberReader{}, nil
}

// numberRange is what a split says, and what a reader has left.
type numberRange struct{ Next, End int64 }

type numberReader struct{ numberRange }

func (r *numberReader) Open(_ context.Context, split connector.Split, position []byte) error {
	if err := json.Unmarshal(split.Data, &r.numberRange); err != nil {
		return connector.Permanent(fmt.Errorf("numbers: split: %w", err))
	}
	if position == nil {
		return nil
	}
	next, err := strconv.ParseInt(string(position), 10, 64)
	if err != nil {
		return connector.Permanent(fmt.Errorf("numbers: position: %w", err))
	}
	r.Next = next
	return nil
}

func (r *numberReader) Poll() (number int64, found bool, err error) {
	if r.Next >= r.End {
		return 0, false, io.EOF
	}
	r.Next++
	return r.Next - 1, true, nil
}

func (r *numberReader) Position(dst []byte) []byte { return strconv.AppendInt(dst, r.Next, 10) }
func (r *numberReader) At() string                 { return fmt.Sprintf("behind number %d", r.Next-1) }
func (r *numberReader) Close() error               { return nil }

// Table is a sink into a table of a database.
type Table struct{ Name string }

// Check refuses a table that has rows.
func (t Table) Check(context.Context, connector.Planning) ([]string, error) {
	if len(open(t.Name).Rows()) > 0 {
		return nil, fmt.Errorf("table %s has rows: choose another one", t.Name)
	}
	return nil, nil
}

// NewWriter makes the writer of an attempt. Its rows stay with the attempt until the commit.
func (t Table) NewWriter(_ context.Context, e connector.Environment) (connector.Writer[int64], error) {
	return &tableWriter{table: open(t.Name), key: e.Job + "/" + e.Attempt}, nil
}

// Commit moves the rows of the winners in one transaction, which also records the job: so a call that is repeated does nothing.
func (t Table) Commit(_ context.Context, e connector.Environment, committables []string) error {
	return open(t.Name).Publish(e.Job, committables)
}

type tableWriter struct {
	table    *database
	key      string // of the staged rows
	rows     []int64
	prepared bool
}

func (w *tableWriter) Write(row int64) error {
	w.rows = append(w.rows, row)
	return nil
}

func (w *tableWriter) Prepare(context.Context) (string, error) {
	w.table.Stage(w.key, w.rows)
	w.prepared = true
	return w.key, nil
}

func (w *tableWriter) Close() error {
	if !w.prepared {
		w.rows = nil
	}
	return nil
}

var squares = dataflow.Job("squares", func(p *dataflow.Plan, table string) error {
	numbers := dataflow.Read(p, Numbers{N: 1000}, dataflow.Named("numbers"))
	squared := dataflow.Map(numbers, func(n int64) int64 { return n * n })
	dataflow.Write(squared, Table{table}, dataflow.Named("table"))
	return nil
})

// database stands for the system of the sink.
type database struct {
	mu     sync.Mutex
	staged map[string][]int64
	jobs   map[string]bool
	rows   []int64
}

// tables are the databases by name, because the tasks of a test run in one process.
var tables sync.Map

func open(name string) *database {
	d, _ := tables.LoadOrStore(name, &database{staged: map[string][]int64{}, jobs: map[string]bool{}})
	return d.(*database)
}

// Stage keeps rows where no reader sees them.
func (d *database) Stage(key string, rows []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.staged[key] = rows
}

// Publish makes staged rows visible, once for each job.
func (d *database) Publish(job string, keys []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.jobs[job] {
		return nil
	}
	d.jobs[job] = true
	for _, key := range keys {
		d.rows = append(d.rows, d.staged[key]...)
	}
	return nil
}

// Rows are what readers see.
func (d *database) Rows() []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]int64{}, d.rows...)
}
