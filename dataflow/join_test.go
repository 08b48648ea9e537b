package dataflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// The kinds of joins and the hints that they have.
var joinHints = map[string][]dataflow.JoinHint{
	"inner": {0, dataflow.BroadcastLeft, dataflow.BroadcastRight, dataflow.HashLeft, dataflow.HashRight, dataflow.SortMerge},
	"left":  {0, dataflow.BroadcastRight, dataflow.HashLeft, dataflow.HashRight, dataflow.SortMerge},
	"right": {0, dataflow.BroadcastLeft, dataflow.HashLeft, dataflow.HashRight, dataflow.SortMerge},
	"full":  {0, dataflow.HashLeft, dataflow.HashRight, dataflow.SortMerge},
}

type joinArgs struct {
	Kind  string
	Hint  dataflow.JoinHint
	Bytes bool   // the elements of the left side are []byte, which the function changes
	Fail  string // the pair at which the function fails
}

var errJoin = errors.New("no such pair")

// paired has the pairs of a join, as "left|right" with "-" for none.
var paired = dataflow.NewCollector[string]("pairs")

// joinOf joins the lines of two directories by their first letter.
var joinOf = dataflow.Job("join-of", func(p *dataflow.Plan, a joinArgs) error {
	o := []dataflow.Option{dataflow.Named("join"), dataflow.Parallelism(3)}
	if a.Hint != 0 {
		o = append(o, dataflow.Hint(a.Hint))
	}
	right := dataflow.KeyBy(dataflow.Map(dataflow.ReadText(p, "/right"), toString), func(line string) string { return line[:1] })
	if a.Bytes {
		left := dataflow.KeyBy(dataflow.ReadText(p, "/left"), func(line []byte) string { return string(line[:1]) })
		dataflow.Collect(joinBy(a, left, right, func(line []byte) string {
			text := string(line)
			clear(line) // it belongs to the function
			return text
		}, o), paired)
		return nil
	}
	left := dataflow.KeyBy(dataflow.Map(dataflow.ReadText(p, "/left"), toString), func(line string) string { return line[:1] })
	dataflow.Collect(joinBy(a, left, right, dataflow.Identity[string], o), paired)
	return nil
})

// joinBy is one of the joins.
func joinBy[A any](a joinArgs, left dataflow.Keyed[string, A], right dataflow.Keyed[string, string], show func(A) string, o []dataflow.Option) dataflow.Stream[string] {
	switch a.Kind {
	case "left":
		return dataflow.LeftJoin(left, right, func(l A, r *string, emit func(string)) { emit(show(l) + "|" + orNone(r)) }, o...)
	case "right":
		return dataflow.RightJoin(left, right, func(l *A, r string, emit func(string)) {
			text := "-"
			if l != nil {
				text = show(*l)
			}
			emit(text + "|" + r)
		}, o...)
	case "full":
		return dataflow.TryFullJoin(left, right, func(_ context.Context, l *A, r *string, emit func(string)) error {
			text := "-"
			if l != nil {
				text = show(*l)
			}
			return a.emit(text+"|"+orNone(r), emit)
		}, o...)
	default:
		return dataflow.TryJoin(left, right, func(_ context.Context, l A, r string, emit func(string)) error {
			return a.emit(show(l)+"|"+r, emit)
		}, o...)
	}
}

// emit emits a pair, or fails.
func (a joinArgs) emit(pair string, emit func(string)) error {
	if pair == a.Fail {
		return errJoin
	}
	emit(pair)
	return nil
}

func orNone(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}

// joinedByLoops is the join as two loops.
func joinedByLoops(kind string, left, right []string) []string {
	all := []string{}
	for _, l := range left {
		alone := true
		for _, r := range right {
			if l[:1] == r[:1] {
				alone = false
				all = append(all, l+"|"+r)
			}
		}
		if alone && (kind == "left" || kind == "full") {
			all = append(all, l+"|-")
		}
	}
	for _, r := range right {
		if !slices.ContainsFunc(left, func(l string) bool { return l[:1] == r[:1] }) && (kind == "right" || kind == "full") {
			all = append(all, "-|"+r)
		}
	}
	return sorted(all)
}

