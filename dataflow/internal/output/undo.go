package output

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// undoing is the name of the try that undoes a commit of which no winners are recorded. No attempt has this name.
const undoing = "undo"

// undonePrefix begins the names of what the commit had put into place, in the directory of the epoch.
const undonePrefix = "undone-"

// undo takes back what a commit has done, in the order in which its steps come last to first, so that the old content is
// as it was. The directory of the epoch has the name of this try already: no commit can move anything any more. If the
// commit has succeeded, undo changes nothing. After an error another try goes on from there. The error is ErrCommitBegun,
// and permanent, if old content cannot go back because its place is taken.
func (o Output) undo(ctx context.Context, fsys filesystem.FileSystem, own string) error {
	placed, err := fsys.List(ctx, o.Dir)
	if err != nil {
		return lost(err)
	}
	if i := slices.IndexFunc(placed, o.marked); i >= 0 { // without it, no commit can finish
		return errors.Join(errChanged, fsys.Rename(ctx, placed[i].URI, join(own, undonePrefix+path.Base(placed[i].URI))))
	}
	if done, err := o.committed(ctx, fsys, placed); done || err != nil {
		return err
	}
	moved, err := fsys.List(ctx, own)
	if err != nil {
		return lost(err)
	}
	if i := slices.IndexFunc(moved, named(placing)); i >= 0 { // all that is in place is the commit's
		var moves []filesystem.Move
		for _, entry := range placed {
			if name := path.Base(entry.URI); name != temporary {
				moves = append(moves, filesystem.Move{From: entry.URI, To: join(own, undonePrefix+name)})
			}
		}
		if err := fsys.RenameAll(ctx, moves); err != nil {
			return lost(err)
		}
		if err := fsys.RemoveAll(ctx, moved[i].URI); err != nil {
			return err
		}
	}
	return o.restore(ctx, fsys, moved)
}

// restore moves old content and the files of other jobs back that a commit has moved away. Markers of other jobs come last,
// and _SUCCESS before them, as in the commit's step 6.
func (o Output) restore(ctx context.Context, fsys filesystem.FileSystem, moved []filesystem.FileInfo) error {
	var content, last, markers []filesystem.Move
	for _, dir := range moved {
		if !strings.HasPrefix(path.Base(dir.URI), asidePrefix) {
			continue
		}
		entries, err := fsys.List(ctx, dir.URI)
		if err != nil {
			return lost(err)
		}
		for _, entry := range entries {
			base := path.Base(entry.URI)
			if job, is := strings.CutPrefix(base, othersPrefix); is {
				content = append(content, filesystem.Move{From: entry.URI, To: join(o.temporary(), job)})
				continue
			}
			name, is := strings.CutPrefix(base, contentPrefix)
			move := filesystem.Move{From: entry.URI, To: join(o.Dir, name)}
			switch {
			case !is: // a marker that was never in place
			case name == success:
				last = append(last, move)
			case strings.HasPrefix(name, markerPrefix):
				markers = append(markers, move)
			default:
				content = append(content, move)
			}
		}
	}
	for _, moves := range [][]filesystem.Move{content, last, markers} {
		err := fsys.RenameAll(ctx, moves)
		if errors.Is(err, fs.ErrExist) {
			return operator.Permanent(errors.Join(ErrCommitBegun, err))
		}
		if err != nil {
			return lost(err)
		}
	}
	return nil
}
