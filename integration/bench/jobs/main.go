// Jobs runs one of three large jobs on lines of text that begin with a key. The benchmarks run it beside Flink's BatchData.
//
//	jobs sort INPUT OUTPUT        sorts the lines by their keys
//	jobs join LEFT RIGHT OUTPUT   joins the lines of two inputs that have the same key
//	jobs group INPUT OUTPUT       counts the lines of each key
//
// A key is the first ten bytes of its line.
package main

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

func main() { bobbin.Main(drive) }

var errUsage = errors.New("usage: jobs sort INPUT OUTPUT | jobs join LEFT RIGHT OUTPUT | jobs group INPUT OUTPUT")

// drive is the driver. It runs once, in any mode.
func drive(ctx context.Context, env *dataflow.Env) (err error) {
	args := env.Args()
	if len(args) == 0 {
		return errUsage
	}
	switch kind, paths := args[0], args[1:]; {
	case kind == "sort" && len(paths) == 2:
		_, err = env.Execute(ctx, Sort, OneInput{paths[0], paths[1]})
	case kind == "join" && len(paths) == 3:
		_, err = env.Execute(ctx, Join, TwoInputs{paths[0], paths[1], paths[2]})
	case kind == "group" && len(paths) == 2:
		_, err = env.Execute(ctx, Group, OneInput{paths[0], paths[1]})
	default:
		err = errUsage
	}
	return err
}
