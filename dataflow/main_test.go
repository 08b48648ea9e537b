package dataflow_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// planned is a job whose plan a test names in its arguments, because package
// variables must hold all jobs.
var planned = dataflow.Job("planned", func(p *dataflow.Plan, name string) error {
	return plans[name](p)
})

// compile plans one of plans.
func compile(t testing.TB, plan string, o dataflow.PlanOptions) (*dataflow.Compiled, error) {
	t.Helper()
	args, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return dataflow.Compile(planned.Name(), args, o)
}

type pair = dataflow.KV[string, int64]

func words(line []byte, emit func([]byte)) {
	for word := range strings.FieldsSeq(string(line)) {
		emit([]byte(word))
	}
}

func toString(v []byte) string { return string(v) }

func text(dst, v []byte) []byte { return append(dst, v...) }

func number(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

func double(n int64) int64 { return 2 * n }

func parse(line []byte) int64 {
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func countText(dst []byte, c dataflow.KV[[]byte, int64]) []byte {
	return number(append(append(dst, c.Key...), '='), c.Value)
}

func sorted[T cmp.Ordered](elements []T) []T {
	slices.Sort(elements)
	return elements
}

// outputLines returns the lines of all parts of an output directory in memory.
func outputLines(files map[string]string, dir string) []string {
	var all []string
	for name, content := range files {
		if strings.HasPrefix(name, dir+"/part-") {
			all = append(all, strings.Split(strings.TrimSuffix(content, "\n"), "\n")...)
		}
	}
	all = slices.DeleteFunc(all, func(line string) bool { return line == "" })
	return sorted(all)
}
