package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func runFlags() []cli.Flag {
	return slices.Concat(flags(targetFlag(), parallelismFlag()), []cli.Flag{
		&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "return as soon as the job runs"},
		&cli.BoolFlag{Name: flagAttachedExit, Aliases: []string{"sae"}, Usage: "cancel the job if this command ends before the job (execution.shutdown-on-attached-exit)"},
	}, whichFlags(), flags(deploymentFlagsOfRun()...), []cli.Flag{outputFlag()}, clusterFlags())
}

func runCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:        "run",
		Usage:       "run a program and its jobs",
		ArgsUsage:   "PROGRAM [program arguments]",
		Description: runDescription,
		Flags:       runFlags(),
		Action:      bind(runProgram),
	}
}

const runDescription = `Put the flags of bobbin before PROGRAM. All words after PROGRAM go to the program. The
program uses the standard input, output and error of this command. With -o json the
program's standard output goes to standard error, and standard output contains only
one JSON object.

-t says where the jobs run:

local             in the program's own process, on this machine
yarn-per-job      in a YARN application that starts and ends with the job
yarn-session      in a session: the one that -id or -m names, or the one started last
yarn-application  on YARN, with the whole program: see bobbin run-application --help
remote            in a session, without access to YARN: see bobbin session access --help

The default is remote with rest.access-file, yarn-session if a session is known, and
otherwise local. A flag that has no effect on the target is an error.

The exit code is 0 if every job has FINISHED, 2 if the command line is wrong,
130 after Ctrl-C, and otherwise 1.

Before the application runs, Ctrl-C kills the application and removes its staged files.
Later, Ctrl-C leaves the job running, or cancels the job with -sae. A second Ctrl-C ends
this command at once.

  bobbin run ./wordcount --input text --output counts
  bobbin run -t yarn-per-job -p 4 ./wordcount --input hdfs:///text --output hdfs:///counts
  bobbin run -t yarn-per-job -d -nm nightly -tm 2g -s 2 ./wordcount --input text`

// runProgram runs a program on the target that the options name.
func runProgram(ctx context.Context, c *call) error {
	return c.telling(func(j *run.Journal) error {
		words := c.line.Args().Slice()
		if noProgram(words) {
			return fmt.Errorf("%w: bobbin run needs a program: bobbin run -t %s ./program [arguments]", ErrUsage, config.TargetPerJob)
		}
		cfg, err := c.runOptions()
		if err != nil {
			return err
		}
		c.describe(cfg, newCluster(cfg))
		if err := checkEffect(c.line, cfg); err != nil {
			return err
		}
		if _, err := checkBeforePlan(cfg); err != nil {
			return err
		}
		return once(run.Run(ctx, c.request(cfg, j, words...)))
	})
}

// request makes the request of a command. program is the program's file and arguments, if there is one.
func (c *call) request(cfg config.Config, j *run.Journal, program ...string) run.Request {
	r := run.Request{
		Target: cfg.String(config.ExecutionTarget), Config: cfg, Executable: c.executable, Streams: c.Streams, Journal: j,
		Open: func(ctx context.Context) (*client.Cluster, error) { return c.openMeant(ctx, cfg) },
		Find: func(ctx context.Context, on *client.Cluster) (run.Site, error) { return c.findSite(ctx, on, cfg) },
	}
	if len(program) > 0 {
		r.Program, r.Arguments = program[0], program[1:]
	}
	return r
}

// noProgram tells whether a command line names no program. The variable of a script may be empty.
func noProgram(words []string) bool { return len(words) == 0 || words[0] == "" }

// runOptions reads the options of the file, of -D, and of the flags of run, and decides where the program runs.
func (c *call) runOptions() (config.Config, error) {
	layers, err := clusterLayers(c.line, append(deploymentFlagsOfRun(), targetFlag(), parallelismFlag())...)
	if err = cmp.Or(err, noSavepoint(c.line)); err != nil {
		return config.Config{}, err
	}
	cfg, found, err := c.withSession(append(layers, switchLayers(c.line)...))
	if err != nil {
		return cfg, err
	}
	aim := func(source, target string) (config.Config, error) {
		return cfg.With(config.Layer{Source: source, Values: map[string]string{config.ExecutionTarget.Name(): target}})
	}
	switch {
	case c.line.String(flagMaster) == masterOnYARN && !c.line.IsSet(targetFlag().name):
		if cfg.IsSet(config.YarnApplicationID) {
			return aim("-m", config.TargetSession)
		}
		return aim("-m", config.TargetPerJob)
	case isElsewhere(c.line, cfg):
		return aim(cfg.Source(config.RESTAccessFile), config.TargetRemote)
	case cfg.IsSet(config.ExecutionTarget) && cfg.String(config.ExecutionTarget) != config.TargetRemote:
		return cfg, nil
	case !cfg.IsSet(config.YarnApplicationID) && masterAddress(c.line) == "":
		return cfg, nil
	}
	if found != "" {
		fmt.Fprintf(c.Err, "%s names %s: the program's jobs run there (-t %s runs them here)\n", found, cfg.String(config.YarnApplicationID), config.TargetLocal)
	}
	return aim(cfg.Source(config.YarnApplicationID), config.TargetSession)
}

// noSavepoint refuses Flink's -s PATH, a savepoint. In Bobbin -s is the number of slots, which contains no
// slash; every path on a cluster contains one.
func noSavepoint(c *cli.Context) error {
	if path := c.String("slots"); strings.Contains(path, "/") {
		return fmt.Errorf("%w: -s %s: savepoints are not supported yet; here -s is the number of slots", ErrUsage, path)
	}
	return nil
}
