// Command repeat executes a job that counts the lines of a text, many times, one after the other.
//
//	repeat TIMES INPUT
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

var count = dataflow.Job("count-lines", func(p *dataflow.Plan, input string) error {
	lines := dataflow.Filter(dataflow.ReadText(p, input), func([]byte) bool { return true }, dataflow.CountAs("lines"))
	dataflow.Print(lines, func(dst, line []byte) []byte { return append(dst, line...) })
	return nil
})

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		args := env.Args()
		if len(args) != 2 {
			return errors.New("usage: repeat TIMES INPUT")
		}
		times, err := strconv.Atoi(args[0])
		if err != nil {
			return fmt.Errorf("TIMES is %q: want a number", args[0])
		}
		for range times {
			if _, err := env.Execute(ctx, count, args[1]); err != nil {
				return err
			}
		}
		return nil
	})
}
