package dataflow

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Discard removes what a job that has ended, and not as finished, has left below _temporary in the
// outputs of its graph. Other jobs' files stay, and so does what a commit that had begun needs, which
// is an error. It may be called again after an error. Only what brings clusters about needs it.
func Discard(ctx context.Context, fsys filesystem.FileSystem, g *jobgraph.JobGraph, job string) error {
	var errs []error
	for _, v := range g.Vertices {
		for _, dir := range v.Outputs {
			errs = append(errs, output.Output{Dir: dir, Job: job}.Discard(ctx, fsys))
		}
	}
	return errors.Join(errs...)
}
