package dataflow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// amounts is a job whose functions may fail. Its lines are numbers.
var amounts = dataflow.Job("amounts", func(p *dataflow.Plan, way string) error {
	lines := dataflow.ReadText(p, "/in")
	parse := func(_ context.Context, line []byte) (int, error) { return strconv.Atoi(string(line)) }
	switch way {
	case "map":
		dataflow.Collect(dataflow.TryMap(lines, parse, dataflow.Named("parse")), numbers)
	case "flat map":
		dataflow.Collect(dataflow.TryFlatMap(lines, func(ctx context.Context, line []byte, emit func(int)) error {
			n, err := parse(ctx, line)
			if err == nil {
				emit(n)
				emit(-n)
			}
			return err
		}, dataflow.Named("parse")), numbers)
	case "filter":
		even := dataflow.TryFilter(lines, func(ctx context.Context, line []byte) (bool, error) {
			n, err := parse(ctx, line)
			return n%2 == 0, err
		}, dataflow.Named("parse"))
		dataflow.Collect(dataflow.Map(even, func(line []byte) int { return len(line) }), numbers)
	case "behind an exchange":
		twice := dataflow.Filter(lines, func([]byte) bool { return true }, dataflow.Parallelism(2))
		dataflow.Collect(dataflow.TryMap(twice, parse, dataflow.Named("parse"), dataflow.Parallelism(1)), numbers)
	case "rejecting":
		parsed := dataflow.TryMap(lines, parse, dataflow.Named("parse"), dataflow.RejectTo(notParsed))
		dataflow.Collect(parsed, numbers)
		dataflow.Collect(dataflow.Map(dataflow.SideOutput(parsed, notParsed), func(r dataflow.Rejected[[]byte]) string {
			return string(r.Element) + ": " + r.Reason
		}), reasons)
	}
	return nil
})

var (
	numbers   = dataflow.NewCollector[int]("numbers")
	reasons   = dataflow.NewCollector[string]("reasons")
	notParsed = dataflow.NewOutputTag[dataflow.Rejected[[]byte]]("not parsed")
)

func collected[T any](t rapid.TB, r *dataflow.Result, c dataflow.Collector[T]) []T {
	t.Helper()
	all, err := dataflow.Collected(r, c)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFunctionsThatMayFailAndDoNot(t *testing.T) {
	t.Parallel()
	for way, want := range map[string][]int{"map": {1, 22}, "flat map": {1, -1, 22, -22}, "filter": {2}} {
		result := dataflowtest.Run(t, amounts, way, dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "1\n22\n"})})
		if got := collected(t, result, numbers); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", way, got, want)
		}
	}
}

// An error must fail the job and say where it was. It would catch an error that is dropped, an element that others see although the
// user has not allowed it, and one that is shown in full.
func TestAFunctionsErrorNamesItsPlace(t *testing.T) {
	t.Parallel()
	long := "secret " + strings.Repeat("é", 150)
	place := "reading mem:///in, the line at byte 2"
	for name, c := range map[string]struct {
		way, show string
		want      dataflow.OperatorError
	}{
		"behind its source":       {"map", "", dataflow.OperatorError{Operator: "parse", Parallelism: 1, At: place}},
		"with the element":        {"flat map", "true", dataflow.OperatorError{Operator: "parse", Parallelism: 1, At: place, Element: `"secret ` + strings.Repeat("é", 96) + `"…`}},
		"without, and it is said": {"filter", "false", dataflow.OperatorError{Operator: "parse", Parallelism: 1, At: place}},
		"elsewhere":               {"behind an exchange", "", dataflow.OperatorError{Operator: "parse", Parallelism: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "1\n" + long + "\n3\n"})}
			if c.show != "" {
				o.Config = map[string]string{"pipeline.errors.show-element": c.show}
			}
			_, err := dataflowtest.NewEnv(o).Execute(t.Context(), amounts, c.way)
			var got *dataflow.OperatorError
			if !errors.As(err, &got) || !errors.Is(err, strconv.ErrSyntax) {
				t.Fatalf("error %v, want a OperatorError of the function's own", err)
			}
			c.want.Err = got.Err
			if *got != c.want {
				t.Errorf("%+v, want %+v", *got, c.want)
			}
			for _, part := range []string{"parse (1/1): ", "invalid syntax", c.want.At, c.want.Element} {
				if !strings.Contains(got.Error(), part) {
					t.Errorf("error %q does not say %q", got, part)
				}
			}
		})
	}
}

func TestTheOptionForElementsIsTrueOrFalse(t *testing.T) {
	t.Parallel()
	_, err := dataflow.Compile(amounts.Name(), []byte(`"map"`), dataflow.PlanOptions{Config: map[string]string{"pipeline.errors.show-element": "ja"}})
	if err == nil || !strings.Contains(err.Error(), `pipeline.errors.show-element: "ja"`) {
		t.Errorf("error %v", err)
	}
}

// It would catch an element that is neither processed nor rejected, and one that is both.
func TestRejectedElementsGoToTheirSideOutput(t *testing.T) {
	t.Parallel()
	result := dataflowtest.Run(t, amounts, "rejecting", dataflowtest.Options{FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "1\ntwo\n3\n\n"})})
	if got, want := collected(t, result, numbers), []int{1, 3}; !slices.Equal(got, want) {
		t.Errorf("numbers %v, want %v", got, want)
	}
	want := []string{`two: strconv.Atoi: parsing "two": invalid syntax`, `: strconv.Atoi: parsing "": invalid syntax`}
	if diff := cmp.Diff(want, collected(t, result, reasons)); diff != "" {
		t.Errorf("rejected (-want +got):\n%s", diff)
	}
}

