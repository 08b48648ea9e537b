package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func cancelCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "cancel a job",
		ArgsUsage: "JOB",
		Description: "Returns as soon as the cluster begins to cancel the job. bobbin list prints the ids of\n" +
			"jobs.\n\nThe command also ends a program that was started by REST and runs beside the\n" +
			"ApplicationMaster of a session. Give the id of the program, which bobbin status prints.\n" +
			"The jobs of the program continue.\n\n  bobbin cancel 5f0c4a1e6b7d4c3f8a9b0c1d2e3f4a5b\n  bobbin cancel -id application_1700000000000_0001 5f0c4a1e6b7d4c3f8a9b0c1d2e3f4a5b",
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "withSavepoint", Aliases: []string{"s"}, Usage: "refused: savepoints are not supported yet"},
		}, meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: bind(func(ctx context.Context, c *call) error {
			if c.line.Bool("withSavepoint") {
				return fmt.Errorf("%w: savepoints are not supported yet: cancel the job without -s", ErrUsage)
			}
			return withJob(ctx, c, cancel)
		}),
	}
}

// cancel cancels a job, or ends the program with that id.
func cancel(ctx context.Context, c *call, master *reached, job ids.JobID) error {
	err := master.Cancel(ctx, job)
	if client.NotFound(err) {
		other := master.EndDriver(ctx, string(job))
		if other == nil {
			return c.say(fmt.Sprintf("program %s has ended", job), map[string]any{"application": master.Application(), "driver": job})
		}
		if !client.NotFound(other) {
			return other
		}
	}
	if err != nil {
		return err
	}
	return c.say(fmt.Sprintf("job %s is being cancelled", job), map[string]any{"application": master.Application(), "job": job})
}

func stopCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:        "stop",
		Usage:       "end a job with a savepoint (not supported yet)",
		ArgsUsage:   "JOB",
		Description: "Savepoints are not supported yet. The cluster refuses this command: use bobbin cancel.\n\n  bobbin stop -id application_1700000000000_0001 5f0c4a1e6b7d4c3f8a9b0c1d2e3f4a5b",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "savepointPath", Aliases: []string{"p"}, Usage: "`DIRECTORY` of the savepoint"},
			&cli.BoolFlag{Name: "drain", Aliases: []string{"d"}, Usage: "let the job finish its windows before the savepoint"},
			&cli.StringFlag{Name: "type", Usage: "`FORMAT` of the savepoint: canonical or native"},
			&cli.BoolFlag{Name: "detached", Usage: "return before the savepoint is complete"},
		}, meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: bind(func(ctx context.Context, c *call) error {
			return withJob(ctx, c, func(ctx context.Context, _ *call, master *reached, job ids.JobID) error { return master.Stop(ctx, job) })
		}),
	}
}

// withCluster runs a command without arguments. ask gets the cluster that the command means.
func withCluster(ctx context.Context, c *call, ask func(ctx context.Context, c *call, master *reached) error) (err error) {
	if err := noArguments(c.line); err != nil {
		return err
	}
	master, done, err := c.reach(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	return master.explain(ctx, ask(ctx, c, master))
}

// isJob tells whether a word is the id of a job.
func isJob(word string) bool { return len(word) == 32 && strings.Trim(word, "0123456789abcdef") == "" }

// withJob calls do with the job that the command's only argument names.
func withJob(ctx context.Context, c *call, do func(ctx context.Context, c *call, master *reached, job ids.JobID) error) (err error) {
	job := c.line.Args().First()
	switch _, err := records.ParseApplicationID(job); {
	case c.line.Args().Len() != 1:
		return fmt.Errorf("%w: %s needs one job id; bobbin list shows them", ErrUsage, c.line.Command.HelpName)
	case err == nil:
		return fmt.Errorf("%w: %s is an application, not a job: bobbin list -id %s shows its jobs, bobbin kill %s ends it with all of them", ErrUsage, job, job, job)
	case isJob(job):
	case isJob(strings.ToLower(job)):
		return fmt.Errorf("%w: the digits of a job id are in lower case: write %s", ErrUsage, strings.ToLower(job))
	default:
		return fmt.Errorf("%w: %q is no job id: a job id has 32 hex digits; bobbin list prints the ids of running jobs", ErrUsage, job)
	}
	master, done, err := c.reach(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	return master.explain(ctx, do(ctx, c, master, ids.JobID(job)))
}
