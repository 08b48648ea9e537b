// Command dawdle counts the lines of a text by their first word. It is slow until a file, the gate,
// appears on its machine, so that a test can act on a running job and then let it end. Every task
// prints a line when it starts, and has metrics of all kinds of its lines.
//
//	dawdle [-before DIR] [-late LATE] [-pause D] [-repeat N] [-toys N] GATE OUTPUT INPUT…
//
// While the gate is closed, each line takes the pause. A user's function does not learn of a
// cancellation; the task ends after its current line. With -repeat, dawdle writes each line N times
// instead of counting, so that it writes as long as it reads. With -toys, the gate and the counts are in slot sharing
// groups of different sizes, and each slot of the counts has N of the external resource toys. With -before, dawdle first
// executes the same job at once, with its output in DIR. With -late, the lines go to other tasks behind the gate. These
// take all of them at once, and end when the file LATE appears.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/integration/internal/programs/latch"
)

// Args are the job's arguments.
type Args struct {
	Gate   string
	Output string
	Input  []string
	Pause  time.Duration
	Repeat int    // 0: count
	Toys   int64  // 0: no slot sharing groups
	Late   string // the second gate; "": none
}

var dawdle = dataflow.Job("dawdle", func(p *dataflow.Plan, a Args) error {
	var reading, counting []dataflow.Option
	if a.Toys > 0 {
		reading = append(reading, dataflow.InGroup(dataflow.SlotSharingGroup("gate", dataflow.Resources{CPU: 1, TaskHeap: 40 << 20})))
		counting = append(counting, dataflow.InGroup(dataflow.SlotSharingGroup("count", dataflow.Resources{
			CPU: 1, TaskHeap: 200 << 20, Managed: 40 << 20, External: map[string]int64{"toys": a.Toys},
		})))
	}
	lines := dataflow.ReadTextWith(p, a.Input, reading...)
	passed := dataflow.FlatMapWith(lines, func(s dataflow.Subtask) func([]byte, func([]byte)) {
		fmt.Printf("task %d of %d starts\n", s.Index()+1, s.Parallelism())
		return gate(a.Gate, a.Pause, s)
	}, dataflow.Named("gate"), dataflow.CountAs("lines"))
	if a.Late != "" {
		passed = dataflow.Process(dataflow.Rebalance(passed), func(dataflow.Subtask) dataflow.Function[[]byte, []byte] { return held(a.Late) }, dataflow.Named("late gate"))
	}
	if a.Repeat > 0 {
		dataflow.WriteText(passed, a.Output, func(dst []byte, line []byte) []byte {
			return append(dst, bytes.Repeat(line, a.Repeat)...)
		})
		return nil
	}
	counts := dataflow.Count(dataflow.KeyBy(passed, firstWord), counting...)
	dataflow.WriteText(counts, a.Output, func(dst []byte, kv dataflow.KV[[]byte, int64]) []byte {
		return strconv.AppendInt(append(append(dst, kv.Key...), '\t'), kv.Value, 10)
	})
	return nil
})

// gate passes lines on, slowly until the file exists.
func gate(file string, pause time.Duration, s dataflow.Subtask) func(line []byte, emit func([]byte)) {
	length, passed, lengths := s.Gauge("length"), s.Meter("passed"), s.Histogram("lengths") // CountAs is the counter
	open := false
	return func(line []byte, emit func([]byte)) {
		if !open {
			_, err := os.Stat(file)
			if open = err == nil; !open {
				time.Sleep(pause) //nolint:forbidigo // slowness is what it is for
			}
		}
		length.Set(float64(len(line)))
		passed.Mark(1)
		lengths.Update(float64(len(line)))
		emit(line)
	}
}

// held passes lines on, and ends when the file exists.
func held(file string) dataflow.Function[[]byte, []byte] {
	return dataflow.Function[[]byte, []byte]{
		Process: func(_ context.Context, line []byte, emit func([]byte)) error {
			emit(line)
			return nil
		},
		Finish: func(ctx context.Context, _ func([]byte)) error { return latch.Await(ctx, file) },
	}
}

func firstWord(line []byte) []byte {
	word, _, _ := bytes.Cut(line, []byte(" "))
	return word
}

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		flags := flag.NewFlagSet("dawdle", flag.ContinueOnError)
		pause := flags.Duration("pause", 200*time.Millisecond, "time to wait at each line while the gate is closed")
		repeat := flags.Int("repeat", 0, "write each line `N` times")
		before := flags.String("before", "", "first execute the job with an open gate, with its output in `DIR`")
		late := flags.String("late", "", "have a second gate, the file `LATE`, behind an exchange")
		toys := flags.Int64("toys", 0, "have slot sharing groups, one with `N` toys in each slot")
		if err := flags.Parse(env.Args()); err != nil {
			return err
		}
		args := flags.Args()
		if len(args) < 3 {
			return fmt.Errorf("usage: dawdle GATE OUTPUT INPUT…, got %d arguments", len(args))
		}
		job := Args{Gate: args[0], Output: args[1], Input: args[2:], Pause: *pause, Repeat: *repeat, Toys: *toys, Late: *late}
		if *before != "" {
			first := job
			first.Gate, first.Output = "/", *before // it exists
			result, err := env.Execute(ctx, dawdle, first)
			if err != nil {
				return err
			}
			fmt.Printf("the first job is done: lines=%d\n", result.Counters["lines"])
		}
		result, err := env.Execute(ctx, dawdle, job)
		if err != nil {
			return err
		}
		fmt.Printf("the driver goes on: detached=%t lines=%d\n", result.Detached, result.Counters["lines"])
		return nil
	})
}
