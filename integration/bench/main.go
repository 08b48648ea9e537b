// Command bench measures what a user of Bobbin waits for and pays for, on a real
// HDFS and YARN that it starts: how long commands and jobs take, and what memory
// and processor time. It prints a page of Markdown. Nothing is asserted; numbers
// are for people to compare.
//
//	bench [-only cold,tiny,memory,workers,large,calls,processes,protected,asks,session,files,submit]
//	      [-runs N] [-calls N] [-flink DIR] [-o FILE]
//
// scripts/bench builds what it needs and runs it. It starts no goroutines but
// those that watch processes, which end with what they watch.
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
}

func sections() []section {
	return []section{
		{"cold", coldStart},
		{"tiny", tinyJob},
		{"memory", residentMemory},
		{"workers", startWorkers},
		{"large", largeJob},
		{"calls", rpcCallers},
		{"processes", rpcProcesses},
		{"protected", protectedCalls},
		{"asks", manyAsks},
		{"session", sessionJobs},
		{"files", manySmallFiles},
		{"submit", submissions},
	}
}

// options are the command line's.
type options struct {
	bin   string   // directory with the binaries
	only  []string // names of sections; all if empty
	runs  int      // at most, of each measurement; 0 for as many as it should have
	calls int      // at most, of a run of those that make calls; 0 for as many as it should have
	flink string   // Flink's distribution, to measure beside Bobbin; "" for none
	file  string   // where the page, or its measured sections, go beside stdout; "" for nowhere
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
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	return o, nil
}

// run is the program: exit code 0, or 1 with the reason on stderr.
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

// bench starts a cluster with room for 50 workers, measures on it and prints the
// page.
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
	log.Info("starting a cluster")
	hadoop, err := cluster.Start(ctx, cluster.Config{
		Version: os.Getenv(cluster.VersionVariable), MemoryMB: 16 << 10, VCores: 128, Users: []string{user},
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
	e := edition{machine: m, hadoop: hadoop.Version(), sections: chosen(o.only), whole: len(o.only) == 0, file: o.file, log: log}
	return e.publish(ctx, r, stdout)
}

// chosen are the sections of those names, in the order of the page; all where none is named.
func chosen(names []string) []section {
	return slices.DeleteFunc(sections(), func(s section) bool { return len(names) > 0 && !slices.Contains(names, s.name) })
}
