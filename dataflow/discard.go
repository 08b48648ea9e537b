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
// removes nothing and returns ErrCommitBegun. epoch is the number of the master. It may be called again after an error. Only code that
// runs clusters needs it.
func Discard(ctx context.Context, fsys filesystem.FileSystem, dir, job string, epoch int) error {
	return output.Output{Dir: dir, Job: job, Epoch: epoch}.Discard(ctx, fsys)
}

// ErrFenced is the error of OpenOutput and Discard if a later master has taken the output over.
var ErrFenced = output.ErrFenced

// EarlierParts says what becomes of the parts that tasks have written below earlier masters.
type EarlierParts = output.Earlier

// The kinds of EarlierParts.
const (
	PartsDropped  = output.Dropped  // all tasks run again: the parts are removed
	PartsKept     = output.Kept     // finished tasks may be taken over: the parts stay, and no commit has begun
	PartsRecorded = output.Recorded // the winners are recorded: the parts stay for the commit, which may have begun
)

// OpenOutput prepares an output directory of a job's graph for the tasks of a master, before they run, and keeps those of
// earlier masters from changing it. epoch is the number of the master, and earlier says what becomes of the files of earlier
// masters. It may be called again after an error. Only code that runs clusters needs it.
func OpenOutput(ctx context.Context, fsys filesystem.FileSystem, dir, job string, epoch int, earlier EarlierParts) error {
	return output.Output{Dir: dir, Job: job, Epoch: epoch}.Open(ctx, fsys, earlier)
}
