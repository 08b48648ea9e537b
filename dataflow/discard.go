package dataflow

import (
	"context"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
)

// ErrCommitBegun is the error of Discard for a job whose commit had begun: another try changes nothing.
var ErrCommitBegun = output.ErrCommitBegun

// Discard removes the files of a failed or cancelled job below _temporary in dir, an output of its
// graph. Other jobs' files stay. If a commit had begun, Discard leaves the files that it needs and
// returns ErrCommitBegun. It may be called again after an error. Only code that runs clusters needs it.
func Discard(ctx context.Context, fsys filesystem.FileSystem, dir, job string) error {
	return output.Output{Dir: dir, Job: job}.Discard(ctx, fsys)
}
