// Wordcount counts how often each word occurs in text files. Read this program
// first, and copy it to begin your own. If you start it, it runs in its own process;
// `bobbin run -t yarn-per-job` runs it on YARN.
//
// job.go holds the job, flags.go the command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

func main() { bobbin.Main(drive) }

// drive is the driver. It runs once, in any mode.
func drive(ctx context.Context, env *dataflow.Env) error {
	args, err := parse(env.Args())
	if errors.Is(err, errHelp) {
		_, err := fmt.Print(usage)
		return err
	}
	if err != nil {
		return err
	}
	result, err := env.Execute(ctx, WordCount, args)
	if err != nil || result.Detached {
		return err
	}
	_, err = fmt.Fprintf(os.Stderr, "%d words, %d of them distinct, counted in %v\n",
		result.Counters["words"], result.Counters["distinct"], result.Duration.Round(time.Millisecond))
	return err
}
