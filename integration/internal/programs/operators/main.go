// Command operators executes a job with each operator of the SDK, over records of two texts. A line of a text is a key, a
// space and a number. Each line of the output begins with the name of the operator that has made it.
//
//	operators GATE OUTPUT LEFT RIGHT
//
// The records of the left text have 1 KB each, so that operators with little memory write to files.
//
// All operators do their work, but the job ends only when the file GATE appears on the machines of its tasks.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/integration/internal/programs/latch"
)

// Args are the job's arguments.
type Args struct{ Gate, Output, Left, Right string }

// Record is a line of a text.
type Record struct {
	Key   string
	Value int64
	Load  string // takes memory
}

// String leaves the load out.
func (r Record) String() string { return fmt.Sprintf("{%s %d}", r.Key, r.Value) }

// parse reads a line.
func parse(_ context.Context, line []byte) (r Record, err error) {
	key, value, _ := bytes.Cut(line, []byte(" "))
	r.Key = string(key)
	r.Value, err = strconv.ParseInt(string(value), 10, 64)
	return r, err
}

// loaded makes a record large.
func loaded(r Record) Record {
	r.Load = strings.Repeat("x", 1000)
	return r
}

// results collects the lines of all operators.
type results []dataflow.Stream[string]

// add adds lines of this name.
func add[T any](to *results, name string, from dataflow.Stream[T], words func(v T) string) {
	*to = append(*to, dataflow.Map(from, func(v T) string { return name + " " + words(v) }, dataflow.Named(name+" lines")))
}

func words(r Record) string { return fmt.Sprint(r.Key, " ", r.Value) }

func value(r Record) int64 { return r.Value }

func key(r Record) string { return r.Key }

var operators = dataflow.Job("operators", func(p *dataflow.Plan, a Args) error {
	left := dataflow.Map(dataflow.TryMap(dataflow.ReadText(p, a.Left), parse, dataflow.Named("left")), loaded)
	right := dataflow.TryMap(dataflow.ReadText(p, a.Right), parse, dataflow.Named("right"))
	var all results
	single(&all, left)
	order(&all, left)
	aggregations(&all, dataflow.KeyBy(left, key))
	pairs(&all, left, right)
	lines := dataflow.Process(dataflow.Union(all[0], all[1:]...), func(dataflow.Subtask) dataflow.Function[string, string] { return gate(a.Gate) }, dataflow.Named("gate"))
	dataflow.WriteText(lines, a.Output, func(dst []byte, line string) []byte { return append(dst, line...) })
	return nil
})

// gate keeps all lines until its input has ended and the file exists, so that no operator before it waits for the file.
func gate(file string) dataflow.Function[string, string] {
	var kept []string
	return dataflow.Function[string, string]{
		Process: func(_ context.Context, line string, _ func(string)) error {
			kept = append(kept, line)
			return nil
		},
		Finish: func(ctx context.Context, emit func(string)) error {
			if err := latch.Await(ctx, file); err != nil {
				return err
			}
			for _, line := range kept {
				emit(line)
			}
			return nil
		},
	}
}

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		args := env.Args()
		if len(args) != 4 {
			return errors.New("usage: operators GATE OUTPUT LEFT RIGHT")
		}
		_, err := env.Execute(ctx, operators, Args{args[0], args[1], args[2], args[3]})
		return err
	})
}