// For any inputs, each kind of join with each hint equals two loops. It would catch sides that are exchanged, elements that a
// broadcast sends once or that a subtask takes for its own, and a function's change of one element in the next pair.
func TestJoinsEqualTwoLoops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(joinHints))).Draw(rt, "kind")
		a := joinArgs{Kind: kind, Hint: rapid.SampledFrom(joinHints[kind]).Draw(rt, "hint"), Bytes: rapid.Bool().Draw(rt, "bytes")}
		line := rapid.StringMatching(`[a-h][a-z]{0,5}`)
		left, right := rapid.SliceOfN(line, 0, 60).Draw(rt, "left"), rapid.SliceOfN(line, 0, 60).Draw(rt, "right")
		files := map[string]string{"/left/1": "", "/right/1": ""}
		for name, lines := range map[string][]string{"/left": left, "/right": right} {
			for i, half := range [][]string{lines[:len(lines)/2], lines[len(lines)/2:]} {
				files[fmt.Sprint(name, "/", i)] = strings.Join(half, "\n")
			}
		}
		result := execute(rt, joinOf, a, dataflowtest.Options{
			FileSystem: dataflowtest.NewFiles(files), Parallelism: rapid.SampledFrom([]int{1, 2, 3}).Draw(rt, "parallelism"), LocalDirs: []string{dir},
			Config: map[string]string{"table.optimizer.join.broadcast-threshold": rapid.SampledFrom([]string{"-1", "100", "1048576"}).Draw(rt, "threshold")},
		})
		if diff := cmp.Diff(joinedByLoops(a.Kind, left, right), sorted(collected(rt, result, paired))); diff != "" {
			rt.Fatalf("%+v: (-want +got)\n%s", a, diff)
		}
	})
}

// countPairs counts the pairs of each key.
var countPairs = dataflow.Job("count-pairs", func(p *dataflow.Plan, hint dataflow.JoinHint) error {
	byFirst := func(path string) dataflow.Keyed[string, string] {
		return dataflow.KeyBy(dataflow.Map(dataflow.ReadText(p, path), toString), func(line string) string { return line[:1] })
	}
	keys := dataflow.Join(byFirst("/left"), byFirst("/right"), func(l, _ string, emit func(string)) { emit(l[:1]) }, dataflow.Named("join"), dataflow.Hint(hint))
	dataflow.Collect(dataflow.Count(dataflow.KeyBy(keys, dataflow.Identity[string])), counted)
	return nil
})

// One key may exceed memory on both sides, and the other keys are joined nevertheless.
func TestAJoinedKeyMayExceedMemory(t *testing.T) {
	t.Parallel()
	const lefts, rights = 250, 200
	line := strings.Repeat("x", 9999) + "\n"
	files := map[string]string{"/left": strings.Repeat(line, lefts) + "y\n", "/right": strings.Repeat(line, rights) + "y\ny\nz\n"}
	for _, hint := range []dataflow.JoinHint{dataflow.HashLeft, dataflow.HashRight, dataflow.BroadcastLeft, dataflow.SortMerge} {
		t.Run(fmt.Sprint(hint), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var metrics dataflowtest.Metrics
			result := dataflowtest.Run(t, countPairs, hint, dataflowtest.Options{
				FileSystem: dataflowtest.NewFiles(files), Memory: 1 << 20, LocalDirs: []string{dir}, Metrics: &metrics,
			})
			want := map[string]int64{"x": lefts * rights, "y": 2}
			if diff := cmp.Diff(want, asMap(t, result, counted)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if metrics.Operator("join").Counter("spilledBytes").Value() == 0 {
				t.Error("nothing was spilled: the test needs more elements")
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("files %v, error %v", left, err)
			}
		})
	}
}

