// Command bench measures the waits and costs of Bobbin's users on a real HDFS and YARN, which it
// starts: the time of commands and jobs, and their memory and processor time. It prints a page of
// Markdown. It asserts nothing; people compare the numbers.
//
//	bench [-only cold,tiny,memory,workers,wordcount,sort,join,group,spilling,calls,processes,protected,asks,streams,nodes,session,
//	      viewers,files,submit,failover,scale,metrics,exchange] [-runs N] [-calls N] [-size MIB] [-smallest] [-growth] [-manifold] [-flink DIR] [-o FILE]
//
// scripts/bench builds what it needs and runs it. Its only goroutines watch processes, and end with
// these processes, or look at the page, and end with their measurement.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// section is one part of the page.
type section struct {
	name    string
	measure func(context.Context, *rig) (table, error)
	alone   bool // it needs no cluster, and of the rig only programs and limits
}

func sections() []section {
	return []section{
		{name: "cold", measure: coldStart},
		{name: "tiny", measure: tinyJob},
		{name: "memory", measure: residentMemory},
		{name: "workers", measure: startWorkers},
		{name: "wordcount", measure: wordCount},
		{name: "sort", measure: sortLines},
		{name: "join", measure: joinLines},
		{name: "group", measure: groupLines},
		{name: "spilling", measure: spilling},
		{name: "calls", measure: rpcCallers},
		{name: "processes", measure: rpcProcesses},
		{name: "protected", measure: protectedCalls},
		{name: "asks", measure: manyAsks},
		{name: "streams", measure: manyStreams, alone: true},
		{name: "nodes", measure: startThousands},
		{name: "session", measure: sessionJobs},
		{name: "viewers", measure: pageViewers},
		{name: "files", measure: manySmallFiles},
		{name: "submit", measure: submissions},
		{name: "failover", measure: failovers},
		{name: "scale", measure: thousandsOfWorkers, alone: true},
		{name: "metrics", measure: measuringCosts, alone: true},
		{name: "exchange", measure: exchangeAlone, alone: true},
	}
}

// options are the command's flags.
type options struct {
	bin      string   // directory of the binaries
	only     []string // names of sections; all if empty
	runs     int      // maximum for each measurement; 0: its default
	calls    int      // maximum for each run with calls; 0: its default
	size     int      // MiB that a large job reads, and a run of the exchange moves; 0: defaultSize
	smallest bool     // also find the smallest workers of large jobs
	growth   bool     // also run sorts, joins and groups on larger inputs
	manifold bool     // also sort an input that is far larger than a worker
	flink    string   // Flink's distribution, to measure beside Bobbin; "": none
	file     string   // file for the page, or for its measured sections, beside stdout; "": none
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.bin, "bin", "bin", "`directory` of the programs that scripts/bench has built")
	flags.IntVar(&o.runs, "runs", 0, "maximum `number` of runs of each measurement; 0 for its default")
	flags.IntVar(&o.calls, "calls", 0, "maximum `number` of calls in a run; 0 for its default")
	flags.IntVar(&o.size, "size", defaultSize, "`MiB` that a large job reads, and a run of the exchange moves")
	flags.BoolVar(&o.smallest, "smallest", false, "also find the smallest worker with which a large job finishes; takes a quarter of an hour")
	flags.BoolVar(&o.growth, "growth", false, "also sort, join and group 2 and 4 times the size, without Flink")
	flags.BoolVar(&o.manifold, "manifold", false, "also sort 10 times the size in workers of 1 GB")
	flags.StringVar(&o.flink, "flink", "", "`directory` of Flink's distribution, to measure it beside Bobbin")
	flags.StringVar(&o.file, "o", "", "`file` to write the page to, section by section; with -only, only those sections are replaced")
	flags.Func("only", "measure only these `sections`, of "+strings.Join(names, ","), func(list string) error {
		o.only = strings.Split(list, ",")
		for _, name := range o.only {
			if !slices.Contains(names, name) {
				return fmt.Errorf("no section is named %q", name)
			}
		}
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.size < 1 {
		return o, fmt.Errorf("-size %d: want at least 1 MiB", o.size)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	return o, nil
}

// run runs the command. The exit code is 0, or 1 with the reason on stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = bench(ctx, o, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// bench starts a cluster with room for 50 workers, unless no section needs it, measures on it and
// prints the page.
func bench(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	log := logrus.New()
	log.SetOutput(stderr)
	if err := checkKept(o.file); err != nil {
		return err
	}
	m, err := lookAtMachine()
	if err != nil {
		return err
	}
	e := edition{machine: m, sections: chosen(o.only), whole: len(o.only) == 0, file: o.file, log: log}
	if !slices.ContainsFunc(e.sections, func(s section) bool { return !s.alone }) {
		r, err := newLimits(o)
		if err != nil {
			return err
		}
		return e.publish(ctx, r, stdout)
	}
	log.Info("starting a cluster")
	hadoop, err := cluster.Start(ctx, cluster.Config{
		Version: os.Getenv(cluster.VersionVariable), MemoryMB: 16 << 10, VCores: 128, Users: []string{user}, YARN: o.yarn(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hadoop.Close()) }()
	r, err := newRig(ctx, o, hadoop)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	e.hadoop = hadoop.Version()
	return e.publish(ctx, r, stdout)
}

// yarn returns YARN's properties that are not those of the harness.
func (o options) yarn() map[string]string {
	if !o.smallest {
		return nil
	}
	return map[string]string{"yarn.scheduler.minimum-allocation-mb": strconv.Itoa(smallestStep)}
}

// chosen returns the sections with these names, in the order of the page, or all sections if there
// are no names.
func chosen(names []string) []section {
	return slices.DeleteFunc(sections(), func(s section) bool { return len(names) > 0 && !slices.Contains(names, s.name) })
}
