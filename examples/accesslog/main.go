// Accesslog reports on the access logs of web servers. The program has several
// outputs, a type of its own, metrics, and a result that the driver collects.
// docs/write-a-job.md explains it.
//
//	accesslog [-without NAME] OUTPUT LOGS
//
// With -without it leaves out the hosts that are listed in the cached file NAME
// (option pipeline.cached-files).
//
// job.go holds the job, request.go its type.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

func main() { bobbin.Main(drive) }

// drive is the driver. It runs once, in any mode.
func drive(ctx context.Context, env *dataflow.Env) error {
	flags := flag.NewFlagSet("accesslog", flag.ContinueOnError)
	without := flags.String("without", "", "leave out the hosts in the cached file `NAME`")
	if err := flags.Parse(env.Args()); err != nil {
		return err
	}
	args := flags.Args()
	if len(args) < 2 {
		return errors.New("usage: accesslog [-without NAME] OUTPUT LOGS")
	}
	result, err := env.Execute(ctx, Report, Args{Output: args[0], Logs: args[1:], Without: *without})
	if err != nil || result.Detached {
		return err
	}
	statuses, err := dataflow.Collected(result, Statuses)
	if err != nil {
		return err
	}
	slices.SortFunc(statuses, func(a, b dataflow.KV[int, int64]) int { return cmp.Compare(a.Key, b.Key) })
	for _, status := range statuses {
		fmt.Printf("%d\t%d\n", status.Key, status.Value)
	}
	fmt.Printf("%d requests, %d malformed lines\n", result.Counters["requests"], result.Counters["malformed"])
	return nil
}
