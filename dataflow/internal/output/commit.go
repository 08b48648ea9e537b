package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// ErrFenced says that the commit of another attempt took over.
var ErrFenced = errors.New("a later attempt took over the commit")

// Commit moves the parts of the winning attempts into place. winners holds the attempts
// by subtask; attempt is the name of this try. If this try fails at any point, another
// one with other winners may begin while this one still runs.
//
// A try changes visible files in only two ways. It renames files out of or into its
// winners' directories, and it renames the marker that carries its name. So a try first
// removes the directories of all other attempts, which makes the renames of other tries
// fail. It also takes over their marker, which becomes _SUCCESS in the last step:
//
//  1. remove the directories of all attempts except the winners;
//  2. if _SUCCESS is this job's, an earlier try has succeeded: remove this job's own
//     files and stop. If another job has written a result that this job may not replace,
//     remove this job's own files too, and fail;
//  3. rename an earlier try's marker to carry this try's name, or else create it;
//  4. move old content, or an earlier try's parts, into a winner's directory, and _SUCCESS
//     first;
//  5. move the parts into place, several at a time and in any order;
//  6. remove _temporary, and rename the marker to _SUCCESS.
func (o Output) Commit(ctx context.Context, fsys filesystem.FileSystem, attempt string, winners []string) error {
	c := commit{Output: o, fs: fsys, marker: o.markerPrefix() + attempt, winners: winners}
	if err := c.run(ctx); err != nil {
		return operator.OfFiles(fmt.Errorf("commit output %s: %w", o.Dir, err))
	}
	return nil
}

func (o Output) markerPrefix() string { return "_committing-" + o.Job + "-" }

type commit struct {
	Output
	fs      filesystem.FileSystem
	marker  string // name of this try's marker
	winners []string
}

func (c *commit) run(ctx context.Context) error {
	if _, done, err := c.look(ctx); done || err != nil { // before this try changes files of others
		return err
	}
	if err := c.fence(ctx); err != nil {
		return err
	}
	entries, done, err := c.look(ctx)
	if done || err != nil {
		return err
	}
	if err := c.mark(ctx, entries); err != nil {
		return err
	}
	if err := c.clear(ctx); err != nil {
		return err
	}
	if err := c.fs.RenameAll(ctx, c.parts()); err != nil {
		return c.lost(err)
	}
	if err := c.fs.RemoveAll(ctx, c.temporary()); err != nil {
		return err
	}
	return c.lost(c.fs.Rename(ctx, join(c.Dir, c.marker), join(c.Dir, success)))
}

// parts lists the moves of all parts into place.
func (c *commit) parts() []filesystem.Move {
	moves := make([]filesystem.Move, len(c.winners))
	for index, winner := range c.winners {
		moves[index] = filesystem.Move{From: join(c.attemptDir(winner), partName(index)), To: join(c.Dir, partName(index))}
	}
	return moves
}

// look lists the output and reports whether an earlier try of this job has succeeded. In
// that case, or if another job has written a result that this job may not replace, it
// withdraws.
func (c *commit) look(ctx context.Context) (entries []filesystem.FileInfo, done bool, err error) {
	entries, err = c.fs.List(ctx, c.Dir)
	if err != nil {
		return nil, false, err
	}
	done, err = c.committed(ctx, entries)
	switch {
	case err != nil:
		return nil, false, err
	case done:
		return nil, true, c.withdraw(ctx)
	case c.Mode == Fail && slices.ContainsFunc(entries, others) && !slices.ContainsFunc(entries, c.marked):
		return nil, false, operator.Permanent(errors.Join(ErrExists, c.withdraw(ctx)))
	}
	return entries, false, nil
}

func others(e filesystem.FileInfo) bool { return path.Base(e.URI) != temporary }

// marked reports whether e is the marker of a try of this job.
func (o Output) marked(e filesystem.FileInfo) bool {
	return strings.HasPrefix(path.Base(e.URI), o.markerPrefix())
}

