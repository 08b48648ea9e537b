package dataflow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// given is a source and a sink that do what a test says.
type given struct {
	name        string
	splits      []connector.Split
	directories []string
	committable string
	fault       error // of its readers and writers
}

func (g given) String() string { return g.name }

func (g given) Enumerate(context.Context, connector.Planning) ([]connector.Split, error) {
	return g.splits, nil
}

func (g given) NewReader(context.Context, connector.Environment) (connector.Reader[int64], error) {
	return oneNumber{}, g.fault
}

func (g given) Check(context.Context, connector.Planning) ([]string, error) {
	return g.directories, nil
}

func (g given) NewWriter(context.Context, connector.Environment) (connector.Writer[int64], error) {
	return dropping(g), g.fault
}

func (g given) Commit(context.Context, connector.Environment, []string) error { return nil }

// oneNumber is a reader that gives a number and then fails. The next split cannot be opened.
type oneNumber struct{ connector.Reader[int64] }

var errBadRow = errors.New("bad row")

func (oneNumber) Open(context.Context, connector.Split, []byte) error { return nil }
func (oneNumber) Poll() (int64, bool, error) {
	return 0, false, fmt.Errorf("%w: %w", errBadRow, io.EOF)
}
func (oneNumber) Close() error { return nil }

// dropping is a writer that drops all.
type dropping given

func (d dropping) Write(int64) error                       { return nil }
func (d dropping) Prepare(context.Context) (string, error) { return d.committable, nil }
func (d dropping) Close() error                            { return nil }

// wired are the sources and the sinks of the job "wired", by test.
var wired = map[string]struct {
	from given
	to   []given
	want string
	is   error
}{
	"a split with too much data": {given{splits: []connector.Split{{Data: make([]byte, connector.MaxSplitData+1)}}}, []given{{}}, "rows: ", jobgraph.ErrInvalid},
	"outputs overlap": {
		given{},
		[]given{{directories: []string{"/a"}}, {directories: []string{"/b", "/a/c"}}},
		"output mem:///a and output mem:///a/c overlap", nil,
	},
	"an input in an output": {
		given{splits: []connector.Split{{Base: "mem:///a/", Parts: []connector.Part{{Name: "x"}}}}},
		[]given{{directories: []string{"/a"}}},
		"input mem:///a/x lies in the output mem:///a", nil,
	},
	"an input in an output, as a path": {
		given{splits: []connector.Split{{Base: "/b/", Parts: []connector.Part{{Name: "../a/x"}}}}},
		[]given{{directories: []string{"mem:///a"}}},
		"input mem:///a/x lies in the output mem:///a", nil,
	},
	"an input in an output, which is a path": {
		given{splits: []connector.Split{{Base: "mem:///c/../", Parts: []connector.Part{{Name: "a//x"}}}}},
		[]given{{directories: []string{"/b/../a/"}}},
		"input mem:///a/x lies in the output mem:///a", nil,
	},
	"the output is the input":      {given{splits: []connector.Split{{Base: "/", Parts: []connector.Part{{Name: "a"}}}}}, []given{{directories: []string{"/a"}}}, "input mem:///a lies in", nil},
	"an input of another system":   {given{splits: []connector.Split{{Base: "s3://b/", Parts: []connector.Part{{Name: "a"}}}}}, []given{{directories: []string{"/a"}}}, "", errBadRow},
	"an output on no known system": {given{}, []given{{directories: []string{"s3://b/out"}}}, "output s3://b/out: ", nil},
	"an endless committable": {
		given{},
		[]given{{committable: strings.Repeat("x", connector.MaxCommittable+1)}},
		"put the data into a file", connector.ErrCommittable,
	},
	"a committable of bytes":  {given{}, []given{{committable: "\xff"}}, "UTF-8", operator.ErrPermanent},
	"no reader":               {given{fault: errBadRow}, []given{{}}, "", errBadRow},
	"no writer":               {given{}, []given{{fault: errBadRow}}, "", errBadRow},
	"a read that fails":       {given{splits: []connector.Split{{Data: []byte("1")}}}, []given{{}}, "", errBadRow},
	"another plan each time":  {given{name: "clock"}, []given{{}}, "", dataflow.ErrNotDeterministic},
	"another plan of the end": {given{}, []given{{name: "clock"}}, "", dataflow.ErrNotDeterministic},
}

// ticks counts the plans with a clock.
var ticks int

var wiring = dataflow.Job("wired", func(p *dataflow.Plan, name string) error {
	ticking := func(g given) given {
		if g.name == "clock" {
			ticks++
			g.name = fmt.Sprint(ticks)
		}
		return g
	}
	numbers := dataflow.Read(p, connector.Source[int64](ticking(wired[name].from)), dataflow.Named("rows"))
	for i, sink := range wired[name].to {
		dataflow.Write(numbers, connector.Sink[int64](ticking(sink)), dataflow.Named(fmt.Sprint("sink ", i)))
	}
	return nil
})

// It would catch a job that begins although its source or its sink does not keep the bounds, and an error that is lost: one that
// wraps io.EOF is no end of a split.
func TestFaultsOfSourcesAndSinksFailTheJob(t *testing.T) {
	for name, c := range wired {
		_, err := dataflowtest.NewEnv(dataflowtest.Options{}).Execute(t.Context(), wiring, name)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: error %v, want one that wraps %v and says %q", name, err, c.is, c.want)
		}
	}
}

// It would catch a plan that panics because of a variable that is not set.
func TestAPlanNeedsASourceAndASink(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string]string{"nil source": "read: the source is nil", "nil sink": "write: the sink is nil"} {
		if _, err := compile(t, plan, dataflow.PlanOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", plan, err, want)
		}
	}
}
