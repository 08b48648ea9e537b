package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/filelock"
	"github.com/bobbin-yarn/bobbin/internal/testing/longtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the command at once
	code := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the command's flags.
type options struct {
	only    *regexp.Regexp // names of suites
	extent  extent
	lanes   int
	out     string
	verbose bool
	list    bool
}

const (
	lanesByDefault = 4 // one of them for the unit tests, as long as there are some
	// Time limits of a suite, against tests that hang. Waits end shortly before, and name what they waited for.
	limit     = 40 * time.Minute
	longLimit = 150 * time.Minute
)

// start runs the command. The exit code is 0 if all tests passed, 1 if not, and 2 after a wrong call.
func start(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 2
	}
	good, err := o.run(ctx, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
	}
	if err != nil || !good {
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("testrun", flag.ContinueOnError)
	flags.SetOutput(stderr)
	if longtest.Is() {
		o.extent = long
	}
	flags.IntVar(&o.lanes, "lanes", lanesByDefault, "run this `NUMBER` of suites at a time")
	flags.StringVar(&o.out, "out", filepath.Join("out", "test"), "`FOLDER` for the tests' programs and logs")
	flags.BoolVar(&o.verbose, "v", false, "print all events as they come")
	flags.BoolVar(&o.list, "list", false, "list the suites and run none")
	flags.Func("extent", "run this `PART` of the tests: short, what tells most in ten minutes; rest, what a short run leaves out; long, all tests with those that take minutes", o.extent.set)
	only := flags.String("only", "", "run only suites whose names match `REGEXP`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	if o.lanes < 1 || flags.NArg() > 0 {
		return o, fmt.Errorf("want -lanes of at least 1 and no arguments, got %d and %q", o.lanes, flags.Args())
	}
	return o, nil
}

// chosen returns the suites to run.
func (o options) chosen(ctx context.Context) ([]suite, error) {
	all, err := packages(ctx)
	if err != nil {
		return nil, err
	}
	chosen := o.extent.of(append(unit(all), integration(all, o.extent == long)...))
	chosen = slices.DeleteFunc(chosen, func(s suite) bool { return !o.only.MatchString(s.name) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no suite has a name that matches %s", o.only)
	}
	for _, s := range chosen {
		if len(s.packages) == 0 {
			return nil, fmt.Errorf("suite %s has no package with tests", s.name)
		}
	}
	return chosen, nil
}

func (o options) run(ctx context.Context, stdout, stderr io.Writer) (good bool, err error) {
	began := time.Now()
	list, err := o.chosen(ctx)
	if err != nil {
		return false, err
	}
	if o.list {
		for _, s := range list {
			fmt.Fprintln(stdout, s.name, s.clusters)
		}
		return true, nil
	}
	out, err := filepath.Abs(o.out)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return false, err
	}
	unlock, err := filelock.Exclusive(ctx, filepath.Join(out, "lock")) // another run would replace its programs
	if err != nil {
		return false, err
	}
	defer unlock()
	r, end, err := o.prepare(ctx, out, list, stdout)
	if err != nil {
		return false, err
	}
	if o.verbose {
		r.verbose = stderr
	}
	done, err := r.all(ctx, list, o.lanes)
	err = errors.Join(err, end())
	figures, _ := os.ReadFile(filepath.Join(r.dir, "figures")) // it does not exist if no test has measured anything
	// Suites of our own processes fail with their races. This finds the races of other processes, and races after the
	// end of a suite.
	races, e := clusters.Races(r.dir)
	err = errors.Join(err, e)
	good = summary{outcomes: done, extent: o.extent, took: time.Since(began), figures: string(figures), races: races}.print(stdout)
	if !good || err != nil {
		fmt.Fprintf(stderr, "logs of the clusters: %s\nevents of the tests: %s\n", filepath.Join(r.dir, "*", "logs"), r.logs)
		return false, err
	}
	return true, os.RemoveAll(r.dir)
}

// prepare makes the run's folder. The folder's clusters end with this process, or when end is called.
func (o options) prepare(ctx context.Context, out string, list []suite, stdout io.Writer) (r *run, end func() error, err error) {
	r = &run{logs: filepath.Join(out, "log"), timeout: limit, out: stdout}
	if o.extent == long {
		r.timeout = longLimit
	}
	if err := errors.Join(os.RemoveAll(r.logs), os.MkdirAll(r.logs, 0o755)); err != nil {
		return nil, nil, err
	}
	bin := filepath.Join(out, "bin")
	r.tests = binaries(filepath.Join(out, "tests"))
	r.builder = newBuilder(r.tests, bin, list, o.lanes)
	if r.events, err = testEvents(ctx); err != nil {
		return nil, nil, err
	}
	if r.dir, err = os.MkdirTemp("", "bobbin-run-"); err != nil {
		return nil, nil, err
	}
	minutes := "0" // of tests that take minutes
	if o.extent == long {
		minutes = "1"
	}
	r.env = []string{
		clusters.RunVariable + "=" + r.dir, bobbintest.BinVariable + "=" + bin,
		cluster.FiguresVariable + "=" + filepath.Join(r.dir, "figures"), longtest.Variable + "=" + minutes,
	}
	if end, err = cluster.EndWithThisProcess(r.dir); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(r.dir)) // no suite has run
	}
	return r, end, nil
}
