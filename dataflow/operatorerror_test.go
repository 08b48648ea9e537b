package dataflow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

var errStep = errors.New("this step fails")

// brokenAt is a source and a sink with their reader and writer. One of their steps fails.
type brokenAt struct{ step string }

func (f brokenAt) at(step string) error {
	if f.step == step {
		return errStep
	}
	return nil
}

func (f brokenAt) Enumerate(context.Context, connector.Planning) ([]connector.Split, error) {
	return []connector.Split{{Data: []byte("1")}}, nil
}

func (f brokenAt) NewReader(context.Context, connector.Environment) (connector.Reader[int64], error) {
	return &brokenReader{brokenAt: f}, f.at("new reader")
}

func (f brokenAt) Check(context.Context, connector.Planning) ([]string, error) { return nil, nil }

func (f brokenAt) NewWriter(context.Context, connector.Environment) (connector.Writer[int64], error) {
	return brokenWriter{f}, f.at("new writer")
}

func (f brokenAt) Commit(context.Context, connector.Environment, []string) error {
	return f.at("commit")
}

// brokenReader gives one element.
type brokenReader struct {
	brokenAt
	given bool
}

func (r *brokenReader) Open(context.Context, connector.Split, []byte) error { return r.at("open") }

func (r *brokenReader) Poll() (element int64, found bool, err error) {
	if r.given {
		return 0, false, io.EOF
	}
	r.given = true
	return 1, true, r.at("poll")
}

func (r *brokenReader) Position(dst []byte) []byte { return dst }
func (r *brokenReader) At() string                 { return "" }
func (r *brokenReader) Close() error               { return r.at("close reader") }

type brokenWriter struct{ brokenAt }

func (w brokenWriter) Write(int64) error                       { return w.at("write") }
func (w brokenWriter) Prepare(context.Context) (string, error) { return "", w.at("prepare") }
func (w brokenWriter) Close() error                            { return w.at("close writer") }

var brokenJob = dataflow.Job("broken-at", func(p *dataflow.Plan, step string) error {
	rows := dataflow.Read(p, connector.Source[int64](brokenAt{step}), dataflow.Named("rows"))
	dataflow.Write(rows, connector.Sink[int64](brokenAt{step}), dataflow.Named("table"))
	return nil
})

// A job may have many sources and sinks, and their errors often do not say which one it was. It would catch a step whose error names
// no operator, or that of another step.
func TestErrorsOfReadersAndWritersNameTheOperator(t *testing.T) {
	t.Parallel()
	for step, operator := range map[string]string{
		"new reader": "rows", "open": "rows", "poll": "rows", "close reader": "rows",
		"new writer": "table", "write": "table", "prepare": "table", "close writer": "table", "commit": "table (commit)",
	} {
		_, err := dataflowtest.NewEnv(dataflowtest.Options{}).Execute(t.Context(), brokenJob, step)
		var failure *dataflow.OperatorError
		if !errors.Is(err, errStep) || !errors.As(err, &failure) {
			t.Errorf("%s: error %v, want an OperatorError with the cause", step, err)
			continue
		}
		want := dataflow.OperatorError{Operator: operator, Parallelism: 1, Err: errStep}
		if *failure != want {
			t.Errorf("%s: %s, want %s", step, fmt.Sprintf("%+v", *failure), operator)
		}
	}
}
