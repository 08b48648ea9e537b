package dataflow

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Discard removes the files of a failed or cancelled job below _temporary in the outputs of its
// graph. Other jobs' files stay. If a commit had begun, Discard leaves the files that it needs and
// returns an error. It may be called again after an error. Only code that runs clusters needs it.
func Discard(ctx context.Context, fsys filesystem.FileSystem, g *jobgraph.JobGraph, job string) error {
	var errs []error
	for _, v := range g.Vertices {
		for _, dir := range v.Outputs {
			errs = append(errs, output.Output{Dir: dir, Job: job}.Discard(ctx, fsys))
		}
	}
	return errors.Join(errs...)
}