// It would catch an error that is dropped, one that does not say where it was, or for which pair, and one that a file seems to have.
func TestAJoinsErrorFailsTheJob(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/left": "apple\nbread\ncake\n", "/right": "anna\nbob\ndora\n"}
	for _, c := range []struct{ kind, fail, shows string }{
		{"inner", "bread|bob", `"bread" and "bob"`}, {"full", "cake|-", `"cake" and nil`}, {"full", "-|dora", `nil and "dora"`},
	} {
		for _, hint := range joinHints[c.kind] {
			env := dataflowtest.NewEnv(dataflowtest.Options{
				FileSystem: dataflowtest.NewFiles(files), Config: map[string]string{"pipeline.errors.show-element": "true"},
			})
			_, err := env.Execute(t.Context(), joinOf, joinArgs{Kind: c.kind, Hint: hint, Fail: c.fail})
			var failure *dataflow.OperatorError
			if !errors.Is(err, errJoin) || !errors.As(err, &failure) || failure.Operator != "join" || failure.Parallelism != 3 || failure.Element != c.shows {
				t.Errorf("hint %d: error %v, want that of the function for %s", hint, err, c.shows)
			}
		}
	}
}

// keyedLines are the lines of a file by themselves.
func keyedLines(p *dataflow.Plan, path string) dataflow.Keyed[string, []byte] {
	return dataflow.KeyBy(dataflow.ReadText(p, path), toString)
}

// A join that cannot work must be refused with the job's plan, and not fail or give a wrong result on the cluster.
func TestJoinsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string]string{
		"join by different codecs": "WithCodec for both", "join with an unknown hint": "no hint 9",
	} {
		if _, err := compile(t, plan, dataflow.PlanOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", plan, err, want)
		}
	}
}

// Each subtask has all of a broadcast side. It would catch a hint by which each of them emits the elements that have no partner.
func TestAnOuterSideIsNeverBroadcast(t *testing.T) {
	t.Parallel()
	for kind, hints := range joinHints {
		for _, hint := range []dataflow.JoinHint{dataflow.BroadcastLeft, dataflow.BroadcastRight} {
			args, err := json.Marshal(joinArgs{Kind: kind, Hint: hint})
			if err != nil {
				t.Fatal(err)
			}
			_, err = dataflow.Compile(joinOf.Name(), args, dataflow.PlanOptions{})
			if refused := err != nil && strings.Contains(err.Error(), "join: option Hint: "); refused == slices.Contains(hints, hint) {
				t.Errorf("%s join with the hint %v: error %v", kind, hint, err)
			}
		}
	}
}

