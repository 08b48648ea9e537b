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

// Open makes the directory of the epoch. The master calls it before it runs tasks of the job, and again after an error.
// The files of earlier epochs are its fence: nothing that was started by an earlier master can change the output
// afterwards.
//
// recorded says that the master has the winners of the output, which an earlier master stored before it gave leave for the
// commit. Then the files of the last epoch become those of this one, and the commit can be repeated. Otherwise the files of
// earlier epochs are removed, because their tasks run again. If a commit had begun nevertheless, because masters without
// high availability record nothing, it is undone before: see undo.
//
// The error is ErrFenced if a later master has opened the output, and ErrCommitBegun, and permanent, if a commit cannot be
// undone.
func (o Output) Open(ctx context.Context, fsys filesystem.FileSystem, recorded bool) error {
	var fault error
	for range looks {
		done, err := o.open(ctx, fsys, recorded)
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
func (o Output) open(ctx context.Context, fsys filesystem.FileSystem, recorded bool) (done bool, err error) {
	found, err := o.versions(ctx, fsys)
	if err != nil {
		return true, err
	}
	own := version{epoch: o.Epoch}
	older := slices.DeleteFunc(slices.Clone(found), func(v version) bool { return v.epoch >= o.Epoch })
	switch {
	case len(found) > 0 && found[0].epoch > o.Epoch:
		return true, fmt.Errorf("%w: there is %s", ErrFenced, found[0])
	case len(found) == 0 && recorded:
		if done, err := o.hasResult(ctx, fsys); done || err != nil {
			return true, err
		}
		return o.changed(ctx, fsys.MkdirAll(ctx, o.at(own)))
	case len(found) == len(older) && recorded:
		return o.changed(ctx, fsys.Rename(ctx, o.at(found[0]), o.at(own)))
	case len(found) > 0 && !recorded && found[0] != own:
		return o.cancel(ctx, fsys, found[0])
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
