// Command clicks collects clicks of each user, from lines of a user and a page. If one user has most of the clicks, one
// subtask gets most of the data and has most of the work: long lists take long to join.
//
//	clicks [-times N] [-panic N] INPUT OUTPUT
//
// With -times, each line counts N times. With -panic, the second subtask that reads panics at its Nth line.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the job's arguments.
type Args struct {
	Input, Output string
	Times, Panic  int
}

// A click with its details has clickSize bytes, and a user's list has mostListed at most. To join two lists of longList takes
// joinTime: only a user with many clicks in each part of the input has such lists. Lists are joined before the exchange, too,
// until all lists together have some 4 MB. So a frequent user is no more records than the others, but more bytes.
const (
	clickSize  = 16 << 10
	mostListed = 3 << 20
	longList   = 512 << 10
	joinTime   = time.Second
)

var clicks = dataflow.Job("clicks by user", func(p *dataflow.Plan, a Args) error {
	lines := dataflow.ReadText(p, a.Input)
	parsed := dataflow.FlatMapWith(lines, a.parse, dataflow.Named("parse clicks"))
	lists := dataflow.Reduce(dataflow.KeyBy(parsed, user), join, dataflow.Named("clicks of each user"))
	dataflow.WriteText(lists, a.Output, func(dst []byte, kv dataflow.KV[[]byte, []byte]) []byte {
		return append(append(append(dst, kv.Key...), '\t'), kv.Value...)
	})
	return nil
})

// parse makes the clicks of a line.
func (a Args) parse(s dataflow.Subtask) func([]byte, func([]byte)) {
	odd, n := s.Counter("odd lines"), 0
	return func(line []byte, emit func([]byte)) {
		if n++; n%10 == 0 {
			odd.Add(1)
		}
		if n == a.Panic && s.Index() == 1 {
			amountOf(line)
		}
		for range a.Times {
			emit(append(append(make([]byte, 0, clickSize), line...), bytes.Repeat([]byte(" "), max(1, clickSize-len(line)))...))
		}
	}
}

// amountOf reads a field that no line has.
func amountOf(line []byte) int { return len(bytes.Fields(line)[len(line)]) }

func user(line []byte) []byte {
	name, _, _ := bytes.Cut(line, []byte(" "))
	return name
}

// join joins two lists of clicks.
func join(list, more []byte) []byte {
	if len(list) >= longList && len(more) >= longList {
		compare(list, more)
	}
	room := max(0, mostListed-len(list))
	return append(list, more[:min(len(more), room)]...)
}

// compare is the function that makes the job slow.
func compare(_, _ []byte) {
	time.Sleep(joinTime) //nolint:forbidigo // slowness is what it is for
}

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		flags := flag.NewFlagSet("clicks", flag.ContinueOnError)
		times := flags.Int("times", 1, "count each line `N` times")
		panics := flags.Int("panic", 0, "let the second subtask panic at its `N`th line")
		if err := flags.Parse(env.Args()); err != nil {
			return err
		}
		if flags.NArg() != 2 {
			return errors.New("usage: clicks [-times N] [-panic N] INPUT OUTPUT")
		}
		_, err := env.Execute(ctx, clicks, Args{flags.Arg(0), flags.Arg(1), *times, *panics})
		return err
	})
}