// withdraw removes what this job has written.
func (c *commit) withdraw(ctx context.Context) error {
	if err := c.fs.RemoveAll(ctx, c.jobDir()); err != nil {
		return err
	}
	return c.removeTemporary(ctx, c.fs)
}

// lost turns fs.ErrNotExist into ErrFenced, because only another try removes these files.
func (c *commit) lost(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return err
}

// fence removes the directories of other jobs and of this job's other attempts.
func (c *commit) fence(ctx context.Context) error {
	if err := c.removeOthers(ctx, c.temporary(), []string{c.Job}); err != nil {
		return err
	}
	return c.removeOthers(ctx, c.jobDir(), c.winners)
}

func (c *commit) removeOthers(ctx context.Context, dir string, keep []string) error {
	entries, err := c.fs.List(ctx, dir)
	if err != nil {
		return c.lost(err)
	}
	kept := make(map[string]bool, len(keep)) // both may be ten thousand
	for _, name := range keep {
		kept[name] = true
	}
	for _, entry := range entries {
		if kept[path.Base(entry.URI)] {
			continue
		}
		if err := c.fs.RemoveAll(ctx, entry.URI); err != nil {
			return err
		}
	}
	return nil
}

// committed reports whether an earlier try of this job has succeeded.
func (c *commit) committed(ctx context.Context, entries []filesystem.FileInfo) (bool, error) {
	i := slices.IndexFunc(entries, named(success))
	if i < 0 || entries[i].Size != int64(len(c.signature())) {
		return false, nil
	}
	file, err := c.fs.Open(ctx, entries[i].URI)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	content := make([]byte, len(c.signature()))
	if _, err := io.ReadFull(file, content); err != nil {
		return false, fmt.Errorf("read %s: %w", entries[i].URI, err)
	}
	return string(content) == c.signature(), nil
}

// signature returns the content of the marker, and so of _SUCCESS.
func (c *commit) signature() string { return c.Job + "\n" }

// mark takes over an earlier try's marker, or creates a marker.
func (c *commit) mark(ctx context.Context, entries []filesystem.FileInfo) error {
	if i := slices.IndexFunc(entries, c.marked); i >= 0 {
		return c.lost(c.fs.Rename(ctx, entries[i].URI, join(c.Dir, c.marker)))
	}
	made := join(c.attemptDir(c.winners[0]), c.marker)
	if err := c.write(ctx, made); err != nil {
		return c.lost(err)
	}
	return c.lost(c.fs.Rename(ctx, made, join(c.Dir, c.marker)))
}

func (c *commit) write(ctx context.Context, uri string) error {
	file, err := c.fs.Create(ctx, uri, filesystem.ExistingParents)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, c.signature())
	return errors.Join(err, file.Close())
}

// clear moves all files except this try's own into a winner's directory. It moves
// _SUCCESS first, so that no reader takes the rest for a complete result. If this try's
// marker is gone, clear moves nothing: another try has renamed the marker. If clear moved
// that marker away, later tries would treat the files here as those of another job.
func (c *commit) clear(ctx context.Context) error {
	entries, err := c.fs.List(ctx, c.Dir)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(entries, named(c.marker)) {
		return fmt.Errorf("%w: %s is gone", ErrFenced, c.marker)
	}
	var last []filesystem.Move // the others
	for _, entry := range entries {
		name := path.Base(entry.URI)
		move := filesystem.Move{From: entry.URI, To: join(c.attemptDir(c.winners[0]), "replaced-"+name)}
		switch name {
		case temporary, c.marker:
		case success:
			if err := c.fs.Rename(ctx, move.From, move.To); err != nil {
				return c.lost(err)
			}
		default:
			last = append(last, move)
		}
	}
	return c.lost(c.fs.RenameAll(ctx, last))
}

func named(name string) func(filesystem.FileInfo) bool {
	return func(e filesystem.FileInfo) bool { return path.Base(e.URI) == name }
}
