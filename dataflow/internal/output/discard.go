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

// Discard removes the job's files below _temporary after the job has ended without a result.
// Otherwise they would count against the directory's quota. If the job has committed, Discard does
// nothing. If a commit has begun, Discard changes nothing and returns ErrCommitBegun. Other jobs'
// files stay, also those made during the call. Late attempts of the job may still run. So Discard
// first renames the job's directory below _temporary, which makes every later commit fail. Then it
// checks again whether a commit has begun. It may be called again after an error.
func (o Output) Discard(ctx context.Context, fsys filesystem.FileSystem) error {
	if err := o.discard(ctx, fsys); err != nil {
		return fmt.Errorf("clean up output %s: %w", o.Dir, err)
	}
	return nil
}

func (o Output) discard(ctx context.Context, fsys filesystem.FileSystem) error {
	begun, err := o.commitBegun(ctx, fsys)
	switch {
	case errors.Is(err, fs.ErrNotExist): // nothing was written
		return nil
	case err != nil:
		return err
	case begun:
		return ErrCommitBegun
	}
	// Each try renames to a name of its own, because a try that died may have left its directory.
	away := []string{o.discarded(0)}
	for err = fsys.Rename(ctx, o.jobDir(), away[0]); errors.Is(err, fs.ErrExist); {
		away = append(away, o.discarded(len(away)))
		err = fsys.Rename(ctx, o.jobDir(), away[len(away)-1])
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch begun, err = o.commitBegun(ctx, fsys); {
	case err != nil:
		return err
	case begun:
		return errors.Join(ErrCommitBegun, fsys.Rename(ctx, away[len(away)-1], o.jobDir()))
	}
	for _, dir := range away {
		if err := fsys.RemoveAll(ctx, dir); err != nil {
			return err
		}
	}
	return o.removeTemporary(ctx, fsys)
}

func (o Output) discarded(try int) string {
	return join(o.temporary(), fmt.Sprintf("discarded-%s-%d", o.Job, try))
}

// commitBegun reports whether the output has a marker of the job.
func (o Output) commitBegun(ctx context.Context, fsys filesystem.FileSystem) (bool, error) {
	entries, err := fsys.List(ctx, o.Dir)
	return slices.ContainsFunc(entries, o.marked), err
}

// removeTemporary removes _temporary, unless other jobs use it.
func (o Output) removeTemporary(ctx context.Context, fsys filesystem.FileSystem) error {
	if err := fsys.Remove(ctx, o.temporary()); !errors.Is(err, filesystem.ErrNotEmpty) {
		return err
	}
	return nil
}
