package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

func runApplicationCommand(p Process) *cli.Command {
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
			&cli.StringFlag{Name: targetFlag().name, Aliases: targetFlag().aliases, Usage: "as Flink wants it here: " + targetApplication, DefaultText: targetApplication},
			&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "let the program go on while its jobs run"},
			&cli.BoolFlag{Name: flagAttachedExit, Aliases: []string{"sae"}, Usage: "no effect: this command has returned before there is a job"},
		}, flags(deploymentFlagsOfRun()...), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: func(c *cli.Context) error { return runApplicationOf(c, p) },
	}
}

// runApplicationOf is run-application.
func runApplicationOf(c *cli.Context, p Process) error {
	return telling(c, p, func(p Process, told *outcome, timeline *client.Timeline) error {
		words := c.Args().Slice()
		if noProgram(words) {
			return fmt.Errorf("%w: bobbin run-application needs a program: bobbin run-application hdfs:///programs/wordcount [arguments]", ErrUsage)
		}
		layers, err := clusterLayers(c)
		if err = cmp.Or(err, noSavepoint(c), noOtherTarget(c)); err != nil {
			return err
		}
		layers = append(layers, flagLayers(c, append(deploymentFlagsOfRun(), parallelismFlag())...)...)
		cfg, err := options(p, append(layers, switchLayers(c)...)...)
		if err != nil {
			return err
		}
		l := launcher{cfg: cfg, say: progress.New(p.Stderr), timeline: timeline, outcome: told}
		return runApplication(c.Context, &l, p, words)
	})
}

// noOtherTarget refuses a target that the command does not have.
func noOtherTarget(c *cli.Context) error {
	if name := targetFlag().name; c.IsSet(name) && c.String(name) != targetApplication {
		return fmt.Errorf("%w: bobbin run-application is -t %s; bobbin run -t %s has the other targets", ErrUsage, targetApplication, c.String(name))
	}
	return nil
}

// runApplication starts a cluster that runs a program's driver.
func runApplication(ctx context.Context, l *launcher, p Process, words []string) (err error) {
	if l.cfg.Bool(config.ShutdownOnAttachedExit) {
		l.say.Line("%s has no effect once this command has returned: the application ends by itself", config.ShutdownOnAttachedExit)
	}
	d := client.Deployment{Mode: launch.Application, Arguments: words[1:], Attached: l.cfg.Bool(config.ExecutionAttached)}
	if d.Bobbin, err = client.Binary(p.Executable, l.cfg); err != nil {
		return err
	}
	d.Program, err = client.ProgramOf(words[0])
	if errors.Is(err, fs.ErrNotExist) && path.IsAbs(words[0]) {
		return fmt.Errorf("%w; one that is on the cluster is hdfs://%s", err, words[0])
	}
	if err != nil {
		return err
	}
	d.Name = d.Program.Name
	if l.cluster, err = open(ctx, p, l.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.cluster.Close()) }()
	app, err := l.start(ctx, d)
	if err != nil {
		return err
	}
	l.say.Line("%s runs %s. Its jobs: bobbin list -id %s. Its logs: bobbin logs %s. To end it: bobbin kill %s", app.ID, d.Name, app.ID, app.ID, app.ID)
	return nil
}
