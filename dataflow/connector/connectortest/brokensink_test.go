package connectortest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/connector/connectortest"
)

// brokenTable is a table with some methods of its own.
type brokenTable struct {
	Table
	check  func(d *database) error
	write  func(d *database, row int64)
	key    func(key string) string // the committable
	close  func(w *tableWriter)
	commit func(d *database, e connector.Environment, keys []string) error
}

func (b brokenTable) Check(ctx context.Context, p connector.Planning) ([]string, error) {
	if b.check != nil {
		return nil, b.check(open(b.Name))
	}
	return b.Table.Check(ctx, p)
}

func (b brokenTable) NewWriter(_ context.Context, e connector.Environment) (connector.Writer[int64], error) {
	return &brokenWriter{tableWriter{table: open(b.Name), key: e.Job + "/" + e.Attempt}, b}, nil
}

func (b brokenTable) Commit(ctx context.Context, e connector.Environment, keys []string) error {
	if b.commit != nil {
		return b.commit(open(b.Name), e, keys)
	}
	return b.Table.Commit(ctx, e, keys)
}

type brokenWriter struct {
	tableWriter
	sink brokenTable
}

func (w *brokenWriter) Write(row int64) error {
	if w.sink.write != nil {
		w.sink.write(w.table, row)
	}
	return w.tableWriter.Write(row)
}

func (w *brokenWriter) Prepare(ctx context.Context) (string, error) {
	key, err := w.tableWriter.Prepare(ctx)
	if w.sink.key != nil {
		key = w.sink.key(key)
	}
	return key, err
}

func (w *brokenWriter) Close() error {
	if w.sink.close != nil {
		w.sink.close(&w.tableWriter)
	}
	return w.tableWriter.Close()
}

// publish makes staged rows visible, whatever was published before.
func (d *database) publish(keys []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		d.rows = append(d.rows, d.staged[key]...)
	}
}

// drop forgets staged rows.
func (d *database) drop(keys ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		delete(d.staged, key)
	}
}

// stagedKeys are the keys of all staged rows that begin with a prefix.
func (d *database) stagedKeys(prefix string) (keys []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.staged {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys
}

// violated are the rules that errors are about.
func violated(err error) []connectortest.Rule {
	if all, joined := err.(interface{ Unwrap() []error }); joined {
		var rules []connectortest.Rule
		for _, one := range all.Unwrap() {
			rules = append(rules, violated(one)...)
		}
		return rules
	}
	if v, is := errors.AsType[*connectortest.Violation](err); is {
		return []connectortest.Rule{v.Rule}
	}
	return nil
}

// It would catch a kit that finds nothing.
func TestBrokenSinksAreFound(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		rule connectortest.Rule
		sink brokenTable
	}{
		"the check writes": {connectortest.CheckIsFree, brokenTable{check: func(d *database) error {
			d.publish(nil)
			d.rows = append(d.rows, 1)
			return nil
		}}},
		"the check refuses a new table": {connectortest.CheckIsFree, brokenTable{check: func(*database) error { return errors.New("no table") }}},
		"it writes at once": {connectortest.NothingEarly, brokenTable{write: func(d *database, row int64) {
			d.Stage("row", []int64{row})
			d.publish([]string{"row"})
		}}},
		"a committable with all the data": {connectortest.Committables, brokenTable{key: func(key string) string { return strings.Repeat(key, 1000) }}},
		"a committable of bytes":          {connectortest.Committables, brokenTable{key: func(string) string { return "\xff" }}},
		"the commit loses the last part": {connectortest.Result, brokenTable{commit: func(d *database, e connector.Environment, keys []string) error {
			return d.Publish(e.Job, keys[1:])
		}}},
		"the end of an attempt takes what it has prepared": {connectortest.Result, brokenTable{close: func(w *tableWriter) { w.table.drop(w.key) }}},
		"the commit takes all attempts": {connectortest.OneAttempt, brokenTable{commit: func(d *database, e connector.Environment, _ []string) error {
			return d.Publish(e.Job, d.stagedKeys(e.Job+"/"))
		}}},
		"a late attempt adds its rows": {connectortest.OneAttempt, brokenTable{close: func(w *tableWriter) {
			if len(w.table.Rows()) > 0 {
				w.table.publish([]string{w.key})
			}
		}}},
		"the commit ignores what earlier epochs have prepared": {connectortest.TakenOver, brokenTable{commit: func(d *database, e connector.Environment, keys []string) error {
			return d.Publish(e.Job, slices.DeleteFunc(keys, func(key string) bool { return !strings.Contains(key, fmt.Sprintf("/e%d-", e.Epoch)) }))
		}}},
		"a repeated commit doubles the rows": {connectortest.CommitRepeats, brokenTable{commit: func(d *database, _ connector.Environment, keys []string) error {
			d.publish(keys)
			return nil
		}}},
		"a repeated commit fails": {connectortest.CommitRepeats, brokenTable{commit: func(d *database, e connector.Environment, keys []string) error {
			if d.jobs[e.Job] {
				return errors.New("the rows are there already")
			}
			return d.Publish(e.Job, keys)
		}}},
		"a commit of each epoch": {connectortest.Epochs, brokenTable{commit: func(d *database, _ connector.Environment, keys []string) error {
			return d.Publish(keys[0], keys)
		}}},
		"the next job takes what one without a result has left": {connectortest.Discarded, brokenTable{commit: func(d *database, e connector.Environment, keys []string) error {
			left := d.stagedKeys("job-1/")
			if e.Job == "job-1" {
				left = nil
			}
			return d.Publish(e.Job, append(left, keys...))
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			err := connectortest.TestSink(t.Context(), connectortest.Sink[int64]{Elements: below(6), Target: func() connectortest.Target[int64] {
				n++
				broken.sink.Name = fmt.Sprint(t.Name(), n)
				sink := broken.sink
				return connectortest.Target[int64]{New: func() connector.Sink[int64] { return sink }, Visible: visible(sink.Name)}
			}})
			if !slices.Contains(violated(err), broken.rule) {
				t.Errorf("error %v, want one about %q", err, broken.rule)
			}
		})
	}
}
