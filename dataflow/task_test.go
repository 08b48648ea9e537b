package dataflow_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// host is a subtask with a test's input, which discards its output.
type host struct {
	operator.Subtask
	inputs []operator.RecordReader
	splits func() (jobgraph.Split, error)
	files  filesystem.FileSystem
}

func (h *host) Index() int                                    { return 0 }
func (h *host) Parallelism() int                              { return 2 }
func (h *host) Await(ctx context.Context) error               { <-ctx.Done(); return context.Cause(ctx) }
func (h *host) Attempt() string                               { return "commit" }
func (h *host) Job() string                                   { return "job" }
func (h *host) Epoch() int                                    { return 1 }
func (h *host) Winners() []string                             { return nil }
func (h *host) PrepareCommit(context.Context, []string) error { return nil }
func (h *host) Resources() map[string]int64                   { return nil }
func (h *host) Stdout() io.Writer                             { return io.Discard }
func (h *host) LocalDirs() []string                           { return nil }
func (h *host) Input(i int) operator.RecordReader             { return h.inputs[i] }
func (h *host) Output(int) operator.RecordWriter              { return nowhere{} }
func (h *host) FileSystem() filesystem.FileSystem             { return h.files }
func (h *host) Collect(context.Context, []byte) error         { return nil }
func (h *host) Metrics(int) operator.Metrics                  { return uncounted{} }

func (h *host) Memory(least, most int64) operator.Memory {
	var memory broker.Broker
	memory.Resize(64 << 20)
	account, _ := memory.Open(least, most)
	return account
}

func (h *host) PollSplit(context.Context) (jobgraph.Split, bool, error) {
	split, err := h.splits()
	return split, err == nil, err
}

// uncounted has metrics that nobody reads.
type uncounted struct{ operator.Metrics }

func (uncounted) Counter(string) *operator.Counter { return new(operator.Counter) }
func (uncounted) Gauge(string) *operator.Gauge     { return new(operator.Gauge) }

type nowhere struct{}

func (nowhere) Channels() int                           { return 3 }
func (nowhere) Emit(context.Context, int, []byte) error { return nil }
func (nowhere) Flush(context.Context) error             { return nil }

// input gives records and then an error, or with nil the end of the data.
type input struct {
	records [][]byte
	err     error
}

func (i *input) Poll() (operator.Item, []byte, error) {
	if len(i.records) == 0 {
		return operator.EndOfData, nil, i.err
	}
	next := i.records[0]
	i.records = i.records[1:]
	return operator.Record, next, nil
}

// silent is an input that gives nothing.
type silent struct{}

func (silent) Poll() (operator.Item, []byte, error) { return operator.Nothing, nil, nil }

func runTask(t *testing.T, plan string, vertex int, h *host) error {
	t.Helper()
	c, err := compile(t, plan, dataflow.PlanOptions{Parallelism: 2})
	if err != nil {
		t.Fatal(err)
	}
	return c.Tasks[vertex].Run(t.Context(), h)
}

// readyRecord is the record that a writer sends after its part is written.
func readyRecord(t *testing.T, index int, attempt string) []byte {
	t.Helper()
	c, err := codec.For[dataflow.KV[int, string]]()
	if err != nil {
		t.Fatal(err)
	}
	record, err := c.Append(nil, dataflow.KV[int, string]{Key: index, Value: attempt})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// The commit must take exactly one part of each subtask. Any other number would
// make the result wrong.
func TestTheCommitWantsEachPartOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		records [][]byte
		want    string
	}{
		"none":                {nil, "the committable of subtask 0 is missing"},
		"one of two":          {[][]byte{readyRecord(t, 1, "b")}, "the committable of subtask 0 is missing"},
		"one twice":           {[][]byte{readyRecord(t, 0, "a"), readyRecord(t, 0, "b")}, "the committable \"b\" of subtask 0 is not expected"},
		"an empty one twice":  {[][]byte{readyRecord(t, 0, ""), readyRecord(t, 0, "")}, "the committable \"\" of subtask 0 is not expected"},
		"one too many":        {[][]byte{readyRecord(t, 2, "a")}, "the committable \"a\" of subtask 2 is not expected"},
		"a negative one":      {[][]byte{readyRecord(t, -1, "a")}, "the committable \"a\" of subtask -1 is not expected"},
		"more than is stored": {[][]byte{readyRecord(t, 0, strings.Repeat("a", connector.MaxCommittables+1))}, connector.ErrCommittable.Error()},
		"garbage":             {[][]byte{{0xff}}, codec.ErrCorrupt.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dataflowtest.NewFiles(nil)
			err := runTask(t, "count", 2, &host{files: files, inputs: []operator.RecordReader{&input{c.records, nil}}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			if got := files.Files(); len(got) != 0 {
				t.Errorf("files %v", got)
			}
		})
	}
}

