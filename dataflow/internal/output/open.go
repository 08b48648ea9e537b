package output

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// looks is how often Open and Commit look what has become of the output. They look again after each answer that shows that
// somebody else has changed it meanwhile. Those were given up and end soon, so it is rarely more than twice.
const looks = 10

// Earlier says what becomes of the files of earlier epochs.
type Earlier int

const (
	// Dropped says that all tasks run again. The files are removed.
	Dropped Earlier = iota
	// Kept says that tasks which have finished below earlier masters may count for this one. The files become those of this epoch.
	// The master has to know that no commit has begun.
	Kept
	// Recorded says that the master has the winners of the output, which an earlier master stored before it gave leave for the
	// commit. The files become those of this epoch, and the commit can be repeated.
	Recorded
)

// moves tells whether the files of an earlier version become those of this epoch.
func (e Earlier) moves(v version) bool { return e == Recorded || e == Kept && v.commit == "" }

// Open makes the directory of the epoch. The master calls it before it runs tasks of the job, and again after an error.
// The files of earlier epochs are its fence: nothing that was started by an earlier master can change the output
// afterwards.
//
// earlier says what becomes of the files of earlier epochs. If a commit had begun of which no winners are recorded, because
// masters without high availability record nothing, it is undone, and its files are removed: see undo.
//
// The error is ErrFenced if a later master has opened the output, and ErrCommitBegun, and permanent, if a commit cannot be
// undone.
func (o Output) Open(ctx context.Context, fsys filesystem.FileSystem, earlier Earlier) error {
	var fault error
	for range looks {
		done, err := o.open(ctx, fsys, earlier)
		if done {
			return o.notOpened(err)
		}
		if err != nil {
			fault = err
		}
	}
	return o.notOpened(errors.Join(errors.New("its files change all the time"), fault))
}

func (o Output) notOpened(err error) error {
	if err == nil {
		return nil
	}
	return operator.OfFiles(refused(fmt.Errorf("open output %s: %w", o.Dir, err)))
}

// open makes one change, which the next call looks at. If it is done, nothing was left to change, or err is why not.
func (o Output) open(ctx context.Context, fsys filesystem.FileSystem, earlier Earlier) (done bool, err error) {
	found, err := o.versions(ctx, fsys)
	if err != nil {
		return true, err
	}
	own := version{epoch: o.Epoch}
	older := slices.DeleteFunc(slices.Clone(found), func(v version) bool { return v.epoch >= o.Epoch })
	switch {
	case len(found) > 0 && found[0].epoch > o.Epoch:
		return true, fmt.Errorf("%w: there is %s", ErrFenced, found[0])
	case len(found) == 0 && earlier == Recorded:
		if done, err := o.hasResult(ctx, fsys); done || err != nil {
			return true, err
		}
		return o.changed(ctx, fsys.MkdirAll(ctx, o.at(own)))
	case len(older) > 0 && found[0] == older[0] && earlier.moves(found[0]):
		return o.changed(ctx, fsys.Rename(ctx, o.at(found[0]), o.at(own)))
	case len(found) > 0 && earlier != Recorded && found[0] != own:
		return o.cancel(ctx, fsys, found[0])
	case len(older) > 0 && earlier == Kept:
		// If ours is empty, the earlier master has opened the output after this one had looked, and its tasks may have written since.
		if err := fsys.Remove(ctx, o.at(own)); !errors.Is(err, filesystem.ErrNotEmpty) {
			return o.changed(ctx, err)
		}
		fallthrough
	case len(older) > 0:
		for _, v := range older {
			if err := fsys.RemoveAll(ctx, o.at(v)); err != nil {
				return o.changed(ctx, err)
			}
		}
		return false, nil
	case len(found) == 0:
		return o.changed(ctx, fsys.MkdirAll(ctx, o.at(own)))
	}
	return true, nil
}

// changed is the result of open after a change. It has to look again, also after an error: the answer may be lost, or
// somebody else may have been faster.
func (o Output) changed(ctx context.Context, err error) (done bool, _ error) {
	return filesystem.Final(err) || ctx.Err() != nil, err
}

// cancel takes the files of the last epoch, undoes a commit of which nothing is recorded, and removes them.
func (o Output) cancel(ctx context.Context, fsys filesystem.FileSystem, last version) (done bool, err error) {
	own := version{o.Epoch, undoing}
	if last != own {
		return o.changed(ctx, fsys.Rename(ctx, o.at(last), o.at(own)))
	}
	err = o.undo(ctx, fsys, o.at(own))
	if err == nil {
		err = fsys.RemoveAll(ctx, o.at(own))
	}
	return o.changed(ctx, err)
}
