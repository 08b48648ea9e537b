package dataflow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// statistics is a job that uses every kind of aggregation on words, in one plan
// with fan-out and union.
var statistics = dataflow.Job("statistics", func(p *dataflow.Plan, inputs []string) error {
	var lines []dataflow.Stream[[]byte]
	for _, input := range inputs {
		lines = append(lines, dataflow.ReadText(p, input))
	}
	all := dataflow.FlatMap(dataflow.Union(lines[0], lines[1:]...), words, dataflow.CountAs("words"))
	first := func(word []byte) string { return string(word[:1]) }
	length := func(word []byte) int64 { return int64(len(word)) }
	byFirst := dataflow.KeyBy(all, first)
	dataflow.Collect(dataflow.Count(dataflow.KeyBy(all, toString), dataflow.CountAs("distinct")), counted)
	dataflow.Collect(dataflow.Sum(byFirst, length, dataflow.Parallelism(3)), lengths)
	dataflow.Collect(dataflow.Reduce(byFirst, longer), longest)
	return nil
})

var (
	counted = dataflow.NewCollector[pair]("counts")
	lengths = dataflow.NewCollector[pair]("lengths")
	longest = dataflow.NewCollector[dataflow.KV[string, []byte]]("longest")
)

// longer returns the longer word, or the greater of two words of the same length.
func longer(a, b []byte) []byte {
	if len(b) > len(a) || len(b) == len(a) && bytes.Compare(b, a) > 0 {
		return b
	}
	return a
}

