// Grep writes the lines of text files that contain a word. It is the shortest
// complete program, which you can copy.
//
//	grep WORD INPUT OUTPUT
package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the arguments of the job. They travel with it as JSON.
type Args struct{ Word, Input, Output string }

// Grep is the job: its source, its operator and its sink.
var Grep = dataflow.Job("grep", func(p *dataflow.Plan, a Args) error {
	lines := dataflow.ReadText(p, a.Input)
	found := dataflow.Filter(lines, func(line []byte) bool {
		return bytes.Contains(line, []byte(a.Word))
	})
	dataflow.WriteText(found, a.Output, func(dst, line []byte) []byte {
		return append(dst, line...)
	})
	return nil
})

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		args := env.Args()
		if len(args) != 3 {
			return errors.New("usage: grep WORD INPUT OUTPUT")
		}
		_, err := env.Execute(ctx, Grep, Args{Word: args[0], Input: args[1], Output: args[2]})
		return err
	})
}
