// Command several executes several jobs, one after the other. Each job copies the lines of the job
// before it that contain the next word, and the driver prints their number.
//
//	several INPUT OUTPUT WORD…
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the arguments of one job.
type Args struct{ Word, Input, Output string }

var sift = dataflow.Job("sift", func(p *dataflow.Plan, a Args) error {
	lines := dataflow.Filter(dataflow.ReadText(p, a.Input), func(line []byte) bool {
		return bytes.Contains(line, []byte(a.Word))
	}, dataflow.CountAs("found"))
	dataflow.WriteText(lines, a.Output, func(dst, line []byte) []byte { return append(dst, line...) })
	return nil
})

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		args := env.Args()
		if len(args) < 3 {
			return errors.New("usage: several INPUT OUTPUT WORD…")
		}
		input := args[0]
		for i, word := range args[2:] {
			output := fmt.Sprintf("%s-%d", args[1], i+1)
			result, err := env.Execute(ctx, sift, Args{Word: word, Input: input, Output: output})
			if err != nil {
				return err
			}
			fmt.Printf("%d lines hold %s\n", result.Counters["found"], word)
			input = output
		}
		return nil
	})
}
