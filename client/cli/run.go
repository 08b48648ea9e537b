package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/program"
)

// Targets of run.
const (
	targetLocal       = "local"
	targetRemote      = "remote"
	targetYARNPerJob  = "yarn-per-job"
	targetYARNSession = "yarn-session"
	targetApplication = "yarn-application"
)

func runFlags() []cli.Flag {
	return slices.Concat(flags(targetFlag(), parallelismFlag()), []cli.Flag{
		&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "return once the job runs"},
		&cli.BoolFlag{Name: flagAttachedExit, Aliases: []string{"sae"}, Usage: "cancel the job when this command ends before it, however that ends (execution.shutdown-on-attached-exit)"},
	}, whichFlags(), flags(deploymentFlagsOfRun()...), []cli.Flag{outputFlag()}, clusterFlags())
}

func runCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:        "run",
		Usage:       "run a program's job",
		ArgsUsage:   "PROGRAM [program arguments]",
		Description: runDescription,
		Flags:       runFlags(),
		Action:      func(c *cli.Context) error { return run(c, p) },
	}
}

const runDescription = `Everything behind PROGRAM belongs to the program. Its standard input, output and
error are those of this command; with -o json its standard output goes to
standard error, as standard output then holds nothing but one JSON object.

With -t yarn-application the program runs in the cluster, and this command ends once
it does so there: see bobbin run-application --help.

With -t yarn-session jobs go to a session: the one that -id or -m names, or else
the one that bobbin session start has started last. Without -t, and with such a
session, they do so, too. With rest.access-file they go to the cluster of that file,
which has no YARN here (-t remote): see bobbin session access --help.

Without -t, and with neither of them, they run in the program's own process (-t local).
A flag that counts for nothing on the target is refused.

The exit code is 0 when every job has FINISHED, 2 where the command line is wrong,
130 after Ctrl-C, and otherwise 1.
Ctrl-C before the application runs kills it and removes what was staged for it;
after that it leaves the job running, or cancels it with -sae. A second Ctrl-C
ends this command at once.

  bobbin run -t yarn-per-job -p 4 ./wordcount --input hdfs:///text --output hdfs:///counts`

// run runs a program on the target that the options name.
func run(c *cli.Context, p Process) error {
	return telling(c, p, func(p Process, told *outcome, timeline *client.Timeline) error {
		words := c.Args().Slice()
		if noProgram(words) {
			return fmt.Errorf("%w: bobbin run needs a program: bobbin run -t %s ./program [arguments]", ErrUsage, targetYARNPerJob)
		}
		cfg, err := runOptions(c, p)
		if err == nil {
			err = checkEffect(c, cfg)
		}
		if err != nil {
			return err
		}
		if err := config.Validate(cfg); err != nil { // before the program plans
			return err
		}
		l := launcher{cfg: cfg, say: progress.New(p.Stderr), timeline: timeline, outcome: told}
		switch cfg.String(config.ExecutionTarget) {
		case targetLocal:
			err = runLocal(c.Context, p, cfg, words)
			timeline.Done("program ended")
			return err
		case targetApplication:
			return runApplication(c.Context, &l, p, words)
		}
		return runOnCluster(c, l, p, words)
	})
}

// noProgram tells whether a command line names no program. A script's variable may be empty.
func noProgram(words []string) bool { return len(words) == 0 || words[0] == "" }

// runOptions puts the flags of run over the options of -D and of the file, and decides
// where the program runs.
func runOptions(c *cli.Context, p Process) (config.Config, error) {
	layers, err := clusterLayers(c)
	if err = cmp.Or(err, noSavepoint(c)); err != nil {
		return config.Config{}, err
	}
	layers = append(layers, flagLayers(c, append(deploymentFlagsOfRun(), targetFlag(), parallelismFlag())...)...)
	cfg, found, err := withSession(c, p, append(layers, switchLayers(c)...))
	if err != nil {
		return cfg, err
	}
	aim := func(source, target string) (config.Config, error) {
		return cfg.With(config.Layer{Source: source, Values: map[string]string{config.ExecutionTarget.Name(): target}})
	}
	switch {
	case c.String(flagMaster) == masterOnYARN && !c.IsSet(targetFlag().name):
		if cfg.IsSet(config.YarnApplicationID) {
			return aim("-m", targetYARNSession)
		}
		return aim("-m", targetYARNPerJob)
	case isElsewhere(c, cfg):
		return aim(cfg.Source(config.RESTAccessFile), targetRemote)
	case cfg.IsSet(config.ExecutionTarget) && cfg.String(config.ExecutionTarget) != targetRemote:
		return cfg, nil
	case !cfg.IsSet(config.YarnApplicationID) && masterAddress(c) == "":
		return cfg, nil
	}
	if found != "" {
		fmt.Fprintf(p.Stderr, "%s names %s: the program's jobs run there (-t %s runs them here)\n", found, cfg.String(config.YarnApplicationID), targetLocal)
	}
	return aim(cfg.Source(config.YarnApplicationID), targetYARNSession)
}

// noSavepoint refuses Flink's -s of a program, which is a path there and the number of slots
// here: no number of slots has a slash in it, and every path of a cluster has.
func noSavepoint(c *cli.Context) error {
	if path := c.String("slots"); strings.Contains(path, "/") {
		return fmt.Errorf("%w: -s %s: there are no savepoints yet to start from", ErrUsage, path)
	}
	return nil
}

// runOnCluster runs a program whose jobs run on a cluster.
func runOnCluster(c *cli.Context, l launcher, p Process, words []string) (err error) {
	ctx := c.Context
	target := l.cfg.String(config.ExecutionTarget)
	if l.cfg.Bool(config.ShutdownOnAttachedExit) && !l.cfg.Bool(config.ExecutionAttached) {
		l.say.Line("%s has no effect with -d: this command does not follow the job", config.ShutdownOnAttachedExit)
	}
	if target != targetRemote {
		if l.cluster, err = openMeant(c, p, l.cfg); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.cluster.Close()) }()
	}
	defer l.say.Finish() // an error has a line of its own
	r := &runner{
		p: p, cfg: l.cfg, attached: l.cfg.Bool(config.ExecutionAttached), say: l.say, timeline: l.timeline, outcome: l.outcome,
	}
	if target == targetYARNPerJob {
		job := &perJob{launcher: l, attached: r.attached}
		if err := job.inspect(p.Executable, words[0]); err != nil {
			return err
		}
		r.target = job
		return r.run(ctx, job.program, words[1:])
	}
	found, err := program.Inspect(words[0], program.Native())
	if err != nil {
		return err
	}
	s := session{cfg: l.cfg, program: found, attached: r.attached, say: l.say, timeline: l.timeline}
	if s.site, err = siteOf(c, p, l.cluster, l.cfg); err != nil {
		return err
	}
	l.outcome.Application = s.application()
	defer s.open(ctx)()
	r.target = &s
	return r.run(ctx, found, words[1:])
}