func TestCorruptRecordsFailTheTask(t *testing.T) {
	t.Parallel()
	fine := append(codec.AppendKey(nil, []byte("word")), 2)
	for name, record := range map[string][]byte{
		"no pair": {0x7f, 'x'}, "no number": codec.AppendKey(nil, []byte("word")), "more than a number": append(slices.Clone(fine), 0),
	} {
		h := &host{files: dataflowtest.NewFiles(nil), inputs: []operator.RecordReader{&input{[][]byte{fine, record}, nil}}}
		if err := runTask(t, "count", 1, h); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: error %v, want ErrCorrupt", name, err)
		}
	}
}

// A failing input must end the task with its error, also while the task waits for
// another input.
func TestAFailingInputEndsTheTask(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection to host-3 is lost")
	for name, inputs := range map[string][]operator.RecordReader{
		"the only one":               {&input{nil, lost}},
		"the first of two":           {&input{[][]byte{[]byte("a")}, lost}, silent{}},
		"the second of two":          {silent{}, &input{[][]byte{[]byte("a")}, lost}},
		"the second, the first done": {&input{nil, nil}, &input{nil, lost}},
	} {
		plan, vertex := "union of two sources", 2
		if len(inputs) == 1 {
			plan, vertex = "count", 1
		}
		if err := runTask(t, plan, vertex, &host{files: dataflowtest.NewFiles(nil), inputs: inputs}); !errors.Is(err, lost) {
			t.Errorf("%s: error %v, want the input's", name, err)
		}
	}
}

func TestCancellingEndsATaskThatWaitsForItsInputs(t *testing.T) {
	t.Parallel()
	c, err := compile(t, "union of two sources", dataflow.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("region restarts")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := c.Tasks[2].Run(ctx, &host{inputs: []operator.RecordReader{silent{}, silent{}}}); !errors.Is(err, cause) {
		t.Errorf("error %v, want the cause", err)
	}
}

// slowly takes an hour for each element, and counts it when it begins.
func slowly[T any](s dataflow.Stream[T]) dataflow.Stream[T] {
	return dataflow.FlatMapWith(s, func(s dataflow.Subtask) func(T, func(T)) {
		return func(v T, emit func(T)) {
			s.Counter("begun")
			time.Sleep(time.Hour)
			emit(v)
		}
	})
}

// canceling is a subtask that is cancelled while it is at its first element.
type canceling struct {
	host
	cancel func()
	begun  int
}

func (c *canceling) Metrics(int) operator.Metrics { return canceler{canceling: c} }

// canceler has the metrics of a canceling subtask.
type canceler struct {
	operator.Metrics
	*canceling
}

func (c canceler) Gauge(string) *operator.Gauge { return new(operator.Gauge) }

func (c canceler) Counter(name string) *operator.Counter {
	if name == "begun" {
		c.begun++
		c.cancel()
	}
	return new(operator.Counter)
}

// A cancelled task must not process the rest of its buffer. With a slow function that
// could take hours.
func TestCancellingEndsATaskAfterTheElementItIsAt(t *testing.T) {
	t.Parallel()
	var raw, partials [][]byte
	for n := range 100 {
		raw = append(raw, fmt.Append(nil, "line ", n))
		partials = append(partials, append(codec.AppendKey(nil, raw[n]), 2))
	}
	file := dataflowtest.NewFiles(map[string]string{"/in": string(bytes.Join(raw, []byte("\n")))})
	for plan, c := range map[string]struct {
		vertex int
		inputs []operator.RecordReader
	}{
		"slow source":         {0, nil},
		"slow after exchange": {1, []operator.RecordReader{&input{raw, nil}}},
		"slow after union":    {2, []operator.RecordReader{&input{raw, nil}, &input{raw, nil}}},
		"slow after count":    {1, []operator.RecordReader{&input{partials, nil}}},
	} {
		t.Run(plan, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				compiled, err := compile(t, plan, dataflow.PlanOptions{Parallelism: 2})
				if err != nil {
					t.Fatal(err)
				}
				graph, err := compiled.Prepare(t.Context(), file, nil)
				if err != nil {
					t.Fatal(err)
				}
				splits := graph.Vertices[0].Splits
				cause := errors.New("region restarts")
				ctx, cancel := context.WithCancelCause(t.Context())
				h := &canceling{cancel: func() { cancel(cause) }, host: host{files: file, inputs: c.inputs, splits: func() (jobgraph.Split, error) {
					return splits[0], nil
				}}}
				if err := compiled.Tasks[c.vertex].Run(ctx, h); !errors.Is(err, cause) || h.begun != 1 {
					t.Errorf("%d elements were begun and the error is %v, want 1 and the cause", h.begun, err)
				}
			})
		})
	}
}

