// Wordcount counts how often each word occurs in text files. Read this program
// first, and copy it to begin your own. If you start it, it runs in its own process;
// `bobbin run -t yarn-per-job` runs it on YARN.
//
//	wordcount --input URI [--output URI [--overwrite]]
//
// It prints the counts if there is no output. A path without a scheme is on the
// default file system of the Hadoop configuration. Without a configuration it is on
// the local disk.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the arguments of the job. They travel with it as JSON.
type Args struct {
	Input, Output string
	Overwrite     bool
}

// WordCount is the job: its source, its operators and its sink.
var WordCount = dataflow.Job("wordcount", func(p *dataflow.Plan, a Args) error {
	lines := dataflow.ReadText(p, a.Input)
	words := dataflow.FlatMap(lines, eachWord, dataflow.Named("words"), dataflow.CountAs("words"))
	byWord := dataflow.KeyBy(words, dataflow.Identity)
	counts := dataflow.Count(byWord, dataflow.Named("count"), dataflow.CountAs("distinct"))
	switch {
	case a.Output == "":
		dataflow.Print(counts, tabSeparated)
	case a.Overwrite:
		dataflow.WriteText(counts, a.Output, tabSeparated, dataflow.Overwrite())
	default:
		dataflow.WriteText(counts, a.Output, tabSeparated)
	}
	return nil
})

// eachWord emits the words of a line in lower case: runs of letters, digits and "_".
func eachWord(line []byte, emit func(string)) {
	for _, word := range strings.FieldsFunc(string(line), isBetweenWords) {
		emit(strings.ToLower(word))
	}
}

func isBetweenWords(c rune) bool {
	return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}

// tabSeparated formats an output line: the word, a tab, its count.
func tabSeparated(dst []byte, count dataflow.KV[string, int64]) []byte {
	return fmt.Appendf(dst, "%s\t%d", count.Key, count.Value)
}

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		var args Args
		flags := flag.NewFlagSet("wordcount", flag.ContinueOnError)
		flags.StringVar(&args.Input, "input", "", "the text: a file, a directory or a glob")
		flags.StringVar(&args.Output, "output", "", "the directory for the counts")
		flags.BoolVar(&args.Overwrite, "overwrite", false, "replace an output that exists")
		if err := flags.Parse(env.Args()); err != nil {
			return err
		}
		if args.Input == "" || flags.NArg() > 0 {
			return errors.New("usage: wordcount --input URI [--output URI [--overwrite]]")
		}
		_, err := env.Execute(ctx, WordCount, args)
		return err
	})
}
