package dataflow_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

type sortArgs struct {
	Way         string // by: text, number, float; partition
	Descending  bool
	Readers     int
	Parallelism int
}

// sortedLines sorts the lines of /in into /out.
var sortedLines = dataflow.Job("sorted-lines", func(p *dataflow.Plan, a sortArgs) error {
	options := []dataflow.Option{dataflow.Named("sort")}
	if a.Descending {
		options = append(options, dataflow.Descending())
	}
	lines := dataflow.Map(dataflow.ReadText(p, "/in"), toString, dataflow.Parallelism(a.Readers))
	wide := append(options, dataflow.Parallelism(a.Parallelism))
	switch a.Way {
	case "text":
		lines = dataflow.Sort(lines, dataflow.Identity, wide...)
	case "number":
		lines = dataflow.Sort(lines, func(line string) int { return len(line) }, wide...)
	case "float":
		lines = dataflow.Sort(lines, func(line string) float64 { f, _ := strconv.ParseFloat(line, 64); return f }, wide...)
	case "partition":
		lines = dataflow.SortPartition(lines, dataflow.Identity, options...)
	}
	dataflow.WriteText(lines, "/out", func(dst []byte, line string) []byte { return append(dst, line...) }, dataflow.Parallelism(a.Parallelism))
	return nil
})

// runSort sorts lines, and returns the lines of each part.
func runSort(t tester, a sortArgs, lines []string, o dataflowtest.Options) (parts [][]string) {
	t.Helper()
	files := dataflowtest.NewFiles(map[string]string{"/in": strings.Join(lines, "\n")})
	o.FileSystem = files
	execute(t, sortedLines, a, o)
	for part := range a.Parallelism {
		content, found := files.Files()[fmt.Sprintf("/out/part-%05d", part)]
		if !found {
			t.Fatalf("no part %d: %v", part, files.Files())
		}
		if content = strings.TrimSuffix(content, "\n"); content == "" {
			parts = append(parts, nil)
			continue
		}
		parts = append(parts, strings.Split(content, "\n"))
	}
	return parts
}