// A choice by size must not change the digest: a driver that runs again finds its job by it, and does not look at its inputs. It would
// also catch sizes that do not reach the hosts of the tasks.
func TestSizesDoNotChangeTheDigest(t *testing.T) {
	t.Parallel()
	for right, want := range map[int]string{2: "4/2", 2_000_000: "4/2000000"} {
		c, err := compile(t, "join of two files", dataflow.PlanOptions{Parallelism: 2})
		if err != nil {
			t.Fatal(err)
		}
		files := dataflowtest.NewFiles(map[string]string{"/left/1": "a\n", "/left/2": "b\n", "/right": strings.Repeat("a\n", right/2)})
		graph, err := c.Prepare(t.Context(), files, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := graph.Config["pipeline.join-sizes"]; got != want || graph.Digest != c.Graph.Digest || len(graph.Vertices[0].Splits) == 0 {
			t.Errorf("sizes %q, want %q; digest %s, want %s; splits %v", got, want, graph.Digest, c.Graph.Digest, graph.Vertices[0].Splits)
		}
	}
}

// Hosts that plan different joins lose records, so a host must see by the digest that its plan differs.
func TestAHintChangesTheDigest(t *testing.T) {
	t.Parallel()
	seen := make(map[string]dataflow.JoinHint)
	for hint := range dataflow.SortMerge + 1 {
		c, err := compile(t, fmt.Sprint("join by hint ", int(hint)), dataflow.PlanOptions{Parallelism: 2})
		if err != nil {
			t.Fatal(err)
		}
		if other, known := seen[c.Graph.Digest]; known {
			t.Errorf("the hints %v and %v have the same digest", hint, other)
		}
		seen[c.Graph.Digest] = hint
	}
}

// The elements of the side that is not broadcast stay in their subtasks. It would catch a plan that shows another way.
func TestThePlanShowsThatASideIsNotSent(t *testing.T) {
	t.Parallel()
	c, err := compile(t, "join of two files", dataflow.PlanOptions{Parallelism: 2})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := c.Prepare(t.Context(), dataflowtest.NewFiles(map[string]string{"/left": "a\nb\n", "/right": "a\n"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if left, right := graph.Edges[0].Ship, graph.Edges[1].Ship; left != "FORWARD" || right != "BROADCAST" {
		t.Errorf("the left side is sent by %s, and the right one by %s", left, right)
	}
}

// planClock is what the plan "join by the clock" reads: it changes while the inputs are planClock.
var planClock int

// The plan function runs again after the listing. It would catch splits that are lost or read by another operator, because a plan
// with a clock or a file has other vertices by then.
func TestAPlanThatChangesDuringTheListingIsRefused(t *testing.T) {
	files := dataflowtest.NewFiles(map[string]string{"/left": "a\n", "/right": "a\n"})
	for _, plan := range []string{"join by a name of the clock", "join by a file of the clock", "join or none by the clock"} {
		planClock = 0
		c, err := compile(t, plan, dataflow.PlanOptions{Parallelism: 2})
		if err != nil {
			t.Fatal(err)
		}
		planClock++
		if _, err = c.Prepare(t.Context(), files, nil); !errors.Is(err, dataflow.ErrNotDeterministic) || !strings.Contains(err.Error(), "planned") {
			t.Errorf("%s: error %v, want ErrNotDeterministic that names the job", plan, err)
		}
	}
}

func init() { //nolint:gochecknoinits // the plans of these tests stand here
	count := func(_, _ []byte, emit func(int)) { emit(1) }
	for hint := range dataflow.SortMerge + 1 {
		plans[fmt.Sprint("join by hint ", int(hint))] = func(p *dataflow.Plan) error {
			var o []dataflow.Option
			if hint > 0 {
				o = append(o, dataflow.Hint(hint))
			}
			dataflow.Collect(dataflow.Join(keyedLines(p, "/left"), keyedLines(p, "/right"), count, o...), numbers)
			return nil
		}
	}
	plans["join by a name of the clock"] = func(p *dataflow.Plan) error {
		dataflow.Collect(dataflow.Join(keyedLines(p, "/left"), keyedLines(p, "/right"), count, dataflow.Named(fmt.Sprint("at ", planClock))), numbers)
		return nil
	}
	plans["join by a file of the clock"] = func(p *dataflow.Plan) error {
		dataflow.Collect(dataflow.Join(keyedLines(p, "/left"), keyedLines(p, []string{"/right", "/left"}[planClock]), count), numbers)
		return nil
	}
	plans["join or none by the clock"] = func(p *dataflow.Plan) error {
		if planClock > 0 {
			dataflow.Collect(dataflow.Map(dataflow.ReadText(p, "/left"), func([]byte) int { return 1 }), numbers)
			return nil
		}
		dataflow.Collect(dataflow.Join(keyedLines(p, "/left"), keyedLines(p, "/right"), count), numbers)
		return nil
	}
	drop := func(*[]byte, *[]byte, func(int)) {}
	plans["join of two files"] = func(p *dataflow.Plan) error {
		dataflow.Collect(dataflow.Join(keyedLines(p, "/left"), keyedLines(p, "/right"), func(_, _ []byte, emit func(int)) { emit(1) }), numbers)
		return nil
	}
	plans["join with an unknown hint"] = func(p *dataflow.Plan) error {
		dataflow.Collect(dataflow.FullJoin(keyedLines(p, "/left"), keyedLines(p, "/right"), drop, dataflow.Hint(9)), numbers)
		return nil
	}
	plans["join by different codecs"] = func(p *dataflow.Plan) error {
		other, err := codec.KeyFor[string]()
		if err != nil {
			return err
		}
		other.Name = "other"
		right := dataflow.KeyBy(dataflow.ReadText(p, "/right"), toString, dataflow.WithCodec(other))
		dataflow.Collect(dataflow.FullJoin(keyedLines(p, "/left"), right, drop), numbers)
		return nil
	}
}