// For any text, parallelism and memory before the exchange, the results equal those
// of a plain loop. Catches elements lost or doubled at exchanges, flushes and
// unions, and memory that is reused too early.
func TestAggregationsEqualAPlainLoop(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[a-c][a-z]{0,3}`)
		files := map[string]string{}
		for _, name := range []string{"/x/1", "/x/2", "/y/1"} {
			files[name] = strings.Join(rapid.SliceOfN(word, 0, rapid.SampledFrom([]int{10, 500}).Draw(rt, "most")).Draw(rt, name), rapid.SampledFrom([]string{" ", "\n"}).Draw(rt, "separator"))
		}
		wantCounts, wantLengths, wantLongest := map[string]int64{}, map[string]int64{}, map[string]string{}
		total := 0
		for _, content := range files {
			for w := range strings.FieldsSeq(content) {
				wantCounts[w]++
				wantLengths[w[:1]] += int64(len(w))
				wantLongest[w[:1]] = string(longer([]byte(wantLongest[w[:1]]), []byte(w)))
				total++
			}
		}
		result := execute(rt, statistics, []string{"/x", "/y"}, dataflowtest.Options{
			FileSystem:  dataflowtest.NewFiles(files),
			Parallelism: rapid.IntRange(1, 5).Draw(rt, "parallelism"),
			// three tables share it before the exchange; small tables are flushed
			// often, or hold no key
			Memory: rapid.Int64Range(150<<10, 2<<20).Draw(rt, "memory"),
		})
		check := func(name string, want, got any) {
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("%s (-want +got):\n%s", name, diff)
			}
		}
		check("counts", wantCounts, asMap(rt, result, counted))
		check("lengths", wantLengths, asMap(rt, result, lengths))
		gotLongest := map[string]string{}
		for k, v := range asMap(rt, result, longest) {
			gotLongest[k] = string(v)
		}
		check("longest", wantLongest, gotLongest)
		check("counters", map[string]int64{"words": int64(total), "distinct": int64(len(wantCounts))}, result.Counters)
	})
}

// tester is a test, or a check of rapid.
type tester interface {
	rapid.TB
	Context() context.Context
}

// execute runs a job. If it fails, a check of rapid fails, and rapid looks for smaller draws. dataflowtest.Run would end the test.
func execute[A any](t tester, job *dataflow.JobDef[A], args A, o dataflowtest.Options) *dataflow.Result {
	t.Helper()
	result, err := dataflowtest.NewEnv(o).Execute(t.Context(), job, args)
	if err != nil {
		t.Fatalf("job %s: %v", job.Name(), err)
	}
	return result
}

func asMap[K comparable, V any](t interface{ Fatal(...any) }, r *dataflow.Result, from dataflow.Collector[dataflow.KV[K, V]]) map[K]V {
	elements, err := dataflow.Collected(r, from)
	if err != nil {
		t.Fatal(err)
	}
	all := map[K]V{}
	for _, kv := range elements {
		if _, ok := all[kv.Key]; ok {
			t.Fatal("two results for key", kv.Key)
		}
		all[kv.Key] = kv.Value
	}
	return all
}

// addresses keys by a type that encodes itself, sums floats and reduces numbers.
var addresses = dataflow.Job("addresses", func(p *dataflow.Plan, input string) error {
	byAddress := dataflow.KeyBy(dataflow.ReadText(p, input), func(line []byte) netip.Addr {
		address, _, _ := strings.Cut(string(line), " ")
		return netip.MustParseAddr(address)
	})
	half := dataflow.Sum(byAddress, func([]byte) float64 { return 0.5 })
	dataflow.Collect(half, halves)
	numbers := dataflow.Map(half, func(kv dataflow.KV[netip.Addr, float64]) int { return int(kv.Value * 2) })
	dataflow.Collect(dataflow.Reduce(dataflow.KeyBy(numbers, func(int) bool { return true }), func(a, b int) int { return max(a, b) }), most)
	return nil
})

var (
	halves = dataflow.NewCollector[dataflow.KV[netip.Addr, float64]]("halves")
	most   = dataflow.NewCollector[dataflow.KV[bool, int]]("most")
)

func TestKeysAndValuesOfOtherTypes(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/log": "10.0.0.1 a\n10.0.0.2 b\n10.0.0.1 c\n::1 d\n10.0.0.1 e"})
	result := dataflowtest.Run(t, addresses, "/log", dataflowtest.Options{FileSystem: files, Parallelism: 2})
	got := map[string]float64{}
	for k, v := range asMap(t, result, halves) {
		got[k.String()] = v
	}
	if diff := cmp.Diff(map[string]float64{"10.0.0.1": 1.5, "10.0.0.2": 0.5, "::1": 0.5}, got); diff != "" {
		t.Errorf("halves (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[bool]int{true: 3}, asMap(t, result, most)); diff != "" {
		t.Errorf("most (-want +got):\n%s", diff)
	}
}

// temperature has a codec given by WithCodec.
type temperature struct{ tenths int64 }

var temperatureCodec = dataflow.Codec[temperature]{
	Name:   "temperature",
	Append: func(dst []byte, v temperature) ([]byte, error) { return fmt.Appendf(dst, "%d", v.tenths), nil },
	Decode: func(src []byte) (v temperature, err error) {
		_, err = fmt.Sscanf(string(src), "%d", &v.tenths)
		return v, err
	},
}

var climate = dataflow.Job("climate", func(p *dataflow.Plan, input string) error {
	read := dataflow.Map(dataflow.ReadText(p, input), func(line []byte) temperature { return temperature{parse(line)} },
		dataflow.WithCodec(temperatureCodec), dataflow.Parallelism(3))
	warm := dataflow.Filter(read, func(v temperature) bool { return v.tenths > 0 })
	counts := dataflow.Count(dataflow.KeyBy(warm, dataflow.Identity, dataflow.WithCodec(temperatureCodec)))
	dataflow.Collect(dataflow.Map(counts, func(kv dataflow.KV[temperature, int64]) pair {
		return pair{Key: fmt.Sprint(kv.Key.tenths), Value: kv.Value}
	}), counted)
	dataflow.Collect(warm, temperatures)
	return nil
})

var temperatures = dataflow.NewCollector[temperature]("temperatures", dataflow.WithCodec(temperatureCodec))

func TestACodecGivenByHandServesElementsKeysAndResults(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/t": "5\n-3\n7\n5\n"})
	result := dataflowtest.Run(t, climate, "/t", dataflowtest.Options{FileSystem: files, Parallelism: 2})
	if diff := cmp.Diff(map[string]int64{"5": 2, "7": 1}, asMap(t, result, counted)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	got, err := dataflow.Collected(result, temperatures)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b temperature) int { return int(a.tenths - b.tenths) })
	if !slices.Equal(got, []temperature{{5}, {5}, {7}}) {
		t.Errorf("collected %v", got)
	}
}

// vandal changes its element in place and appends to it.
func vandal(line []byte) []byte {
	for i := range line {
		line[i] = 'x'
	}
	return append(line, "yyyyyyyy"...)
}

var shared = dataflow.Job("shared", func(p *dataflow.Plan, input string) error {
	lines := dataflow.ReadText(p, input)
	dataflow.WriteText(dataflow.Map(lines, vandal), "/vandal", text)
	dataflow.WriteText(lines, "/plain", text)
	dataflow.WriteText(dataflow.Map(dataflow.Filter(lines, func([]byte) bool { return true }), vandal), "/vandal2", text)
	return nil
})

func TestConsumersOfOneStreamMayChangeTheirBytes(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in": "one\ntwo\nthree\n"})
	dataflowtest.Run(t, shared, "/in", dataflowtest.Options{FileSystem: files})
	got := files.Files()
	for dir, want := range map[string][]string{
		"/plain": {"one", "three", "two"}, "/vandal": {"xxxxxyyyyyyyy", "xxxyyyyyyyy", "xxxyyyyyyyy"}, "/vandal2": {"xxxxxyyyyyyyy", "xxxyyyyyyyy", "xxxyyyyyyyy"},
	} {
		if diff := cmp.Diff(want, outputLines(got, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
}

// diamond sends one stream over two branches of different speed to one consumer.
var diamond = dataflow.Job("diamond", func(p *dataflow.Plan, input string) error {
	lines := dataflow.ReadText(p, input)
	left := dataflow.Map(lines, parse, dataflow.Parallelism(2))
	right := dataflow.Map(lines, parse, dataflow.Parallelism(3))
	both := dataflow.Union(left, right)
	dataflow.Collect(dataflow.Sum(dataflow.KeyBy(both, func(n int64) string { return fmt.Sprint(n % 2) }), dataflow.Identity), lengths)
	return nil
})

// The job has far more records than the channels hold. If the task read one input to
// its end before the other, the job would block for ever.
func TestAUnionReadsAllItsInputsAtOnce(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	want := map[string]int64{}
	for n := range int64(20_000) {
		fmt.Fprintln(&b, n)
		want[fmt.Sprint(n%2)] += 2 * n
	}
	files := dataflowtest.NewFiles(map[string]string{"/in": b.String()})
	result := dataflowtest.Run(t, diamond, "/in", dataflowtest.Options{FileSystem: files})
	if diff := cmp.Diff(want, asMap(t, result, lengths)); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}

var perSubtask = dataflow.Job("per-subtask", func(p *dataflow.Plan, input string) error {
	numbered := dataflow.FlatMapWith(dataflow.ReadText(p, input), func(s dataflow.Subtask) func([]byte, func(string)) {
		seen := 0 // no other subtask may touch it: the race detector would tell
		lines := s.Counter("lines")
		return func(line []byte, emit func(string)) {
			seen++
			lines.Add(1)
			emit(fmt.Sprintf("%s %d/%d", line, s.Index(), s.Parallelism()))
		}
	})
	dataflow.Print(numbered, func(dst []byte, line string) []byte { return append(dst, line...) })
	return nil
})

func TestPrintedLinesNameTheirSubtask(t *testing.T) {
	t.Parallel()
	var stdout lockedBuffer
	var b strings.Builder
	for n := range 30_000 {
		fmt.Fprintf(&b, "line %d\n", n)
	}
	files := dataflowtest.NewFiles(map[string]string{"/in": b.String()})
	result := dataflowtest.Run(t, perSubtask, "/in", dataflowtest.Options{FileSystem: files, Parallelism: 3, Stdout: &stdout})
	lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	if len(lines) != 30_000 || result.Counters["lines"] != 30_000 {
		t.Fatalf("%d lines printed, %d counted", len(lines), result.Counters["lines"])
	}
	for _, line := range lines {
		var subtask, n, index, parallelism int
		if _, err := fmt.Sscanf(line, "%d> line %d %d/%d", &subtask, &n, &index, &parallelism); err != nil || subtask != index+1 || parallelism != 3 {
			t.Fatalf("printed line %q: %v", line, err)
		}
	}
}

// lockedBuffer takes writes of whole lines.
type lockedBuffer struct {
	mu   sync.Mutex // guards text
	text []byte
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(p) > 0 && p[len(p)-1] != '\n' {
		return 0, fmt.Errorf("write of %d bytes does not end with a line", len(p))
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

func TestTextOutput(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "b a\na", "/out/old": "x"})
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Parallelism: 4})
	run := func(overwrite bool) error {
		_, err := env.Execute(t.Context(), writeCounts, writeArgs{"/in", "/out", overwrite})
		return err
	}
	if err := run(false); err == nil || !strings.Contains(err.Error(), "mem:///out") || !strings.Contains(err.Error(), "exists") {
		t.Errorf("output exists: error %v", err)
	}
	for range 2 { // the second time it replaces its own
		if err := run(true); err != nil {
			t.Fatal(err)
		}
		got := files.Files()
		if diff := cmp.Diff([]string{"a=2", "b=1"}, outputLines(got, "/out")); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		names := slices.Sorted(maps.Keys(got))
		if diff := cmp.Diff([]string{"/in/a", "/out/_SUCCESS", "/out/part-00000", "/out/part-00001", "/out/part-00002", "/out/part-00003"}, names); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
}

type writeArgs struct {
	Input, Output string
	Overwrite     bool
}

var writeCounts = dataflow.Job("write-counts", func(p *dataflow.Plan, a writeArgs) error {
	counts := dataflow.Count(dataflow.KeyBy(dataflow.FlatMap(dataflow.ReadText(p, a.Input), words), dataflow.Identity))
	var o []dataflow.Option
	if a.Overwrite {
		o = append(o, dataflow.Overwrite())
	}
	dataflow.WriteText(counts, a.Output, countText, o...)
	return nil
})

// For each call of the file system that fails, the job must fail instead of writing a
// part of its result. It must leave no goroutine behind.
func TestFailuresOfFilesFailTheJob(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk is broken")
	for _, op := range []string{"Load", "Open", "Read", "Create", "Write", "Close", "Rename", "Mkdir"} {
		for _, done := range []bool{false, true} {
			if done && op == "Read" {
				continue // reads have one moment only
			}
			text := "a b c\n"
			if op == "Open" || op == "Read" { // of what is too large to be loaded
				text = strings.Repeat(text, 60_000)
			}
			memory := dataflowtest.NewFiles(map[string]string{"/in": text})
			files := memory.View(func(c dataflowtest.Call) error {
				if c.Op == op && c.Done == done {
					return broken
				}
				return nil
			})
			env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Parallelism: 2})
			if _, err := env.Execute(t.Context(), writeCounts, writeArgs{"/in", "/out", false}); !errors.Is(err, broken) {
				t.Errorf("%s fails: error %v", op, err)
			}
			if _, err := memory.Stat(t.Context(), "/out/_SUCCESS"); !errors.Is(err, fs.ErrNotExist) && !(op == "Rename" && done) {
				t.Errorf("%s fails: _SUCCESS is there: %v", op, err)
			}
		}
	}
}

// The files that are not needed any more cannot be removed. The test would catch a job that fails although its output is
// complete.
func TestACompleteOutputIsNoFailure(t *testing.T) {
	t.Parallel()
	memory := dataflowtest.NewFiles(map[string]string{"/in": "a b c\n"})
	files := memory.View(func(c dataflowtest.Call) error {
		if c.Op == "RemoveAll" || c.Op == "Remove" {
			return errors.New("disk is broken")
		}
		return nil
	})
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Parallelism: 2})
	if _, err := env.Execute(t.Context(), writeCounts, writeArgs{"/in", "/out", false}); err != nil {
		t.Error(err)
	}
	if _, err := memory.Stat(t.Context(), "/out/_SUCCESS"); err != nil {
		t.Error(err)
	}
}

// It would catch keys that are lost or doubled between memory and files, or while they wait to be looked up together, files that stay,
// and spilled bytes that nobody sees when the job has ended.
func TestMoreKeysThanMemoryGoToFiles(t *testing.T) {
	t.Parallel()
	const keys = 200_000
	var b strings.Builder
	for n := range 3 * keys {
		fmt.Fprintf(&b, "word%d\n", n%keys)
		if n%50_000 == 0 {
			b.WriteString(strings.Repeat("long", 1000) + "\n") // it is not looked up together with others
		}
	}
	for memory, spills := range map[int64]bool{1 << 20: true, 4 << 20: true, 64 << 20: false} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var metrics dataflowtest.Metrics
			result := dataflowtest.Run(t, countAll, "/in", dataflowtest.Options{
				FileSystem: dataflowtest.NewFiles(map[string]string{"/in": b.String()}), Memory: memory, LocalDirs: []string{dir}, Metrics: &metrics,
			})
			counts := asMap(t, result, counted)
			if len(counts) != keys+1 {
				t.Errorf("%d keys, want %d", len(counts), keys+1)
			}
			for key, n := range counts {
				if want := int64(3); n != want && len(key) < 100 || len(key) > 100 && n != 4*want {
					t.Fatalf("%.100s is counted %d times", key, n)
				}
			}
			spilled := metrics.Operator("count").Counter("spilledBytes").Value()
			if spilled > 0 != spills || result.Counters["spilledBytes"] != spilled {
				t.Errorf("%d bytes were spilled, and the result has %d: the test needs other numbers, or they are lost", spilled, result.Counters["spilledBytes"])
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("files %v, error %v", left, err)
			}
		})
	}
}

// countAll collects the count of each line.
var countAll = dataflow.Job("count-all", func(p *dataflow.Plan, input string) error {
	dataflow.Collect(dataflow.Count(dataflow.KeyBy(dataflow.ReadText(p, input), toString)), counted)
	return nil
})

// growing reduces strings that grow: their memory counts, not only their number.
var growing = dataflow.Job("growing", func(p *dataflow.Plan, input string) error {
	all := dataflow.Reduce(dataflow.KeyBy(dataflow.Map(dataflow.ReadText(p, input), toString), func(string) bool { return true }),
		func(a, b string) string { return a + b })
	dataflow.Collect(dataflow.Map(all, func(kv dataflow.KV[bool, string]) pair { return pair{Value: int64(len(kv.Value))} }), counted)
	return nil
})

// Two values grow in turns, so that each file has a part of both. It would catch a value that exceeds memory when the files are merged.
func TestValuesThatGrowInFilesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for range 40 {
		b.WriteString(strings.Repeat("x", 100_000) + "\n" + strings.Repeat("y", 100_000) + "\n")
	}
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": b.String()}), Memory: 4 << 20})
	_, err := env.Execute(t.Context(), growingByKey, true)
	if !errors.Is(err, dataflow.ErrTooLargeForMemory) || !errors.Is(err, operator.ErrPermanent) || !strings.Contains(err.Error(), `reduce (1/1): key "x"`) {
		t.Errorf("error %v, want a permanent ErrTooLargeForMemory that names operator and key", err)
	}
}

// growingByKey is growing with several keys: the lines without the x at their ends, or their first letters.
var growingByKey = dataflow.Job("growing-by-key", func(p *dataflow.Plan, firstLetter bool) error {
	key := func(line string) string {
		if firstLetter {
			return line[:1]
		}
		return strings.TrimRight(line, "x")
	}
	lines := dataflow.Map(dataflow.ReadText(p, "/in"), toString)
	all := dataflow.Reduce(dataflow.KeyBy(lines, key), func(a, b string) string { return a + b })
	dataflow.Collect(dataflow.Map(all, func(kv dataflow.KV[string, string]) pair { return pair{Key: kv.Key, Value: int64(len(kv.Value))} }), counted)
	return nil
})

// A table that was full of small keys must not refuse larger values that come later: what it keeps of its memory is of no use for them.
func TestLargeValuesFollowSmallOnes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for n := range 50_000 {
		fmt.Fprintf(&b, "%d\n", n)
	}
	for n := range 20 {
		fmt.Fprintf(&b, "%d%s\n", n, strings.Repeat("x", 100_000))
	}
	var metrics dataflowtest.Metrics
	result := dataflowtest.Run(t, growingByKey, false, dataflowtest.Options{
		FileSystem: dataflowtest.NewFiles(map[string]string{"/in": b.String()}), Memory: 1 << 20, Metrics: &metrics,
	})
	if got := asMap(t, result, counted); len(got) != 50_000 || got["7"] != 100_002 {
		t.Errorf("%d keys, and %d bytes of 7", len(got), got["7"])
	}
	if metrics.Operator("reduce").Counter("spilledBytes").Value() == 0 {
		t.Error("nothing was spilled: the test needs more keys")
	}
}

func TestValuesThatGrowAreBounded(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in": strings.Repeat(strings.Repeat("x", 100_000)+"\n", 30)})
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Memory: 8 << 20})
	result, err := env.Execute(t.Context(), growing, "/in")
	if err != nil {
		t.Fatal(err)
	}
	if got := asMap(t, result, counted)[""]; got != 3_000_000 {
		t.Errorf("reduced to %d bytes", got)
	}
	env = dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Memory: 2 << 20})
	_, err = env.Execute(t.Context(), growing, "/in")
	if !errors.Is(err, dataflow.ErrTooLargeForMemory) || !errors.Is(err, operator.ErrPermanent) ||
		!strings.Contains(err.Error(), "taskmanager.memory.process.size") || !strings.Contains(err.Error(), "reduce (1/1): key true") {
		t.Errorf("error %v, want a permanent ErrTooLargeForMemory that names operator, key and option", err)
	}
}

func TestCancellingEndsAJobWithItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("interrupted by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	files := dataflowtest.NewFiles(map[string]string{"/in": "a b c"}).View(func(c dataflowtest.Call) error {
		if c.Op == "Create" {
			cancel(cause)
		}
		return nil
	})
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files, Parallelism: 3})
	if _, err := env.Execute(ctx, writeCounts, writeArgs{"/in", "/out", false}); !errors.Is(err, cause) {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestBytesCodecOfTheKeyIsNotCopiedPerWord(t *testing.T) {
	// a whole run makes far fewer allocations than one for each word
	content := strings.Repeat("to be or not to be\n", 100_000)
	files := dataflowtest.NewFiles(map[string]string{"/in": content})
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files})
	allocs := testing.AllocsPerRun(1, func() {
		if _, err := env.Execute(t.Context(), countInPlace, "/in"); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 5000 {
		t.Errorf("%v allocations for 600,000 words", allocs)
	}
}

var countInPlace = dataflow.Job("count-in-place", func(p *dataflow.Plan, input string) error {
	split := func(line []byte, emit func([]byte)) {
		for word := range bytes.FieldsSeq(line) {
			emit(word)
		}
	}
	dataflow.Collect(dataflow.Count(dataflow.KeyBy(dataflow.FlatMap(dataflow.ReadText(p, input), split), dataflow.Identity)), byteCounts)
	return nil
})

var byteCounts = dataflow.NewCollector[dataflow.KV[[]byte, int64]]("byte counts", dataflow.WithCodec(codec.OfKV(codec.Bytes(), mustFor[int64]())))

func mustFor[T any]() codec.Codec[T] {
	c, err := codec.For[T]()
	if err != nil {
		panic(err)
	}
	return c
}
