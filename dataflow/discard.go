package dataflow

import (
	"context"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
)

// ErrCommitBegun is the error of Discard for a job whose commit had begun. Another call of Discard fails in the
// same way.
var ErrCommitBegun = output.ErrCommitBegun

// Discard removes the files that a failed or cancelled job has left below dir/_temporary. dir is an
// output directory of the job's graph. Other jobs' files stay. If the job's commit had begun, Discard
// removes nothing and returns ErrCommitBegun. It may be called again after an error. Only code that
// runs clusters needs it.
func Discard(ctx context.Context, fsys filesystem.FileSystem, dir, job string) error {
	return output.Output{Dir: dir, Job: job}.Discard(ctx, fsys)
}
