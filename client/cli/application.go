package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

func runApplicationCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:      "run-application",
		Usage:     "run a whole program on YARN, in an application of its own",
		ArgsUsage: "PROGRAM [program arguments]",
		Description: `PROGRAM is a file on this machine, or the URI of a file on HDFS. The program runs on
YARN, and plans and executes its jobs there. It may execute several jobs. The logs
contain its output. The application ends with the program.

This command returns when the application runs. Before that, Ctrl-C kills the application
and removes its staged files. With -d, Execute does not wait for its job.

  bobbin run-application ./wordcount --input text --output counts
  bobbin run-application -nm nightly hdfs:///programs/wordcount --input hdfs:///text --output hdfs:///counts`,
		Flags: slices.Concat(flags(parallelismFlag()), []cli.Flag{
			&cli.StringFlag{Name: targetFlag().name, Aliases: targetFlag().aliases, Usage: "`TARGET`, as in Flink: only " + config.TargetApplication},
			&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "do not let the program wait for its jobs"},
			&cli.BoolFlag{Name: flagAttachedExit, Aliases: []string{"sae"}, Usage: "no effect: this command returns before the first job starts"},
		}, flags(deploymentFlagsOfRun()...), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: bind(runApplication),
	}
}

// runApplication runs the command run-application.
func runApplication(ctx context.Context, c *call) error {
	return c.telling(func(j *run.Journal) error {
		words := c.line.Args().Slice()
		if noProgram(words) {
			return fmt.Errorf("%w: bobbin run-application needs a program: bobbin run-application hdfs:///programs/wordcount [arguments]", ErrUsage)
		}
		layers, err := clusterLayers(c.line, append(deploymentFlagsOfRun(), parallelismFlag())...)
		if err = cmp.Or(err, noSavepoint(c.line), noOtherTarget(c.line)); err != nil {
			return err
		}
		cfg, err := c.options(append(layers, switchLayers(c.line)...)...)
		if err != nil {
			return err
		}
		c.describe(cfg, launch.Application)
		r := c.request(cfg, j, words...)
		r.Target = config.TargetApplication
		return once(run.Run(ctx, r))
	})
}

// noOtherTarget refuses a target that the command does not have.
func noOtherTarget(c *cli.Context) error {
	if name := targetFlag().name; c.IsSet(name) && c.String(name) != config.TargetApplication {
		return fmt.Errorf("%w: bobbin run-application always uses -t %s: for -t %s use bobbin run", ErrUsage, config.TargetApplication, c.String(name))
	}
	return nil
}
