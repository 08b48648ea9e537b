package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func runApplicationCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:      "run-application",
		Usage:     "run a program in a cluster of its own, its driver included",
		ArgsUsage: "PROGRAM [program arguments]",
		Description: `PROGRAM is a file here, or one that is on the cluster already, by its URI. It plans
and executes its jobs there, several if it likes, and its output is among the logs.
The cluster ends with it. This command ends once the cluster runs; Ctrl-C before
that takes everything back. With -d Execute does not wait for its job.

  bobbin run-application -nm nightly hdfs:///programs/wordcount --input hdfs:///text --output hdfs:///counts`,
		Flags: slices.Concat(flags(parallelismFlag()), []cli.Flag{
			&cli.StringFlag{Name: targetFlag().name, Aliases: targetFlag().aliases, Usage: "as Flink wants it here: " + config.TargetApplication, DefaultText: config.TargetApplication},
			&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "let the program go on while its jobs run"},
			&cli.BoolFlag{Name: flagAttachedExit, Aliases: []string{"sae"}, Usage: "no effect: this command has returned before there is a job"},
		}, flags(deploymentFlagsOfRun()...), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: bind(runApplication),
	}
}

// runApplication is run-application.
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
		r := c.request(cfg, j, words...)
		r.Target = config.TargetApplication
		return run.Run(ctx, r)
	})
}

// noOtherTarget refuses a target that the command does not have.
func noOtherTarget(c *cli.Context) error {
	if name := targetFlag().name; c.IsSet(name) && c.String(name) != config.TargetApplication {
		return fmt.Errorf("%w: bobbin run-application is -t %s; bobbin run -t %s has the other targets", ErrUsage, config.TargetApplication, c.String(name))
	}
	return nil
}
