// Wordcount-tuned does what examples/wordcount does, in less time: it allocates no
// memory for a word. The benchmarks run it.
//
//	wordcount-tuned --input URI [--output URI [--overwrite]]
//
// job.go holds the job.
package main

import (
	"context"
	"errors"
	"flag"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		var args Args
		flags := flag.NewFlagSet("wordcount-tuned", flag.ContinueOnError)
		flags.StringVar(&args.Input, "input", "", "the text: a file, a directory or a glob")
		flags.StringVar(&args.Output, "output", "", "the directory for the counts")
		flags.BoolVar(&args.Overwrite, "overwrite", false, "replace an output that exists")
		if err := flags.Parse(env.Args()); err != nil {
			return err
		}
		if args.Input == "" || flags.NArg() > 0 {
			return errors.New("usage: wordcount-tuned --input URI [--output URI [--overwrite]]")
		}
		_, err := env.Execute(ctx, WordCount, args)
		return err
	})
}