// A function that is cancelled fails as it likes. It would catch a task that reports that as a failure of its own.
func TestAnErrorAfterACancellationIsAConsequence(t *testing.T) {
	t.Parallel()
	c, err := compile(t, "cancelled at its end", dataflow.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("region restarts")
	ctx, cancel := context.WithCancelCause(t.Context())
	h := &canceling{cancel: func() { cancel(cause) }, host: host{splits: func() (jobgraph.Split, error) { return jobgraph.Split{}, io.EOF }}}
	if err := c.Tasks[0].Run(ctx, h); err != cause { //nolint:errorlint // the cause itself
		t.Errorf("error %v, want the cause", err)
	}
}

// endless gives records without end, and counts them.
type endless struct{ given *int }

func (e endless) Poll() (operator.Item, []byte, error) {
	*e.given++
	return operator.Record, make([]byte, 1000), nil
}

// stopping is a stdout that fails.
type stopping struct{ host }

func (*stopping) Stdout() io.Writer { return failingWriter{} }

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A failed operator must end the task with the record that it has, also if there are more without end.
func TestAFailedOperatorEndsTheTask(t *testing.T) {
	t.Parallel()
	c, err := compile(t, "union of two sources", dataflow.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	given := 0
	s := &stopping{host{inputs: []operator.RecordReader{endless{&given}, silent{}}}}
	if err := c.Tasks[2].Run(t.Context(), s); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want that of the printer", err)
	}
	if given > 40 { // the printer fails at its first flush, after 32 KiB
		t.Errorf("%d records were read", given)
	}
}

// A task must take from each of its inputs in turn. Otherwise one that always has more would stop a producer of both.
func TestInputsTakeTurns(t *testing.T) {
	t.Parallel()
	c, err := compile(t, "union of two sources", dataflow.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	given := 0
	lost := errors.New("connection to host-3 is lost")
	h := &host{inputs: []operator.RecordReader{endless{&given}, &input{nil, lost}}}
	if err := c.Tasks[2].Run(t.Context(), h); !errors.Is(err, lost) {
		t.Errorf("error %v, want that of the second input", err)
	}
}

func TestAFailureToGetASplitEndsTheTask(t *testing.T) {
	t.Parallel()
	fenced := errors.New("the JobMaster has changed")
	h := &host{files: dataflowtest.NewFiles(nil), splits: func() (jobgraph.Split, error) { return jobgraph.Split{}, fenced }}
	if err := runTask(t, "one chain", 0, h); !errors.Is(err, fenced) {
		t.Errorf("error %v, want that of NextSplit", err)
	}
}

// FuzzMerge feeds records from another process to the operator behind an exchange.
// No record may cause a panic.
func FuzzMerge(f *testing.F) {
	f.Add([]byte("\x04word\x02"), []byte("\x04word\x04"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, []byte{})
	f.Add(binary.AppendUvarint(nil, 1<<40), []byte{0})
	c, err := compile(f, "count", dataflow.PlanOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		files := dataflowtest.NewFiles(nil)
		if err := dataflow.OpenOutput(t.Context(), files, "mem:///out", "job", 1, dataflow.PartsDropped); err != nil {
			t.Fatal(err)
		}
		h := &host{files: files, inputs: []operator.RecordReader{&input{[][]byte{first, second}, nil}}}
		if err := c.Tasks[1].Run(t.Context(), h); err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("error %v is not ErrCorrupt", err)
		}
	})
}