// For any lines, the parts one after the other must be the sorted lines. It would catch a range that overlaps another one, a record
// that is lost on its way through files, and a reversed order that holds only for keys of the same length.
func TestSortSortsTheWholeStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,3}[a-e]{0,4}`), 0, 300).Draw(rt, "lines")
		a := sortArgs{
			Way: rapid.SampledFrom([]string{"text", "number"}).Draw(rt, "way"), Descending: rapid.Bool().Draw(rt, "descending"),
			Readers: rapid.IntRange(1, 3).Draw(rt, "readers"), Parallelism: rapid.IntRange(1, 4).Draw(rt, "parallelism"),
		}
		got := slices.Concat(runSort(rt, a, lines, dataflowtest.Options{LocalDirs: []string{dir}})...)
		compare := func(x, y string) int {
			order := strings.Compare(x, y)
			if a.Way == "number" {
				order = cmp.Compare(len(x), len(y))
			}
			if a.Descending {
				return -order
			}
			return order
		}
		if !slices.IsSortedFunc(got, compare) {
			rt.Fatalf("%q is not sorted", got)
		}
		if !slices.Equal(sorted(got), sorted(lines)) {
			rt.Fatalf("%q, want %q", got, lines)
		}
	})
}

// Floats are in the order of codec.KeyFor: NaN comes first, and last in a descending sort.
func TestSortHasAnOrderForAllFloats(t *testing.T) {
	t.Parallel()
	lines := []string{"1", "-Inf", "NaN", "-1", "+Inf", "-0.5", "0.5"}
	want := []string{"NaN", "-Inf", "-1", "-0.5", "0.5", "1", "+Inf"}
	for _, descending := range []bool{false, true} {
		got := slices.Concat(runSort(t, sortArgs{"float", descending, 2, 3}, lines, dataflowtest.Options{})...)
		if descending {
			slices.Reverse(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("descending %v: %q, want %q", descending, got, want)
		}
	}
}

// Each part of SortPartition has the lines of its own subtask.
func TestSortPartitionMovesNothing(t *testing.T) {
	t.Parallel()
	parts := runSort(t, sortArgs{"partition", true, 2, 2}, []string{"b", "d", "a", "c"}, dataflowtest.Options{Parallelism: 2})
	for _, part := range parts {
		if !slices.IsSortedFunc(part, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("%q is not sorted", part)
		}
	}
	if got := sorted(slices.Concat(parts...)); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("%q", parts)
	}
	c := compileJob(t, sortedLines, `{"Way":"partition","Readers":2,"Parallelism":2}`, nil)
	if got := c.Graph.Vertices[0].Name; !strings.Contains(got, "map -> sort (encode) -> sort -> ") {
		t.Errorf("vertex %q: the lines are moved", got)
	}
}

// A sort exceeds memory, with one key that alone exceeds it. It would catch ranges of very different sizes, and files that stay.
func TestASortMayExceedMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 60_000
	lines := make([]string, 0, 2*n)
	for i := range n {
		lines = append(lines, strings.Repeat("x", 99), fmt.Sprintf("%05d%s", i*7919%n, strings.Repeat("y", 94)))
	}
	var metrics dataflowtest.Metrics
	parts := runSort(t, sortArgs{"text", false, 2, 3}, lines, dataflowtest.Options{
		Parallelism: 2, Memory: 1 << 20, LocalDirs: []string{dir}, Metrics: &metrics,
	})
	if got := slices.Concat(parts...); !slices.Equal(got, sorted(lines)) {
		t.Errorf("%d lines are not the %d sorted ones", len(got), len(lines))
	}
	if last := len(parts[2]); last < n || last > n+n/10 {
		t.Errorf("the last part has %d lines, want little more than the %d of the frequent key", last, n)
	}
	if first := len(parts[0]); first < 2*n/3-n/10 || first > 2*n/3+n/10 {
		t.Errorf("the first part has %d lines, want about a third of all", first)
	}
	if metrics.Operator("sort").Counter("spilledBytes").Value() == 0 {
		t.Error("nothing was spilled: the test needs more elements")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files %v, error %v", left, err)
	}
}

// The elements wait for the bounds, which are made of them. It would catch a sort that hangs when they exceed the buffers.
func TestTheElementsOfASortWaitInFiles(t *testing.T) {
	t.Parallel()
	c := compileJob(t, sortedLines, `{"Way":"text","Readers":2,"Parallelism":3}`, nil)
	var ships []jobgraph.Ship
	for _, e := range c.Graph.Edges {
		from, to := c.Graph.Vertices[e.From].Name, c.Graph.Vertices[e.To].Name
		if want := strings.HasSuffix(to, "(partition)"); (e.Kind == jobgraph.Blocking) != want {
			t.Errorf("the edge from %q to %q is %s", from, to, e.Kind)
		}
		ships = append(ships, e.Ship)
	}
	if want := []jobgraph.Ship{"GATHER", "FORWARD", "BROADCAST", "RANGE", "GATHER"}; !slices.Equal(ships, want) {
		t.Errorf("ship strategies %s, want %s", ships, want)
	}
}

// sortTask returns the task of the operator that begins with this name in a sort of three subtasks, and what it needs.
func sortTask(t testing.TB, operatorName string, inputs ...operator.RecordReader) (operator.Task, *host) {
	t.Helper()
	c := compileJob(t, sortedLines, `{"Way":"text","Readers":2,"Parallelism":3}`, nil)
	for i, v := range c.Graph.Vertices {
		if v.Operators[0] == operatorName {
			return c.Tasks[i], &host{files: dataflowtest.NewFiles(nil), inputs: inputs}
		}
	}
	t.Fatalf("no vertex begins with %q: %+v", operatorName, c.Graph.Vertices)
	return nil, nil
}

// Records come from other processes. A damaged one must fail the task, and not sort wrongly.
func TestCorruptRecordsOfASortFailItsTask(t *testing.T) {
	t.Parallel()
	records := func(all ...string) operator.RecordReader {
		in := &input{}
		for _, record := range all {
			in.records = append(in.records, []byte(record))
		}
		return in
	}
	const fine = "\x01a\x3f\xf0\x00\x00\x00\x00\x00\x00" // the key a with the weight 1
	for name, c := range map[string]struct {
		operator string
		inputs   []operator.RecordReader
	}{
		"a sample without a key":     {"sort (ranges)", []operator.RecordReader{records(fine, "\x05a")}},
		"a weight that is too short": {"sort (ranges)", []operator.RecordReader{records(fine, "\x01a\x3f")}},
		"a weight of nothing":        {"sort (ranges)", []operator.RecordReader{records("\x01a\x00\x00\x00\x00\x00\x00\x00\x00")}},
		"a weight that is no number": {"sort (ranges)", []operator.RecordReader{records("\x01a\x7f\xf8\x00\x00\x00\x00\x00\x01")}},
		"bounds out of order":        {"sort (partition)", []operator.RecordReader{records(), records("b", "a")}},
		"too many bounds":            {"sort (partition)", []operator.RecordReader{records(), records("a", "b", "c")}},
		"a record without a key":     {"sort (partition)", []operator.RecordReader{records("\x05a"), records("b")}},
		"no record to sort":          {"sort", []operator.RecordReader{records("\x01ax", "\x05a")}},
	} {
		task, h := sortTask(t, c.operator, c.inputs...)
		if err := task.Run(t.Context(), h); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: error %v, want ErrCorrupt", name, err)
		}
	}
}

// FuzzSort feeds records from other processes to the operators of a sort. No record may cause a panic, or an error that does not say
// that it is corrupt.
func FuzzSort(f *testing.F) {
	f.Add([]byte("\x01a\x3f\xf0\x00\x00\x00\x00\x00\x00"), []byte("\x01b\x40\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x01ax"), []byte("b"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, []byte{})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for name, inputs := range map[string][]operator.RecordReader{
			"sort (ranges)":    {&input{[][]byte{first, second}, nil}},
			"sort (partition)": {&input{[][]byte{first}, nil}, &input{[][]byte{second, first}, nil}},
		} {
			task, h := sortTask(t, name, inputs...)
			if err := task.Run(t.Context(), h); err != nil && !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s: error %v is not ErrCorrupt", name, err)
			}
		}
	})
}

// again gives the same records once more after each reset.
type again struct {
	records [][]byte
	next    int
}

func (a *again) Poll() (operator.Item, []byte, error) {
	if a.next == len(a.records) {
		return operator.EndOfData, nil, nil
	}
	a.next++
	return operator.Record, a.records[a.next-1], nil
}

// The sort of 100-byte elements with a key of 10 bytes, in memory: first to its range, then within it.
func BenchmarkSort(b *testing.B) {
	const n = 100_000
	elements, bounds := &again{}, &again{records: [][]byte{[]byte("0000033333"), []byte("0000066666")}}
	for i := range n {
		key := fmt.Appendf(nil, "%010d", i*7919%n)
		elements.records = append(elements.records, append(codec.AppendKey(nil, key), strings.Repeat("x", 100)...))
	}
	for name, inputs := range map[string][]operator.RecordReader{"sort (partition)": {elements, bounds}, "sort": {elements}} {
		b.Run(name, func(b *testing.B) {
			task, h := sortTask(b, name, inputs...)
			b.ReportAllocs()
			b.SetBytes(n * 100)
			for b.Loop() {
				elements.next, bounds.next = 0, 0
				h.files = dataflowtest.NewFiles(nil)
				if err := dataflow.OpenOutput(b.Context(), h.files, "mem:///out", "job", 1, dataflow.PartsDropped); err != nil {
					b.Fatal(err)
				}
				if err := task.Run(b.Context(), h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// compileJob plans a job.
func compileJob[A any](t testing.TB, job *dataflow.JobDef[A], args string, config map[string]string) *dataflow.Compiled {
	t.Helper()
	c, err := dataflow.Compile(job.Name(), []byte(args), dataflow.PlanOptions{Parallelism: 2, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// unordered is a key that encodes itself, so its encodings have no order.
type unordered struct{ N int }

func (u unordered) MarshalBinary() ([]byte, error)     { return []byte(strconv.Itoa(u.N)), nil }
func (u *unordered) UnmarshalBinary(data []byte) error { u.N = len(data); return nil }

// sortMistakes are plans that cannot work.
var sortMistakes = dataflow.Job("sort-mistakes", func(p *dataflow.Plan, mistake string) error {
	lines := dataflow.ReadText(p, "/in")
	switch mistake {
	case "no order":
		lines = dataflow.Sort(lines, func(line []byte) unordered { return unordered{len(line)} }, dataflow.Named("by host"))
	case "no codec":
		lines = dataflow.Sort(lines, func([]byte) chan int { return nil })
	case "parallelism":
		lines = dataflow.SortPartition(lines, dataflow.Identity, dataflow.Parallelism(2))
	case "descending":
		lines = dataflow.Filter(lines, func([]byte) bool { return true }, dataflow.Descending())
	}
	dataflow.Print(lines, text)
	return nil
})

func TestASortNeedsAnOrder(t *testing.T) {
	t.Parallel()
	for mistake, want := range map[string]string{
		"no order":    "by host: keys of type dataflow_test.unordered have no order",
		"no codec":    "sort: key: no codec",
		"parallelism": "sort partition: option Parallelism does not apply",
		"descending":  "filter: option Descending does not apply",
	} {
		_, err := dataflow.Compile(sortMistakes.Name(), []byte(strconv.Quote(mistake)), dataflow.PlanOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", mistake, err, want)
		}
	}
}
