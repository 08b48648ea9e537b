// Command weave executes a wide and deep job that does little, for tests of pages with many vertices. Its text passes through
// several columns of steps at a time, and each step is a vertex of its own.
//
//	weave [-pause D] COLUMNS ROWS INPUT OUTPUT
//
// With -pause, each line of the text waits so long before it is woven.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the job's arguments.
type Args struct {
	Columns, Rows int
	Input, Output string
	Pause         time.Duration
}

const (
	// odd and even are the parallelisms of rows: steps of different parallelism are not chained.
	odd, even = 9, 11
	// knots take a core about ten milliseconds for each line.
	knots = 200_000
)

var weave = dataflow.Job("weave", func(p *dataflow.Plan, a Args) error {
	text := dataflow.ReadText(p, a.Input)
	if a.Pause > 0 {
		text = dataflow.Map(text, func(line []byte) []byte {
			time.Sleep(a.Pause) //nolint:forbidigo // slowness is what it is for
			return line
		}, dataflow.Named("pause"))
	}
	columns := make([]dataflow.Stream[[]byte], a.Columns)
	for c := range columns {
		columns[c] = text
		for r := range a.Rows {
			parallelism := odd
			if r%2 == 1 {
				parallelism = even
			}
			columns[c] = dataflow.Map(columns[c], tie, dataflow.Named(fmt.Sprintf("column %d row %d", c+1, r+1)), dataflow.Parallelism(parallelism))
		}
	}
	dataflow.WriteText(dataflow.Union(columns[0], columns[1:]...), a.Output, func(dst, line []byte) []byte { return append(dst, line...) })
	return nil
})

// tie is busy for a while with each line.
//
//go:noinline
func tie(line []byte) []byte {
	sum := sha256.Sum256(line)
	for range knots {
		sum = sha256.Sum256(sum[:])
	}
	return fmt.Appendf(nil, "%x", sum)
}

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		flags := flag.NewFlagSet("weave", flag.ContinueOnError)
		pause := flags.Duration("pause", 0, "time to wait at each line")
		if err := flags.Parse(env.Args()); err != nil {
			return err
		}
		args := flags.Args()
		if len(args) != 4 {
			return fmt.Errorf("usage: weave [-pause D] COLUMNS ROWS INPUT OUTPUT, got %d arguments", len(args))
		}
		a := Args{Input: args[2], Output: args[3], Pause: *pause}
		for i, number := range []*int{&a.Columns, &a.Rows} {
			var err error
			if *number, err = strconv.Atoi(args[i]); err != nil || *number < 1 {
				return fmt.Errorf("argument %d is %q: want a number above 0", i+1, args[i])
			}
		}
		_, err := env.Execute(ctx, weave, a)
		return err
	})
}
