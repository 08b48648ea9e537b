package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// ErrCommitBegun says that a job's commit had begun before the job ended. The files that the commit
// has moved away may be the only copy of the old content.
var ErrCommitBegun = errors.New("the commit had begun: the old files and the files to replace them are in _temporary")

// discardedPrefix begins the names of directories of epochs that Discard has renamed, in the job's directory.
const discardedPrefix = "discarded-"

// Discard removes the job's files below _temporary, of this epoch and of earlier ones, after the job has ended without a
// result. Otherwise they would count against the directory's quota. That end must be stored, so that no later master
// needs the files. If the job has committed, Discard removes what its commit has left. If a commit has begun, Discard
// removes nothing and returns ErrCommitBegun. If a later master has opened the output, it returns ErrFenced. Other jobs'
// files stay, also those made during the call. It may be called again after an error.
//
// Late attempts of the job may still run. So Discard first renames the directories of the epochs, which stops a commit.
// Then it looks whether one has begun: its marker can appear no more.
func (o Output) Discard(ctx context.Context, fsys filesystem.FileSystem) error {
	var err error
	for range looks {
		if err = o.discard(ctx, fsys); !errors.Is(err, errChanged) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("clean up output %s: %w", o.Dir, err)
	}
	return nil
}

// discard removes what the last look has renamed, or renames something and returns errChanged.
func (o Output) discard(ctx context.Context, fsys filesystem.FileSystem) error {
	entries, err := fsys.List(ctx, o.jobDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	found := versionsOf(entries)
	if len(found) > 0 && found[0].epoch > o.Epoch {
		return fmt.Errorf("%w: there is %s", ErrFenced, found[0])
	}
	if len(found) > 0 && found[0].commit == undoing { // old content is on its way back
		if _, err := o.cancel(ctx, fsys, found[0]); err != nil {
			return err
		}
		return errChanged
	}
	switch begun, err := o.commitBegun(ctx, fsys); {
	case errors.Is(err, fs.ErrNotExist): // nothing was written
		return nil
	case err != nil:
		return err
	case begun:
		return ErrCommitBegun
	case len(found) > 0:
		free := 0 // earlier calls may have left theirs
		for slices.ContainsFunc(entries, named(fmt.Sprint(discardedPrefix, free))) {
			free++
		}
		if err := fsys.Rename(ctx, o.at(found[0]), join(o.jobDir(), fmt.Sprint(discardedPrefix, free))); err != nil {
			return lost(err)
		}
		return errChanged
	}
	for _, entry := range entries {
		if err := fsys.RemoveAll(ctx, entry.URI); err != nil {
			return err
		}
	}
	return o.removeEmpty(ctx, fsys)
}

// commitBegun reports whether the output has a marker of the job.
func (o Output) commitBegun(ctx context.Context, fsys filesystem.FileSystem) (bool, error) {
	entries, err := fsys.List(ctx, o.Dir)
	return slices.ContainsFunc(entries, o.marked), err
}
