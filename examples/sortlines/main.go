// Sortlines sorts the lines of text files. The parts of the output follow each other, so their concatenation is sorted.
//
//	sortlines INPUT OUTPUT
package main

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the arguments of the job. They travel with it as JSON.
type Args struct{ Input, Output string }

// SortLines is the job.
var SortLines = dataflow.Job("sortlines", func(p *dataflow.Plan, a Args) error {
	lines := dataflow.ReadText(p, a.Input)
	dataflow.WriteText(dataflow.Sort(lines, dataflow.Identity), a.Output, appendLine)
	return nil
})

func appendLine(dst, line []byte) []byte { return append(dst, line...) }

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		args := env.Args()
		if len(args) != 2 {
			return errors.New("usage: sortlines INPUT OUTPUT")
		}
		_, err := env.Execute(ctx, SortLines, Args{Input: args[0], Output: args[1]})
		return err
	})
}
