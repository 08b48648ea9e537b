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
// commit. Then the files of the last epoch become those of this one, and the commit can be repeated. Otherwise no commit
// may have begun: the files of earlier epochs are removed, because their tasks run again.
//
// The error is ErrFenced if a later master has opened the output, and ErrCommitBegun, and permanent, if a commit has begun
// of which nothing is recorded.
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
	case len(older) > 0:
		if !recorded {
			if err := o.notBegun(ctx, fsys, found); err != nil {
				return true, err
			}
		}
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

// notBegun gives ErrCommitBegun if a commit has begun: it may have moved the only copy of old content.
func (o Output) notBegun(ctx context.Context, fsys filesystem.FileSystem, found []version) error {
	begun, err := o.commitBegun(ctx, fsys)
	switch {
	case err != nil:
		return err
	case begun || slices.ContainsFunc(found, func(v version) bool { return v.commit != "" }):
		return operator.Permanent(ErrCommitBegun)
	}
	return nil
}
