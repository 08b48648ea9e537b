package dataflow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

var errAggregate = errors.New("it does not add up")

// failing has an aggregator of which one function fails.
var failing = dataflow.Job("failing", func(p *dataflow.Plan, function string) error {
	fail := func(name string) error {
		if name == function {
			return errAggregate
		}
		return nil
	}
	byLine := dataflow.KeyBy(dataflow.ReadText(p, "/in"), toString)
	sizes := dataflow.TryAggregate(byLine, dataflow.TryAggregator[[]byte, int, int64]{
		Add:    func(_ context.Context, n int, line []byte) (int, error) { return n + len(line), fail("add") },
		Merge:  func(_ context.Context, a, b int) (int, error) { return a + b, fail("merge") },
		Result: func(_ context.Context, n int) (int64, error) { return int64(n), fail("result") },
	}, dataflow.Named("sizes"))
	dataflow.Collect(sizes, counted)
	return nil
})

// It would catch an error that is dropped, and one that does not say where it was, or of which key.
func TestAnAggregatorMayFail(t *testing.T) {
	t.Parallel()
	const lines = 30_000
	var b strings.Builder
	for i := range 2 * lines { // each key leaves the table before the exchange, and comes again
		fmt.Fprintln(&b, 100_000+i%lines)
	}
	for function, where := range map[string]string{"add": "sizes (combine)", "merge": "sizes", "result": "sizes", "": ""} {
		env := dataflowtest.NewEnv(dataflowtest.Options{
			FileSystem: dataflowtest.NewFiles(map[string]string{"/in": b.String()}), Memory: 1 << 20, LocalDirs: []string{t.TempDir()},
			Config: map[string]string{"pipeline.errors.show-element": "true"},
		})
		result, err := env.Execute(t.Context(), failing, function)
		if function == "" {
			if err != nil {
				t.Fatal(err)
			}
			if got := asMap(t, result, counted); len(got) != lines || got["100007"] != 12 {
				t.Errorf("%d keys, and %d bytes of one", len(got), got["100007"])
			}
			continue
		}
		var failure *dataflow.OperatorError
		if !errors.Is(err, errAggregate) || !errors.As(err, &failure) || failure.Operator != where {
			t.Fatalf("%s: error %v, want that of the function in %s", function, err, where)
		}
		if function == "add" && (!strings.HasPrefix(failure.At, "reading mem:///in, the line at byte ") || len(failure.Element) != len(`"100000"`)) {
			t.Errorf("the error of an element is %+v", failure)
		}
		if function != "add" && (len(failure.Key) != len(`"100000"`) || !strings.Contains(failure.Error(), "; the key: "+failure.Key)) {
			t.Errorf("the error of a key is %+v", failure)
		}
	}
}
