package run

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/program"
)

// Plan starts a program, ends it when it executes its first job, and returns the graph of that job. The graph
// is nil if the program only prints its help. The program's output goes to Streams.Err. Plan needs neither a
// target nor a Journal.
func Plan(ctx context.Context, r Request) (planned *jobgraph.JobGraph, err error) {
	found, err := program.Inspect(r.Program, program.Native())
	if err != nil {
		return nil, err
	}
	out := terminal.Raw(r.Err)
	d, err := driver.Start(ctx, found.Path, r.Arguments, driver.Options{
		Config: r.Config.Set(), Stdin: r.In, Stdout: out, Stderr: out,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	job, _, err := d.Next(ctx)
	switch {
	case errors.Is(err, driver.ErrNoJob) && asksForHelp(r.Arguments):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &job.Graph, nil
}