// An element that is to be rejected must not fail the job, nor disappear. It would catch a plan without a place for these elements.
func TestThePlannerRefusesRejectsWithoutAPlace(t *testing.T) {
	for name, c := range map[string]struct {
		option dataflow.Option
		want   string
	}{
		"no name":      {dataflow.RejectTo(dataflow.OutputTag[dataflow.Rejected[[]byte]]{}), "parse: option RejectTo has a tag without a name: make it with NewOutputTag"},
		"another type": {dataflow.RejectTo(dataflow.NewOutputTag[dataflow.Rejected[int]]("odd")), "parse: option RejectTo has a tag for elements of type int, and the operator takes []uint8"},
		"not taken":    {dataflow.RejectTo(notParsed), `parse: it rejects elements to the side output "not parsed", which the plan does not take: use SideOutput`},
	} {
		plans["rejects"] = func(p *dataflow.Plan) error {
			parsed := dataflow.TryMap(dataflow.ReadText(p, "/in"), func(context.Context, []byte) (int, error) { return 0, nil }, dataflow.Named("parse"), c.option)
			dataflow.Collect(parsed, numbers)
			return nil
		}
		if _, err := compile(t, "rejects", dataflow.PlanOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
}

// life records the calls of a Function.
type life struct {
	mu    sync.Mutex // guards calls
	calls []string
}

func (l *life) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, fmt.Sprintf(format, args...))
}

// lives are those of the runs of job living, by their names.
var lives sync.Map

type livingArgs struct{ Name, FailAt string }

var errLife = errors.New("not today")

// living has two operators with a life cycle. The first one joins two lines, and has one left at the end.
var living = dataflow.Job("living", func(p *dataflow.Plan, a livingArgs) error {
	pairs := dataflow.Process(dataflow.ReadText(p, "/in"), func(dataflow.Subtask) dataflow.Function[[]byte, string] {
		var kept []byte
		f := recording[[]byte](a, "first", func(line []byte, emit func(string)) {
			if kept == nil {
				kept = bytes.Clone(line)
				return
			}
			emit(string(kept) + "+" + string(line))
			kept = nil
		})
		finish := f.Finish
		f.Finish = func(ctx context.Context, emit func(string)) error {
			if kept != nil {
				emit(string(kept))
			}
			return finish(ctx, emit)
		}
		return f
	}, dataflow.Named("first"))
	second := dataflow.Process(pairs, func(dataflow.Subtask) dataflow.Function[string, string] {
		return recording[string](a, "second", func(v string, emit func(string)) { emit(v) })
	}, dataflow.Named("second"))
	dataflow.Collect(second, reasons)
	return nil
})

// recording makes a Function that records its calls, and fails at one of them.
func recording[T any](a livingArgs, name string, process func(T, func(string))) dataflow.Function[T, string] {
	found, _ := lives.Load(a.Name)
	l := found.(*life)
	step := func(call string) error {
		l.add("%s %s", name, call)
		if a.FailAt == name+" "+call {
			return errLife
		}
		return nil
	}
	return dataflow.Function[T, string]{
		Open: func(context.Context) error { return step("open") },
		Process: func(_ context.Context, v T, emit func(string)) error {
			process(v, emit)
			return step("process")
		},
		Finish: func(context.Context, func(string)) error { return step("finish") },
		Close:  func() error { return step("close") },
	}
}

// It would catch an operator that is open later than the one before it, an end that comes before the last element, an error of a
// step that is dropped, and an operator that is not closed after one.
func TestFunctionsHaveALife(t *testing.T) {
	t.Parallel()
	all := []string{
		"second open", "first open", "first process", "second process", "first process", "first process",
		"second process", "first finish", "second finish", "first close", "second close",
	}
	for _, failAt := range []string{"", "second open", "first open", "first process", "second process", "first finish", "second finish", "first close", "second close"} {
		t.Run(failAt, func(t *testing.T) {
			t.Parallel()
			l := new(life)
			name := t.Name()
			lives.Store(name, l)
			files := dataflowtest.NewFiles(map[string]string{"/in": "a\nb\nc\n"})
			result, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files}).Execute(t.Context(), living, livingArgs{name, failAt})
			var failure *dataflow.OperatorError
			switch {
			case failAt == "" && err != nil:
				t.Fatal(err)
			case failAt == "":
				if got, want := collected(t, result, reasons), []string{"a+b", "c"}; !slices.Equal(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			case !errors.Is(err, errLife) || !errors.As(err, &failure) || !strings.HasPrefix(failAt, failure.Operator):
				t.Errorf("error %v, want that of %s", err, failAt)
			}
			count := func(calls []string, call string) (n int) {
				for _, c := range calls {
					if c == call {
						n++
					}
				}
				return n
			}
			for _, name := range []string{"first", "second"} {
				if opened, closed := count(l.calls, name+" open"), count(l.calls, name+" close"); opened != closed || closed > 1 {
					t.Errorf("%s is opened %d times and closed %d times: %q", name, opened, closed, l.calls)
				}
			}
			if failAt == "" && !slices.Equal(l.calls, all) {
				t.Errorf("calls %q, want %q", l.calls, all)
			}
		})
	}
}
