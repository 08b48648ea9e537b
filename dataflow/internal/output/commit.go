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

const markerPrefix = "_committing-"

// errChanged says that another process has changed the output since the last look.
var errChanged = errors.New("it has changed meanwhile")

// Commit moves the parts of the winning attempts into place. winners holds the attempts by subtask, and is the same in
// all calls of a job, also below later masters: see the package's comment. attempt is the name of this try. The names of
// later tries of an epoch are longer, or equally long and greater; that of each try differs. If this try fails at any
// point, another may begin while this one still runs.
//
// Let D be the directory of the epoch. The steps:
//
//  1. rename D to carry the name of this try. That stops all earlier tries, because they rename files out of D or into it,
//     and know its old name. If a later epoch or try has D, give up.
//  2. If _SUCCESS is this job's, an earlier try has succeeded: remove this job's own files and stop. If D is gone
//     without that, or lacks the directory of a winner, the output belongs to somebody else: fail for good.
//  3. If the output has content that this job may not replace, give back what was taken in step 5, remove this job's
//     own files, and fail for good.
//  4. Create the marker, or rename an earlier try's to carry this try's name.
//  5. Move the directories of other jobs below _temporary into D. That stops their commits. Look at step 3 again.
//  6. Move old content into D: markers of other jobs first, because they may become _SUCCESS; then _SUCCESS.
//  7. Make the directory "placing" in D: from now on, a part in place whose source is gone is ours.
//  8. Move the parts into place, several at a time and in any order.
//  9. Rename the marker to _SUCCESS.
//  10. Remove D, and what is empty above it.
//
// A try that finds another state than it saw before begins again. A try that died or was stopped may leave each step half
// done; its successor goes on from there.
func (o Output) Commit(ctx context.Context, fsys filesystem.FileSystem, attempt string, winners []string) error {
	var err error
	for look := range looks {
		c := commit{Output: o, fs: fsys, attempt: attempt, look: look, winners: winners}
		if err = c.run(ctx); !errors.Is(err, errChanged) {
			break
		}
	}
	if err != nil {
		return operator.OfFiles(fmt.Errorf("commit output %s: %w", o.Dir, err))
	}
	return nil
}

// commit is one look of a try, and what follows from it.
type commit struct {
	Output
	fs      filesystem.FileSystem
	attempt string
	look    int
	winners []string

	placing bool // an earlier try has finished step 6
	moved   bool // this look has made its directory for what it moves
}

func (c *commit) run(ctx context.Context) error {
	claimed, err := c.claim(ctx)
	if err != nil {
		return err
	}
	entries, err := c.fs.List(ctx, c.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	done, err := c.committed(ctx, c.fs, entries)
	switch {
	case err != nil:
		return err
	case done:
		return c.removeUpTo(ctx, c.fs, c.version())
	case !claimed:
		return operator.Permanent(fmt.Errorf("%w: %s has no directory of epoch %d", ErrFenced, c.jobDir(), c.Epoch))
	}
	if err := c.inspect(ctx); err != nil {
		return err
	}
	if err := c.refuse(ctx, entries); err != nil {
		return err
	}
	if err := c.mark(ctx, entries); err != nil {
		return err
	}
	if err := c.takeOthers(ctx); err != nil {
		return err
	}
	ours, err := c.clear(ctx)
	if err != nil {
		return err
	}
	if err := c.place(ctx, ours); err != nil {
		return err
	}
	return c.finish(ctx)
}

// version is the directory of the epoch as this try calls it, and own its path.
func (c *commit) version() version { return version{c.Epoch, c.attempt} }
func (c *commit) own() string      { return c.at(c.version()) }

// claim makes the directory of the epoch this try's, if there is one.
func (c *commit) claim(ctx context.Context) (claimed bool, err error) {
	found, err := c.versions(ctx, c.fs)
	if err != nil || len(found) == 0 {
		return false, err
	}
	newest := found[0]
	switch newer := newest.compare(c.version()); {
	case newer > 0:
		return false, fmt.Errorf("%w: there is %s", ErrFenced, newest)
	case newer == 0:
		return true, nil
	case newest.epoch < c.Epoch:
		return false, nil
	}
	return true, lost(c.fs.Rename(ctx, c.at(newest), c.own()))
}

// lost adds errChanged if something is missing that was there, or there that was missing.
func lost(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %w", errChanged, err)
	}
	return err
}

// committed reports whether an earlier try of this job has succeeded.
func (o Output) committed(ctx context.Context, fsys filesystem.FileSystem, entries []filesystem.FileInfo) (bool, error) {
	i := slices.IndexFunc(entries, named(success))
	if i < 0 || entries[i].Size != int64(len(o.signature())) {
		return false, nil
	}
	content, _, err := fsys.Load(ctx, entries[i].URI, entries[i].Size)
	if err != nil {
		return false, lost(err)
	}
	return string(content) == o.signature(), nil
}

// signature returns the content of the marker, and so of _SUCCESS.
func (o Output) signature() string { return o.Job + "\n" }

// inspect looks into the directory of the epoch. It is not the one with the parts if it lacks a winner's directory: then a
// late call has made it again.
func (c *commit) inspect(ctx context.Context) error {
	entries, err := c.fs.List(ctx, c.own())
	if err != nil {
		return lost(err)
	}
	there := make(map[string]bool, len(entries)) // as the winners, there may be ten thousand
	for _, entry := range entries {
		there[path.Base(entry.URI)] = true
	}
	for _, winner := range c.winners {
		if !there[winner] {
			return operator.Permanent(fmt.Errorf("%w: %s lacks %s", ErrFenced, c.own(), winner))
		}
	}
	c.placing = there[placing]
	return nil
}

// mark creates the marker, or takes over that of an earlier try.
func (c *commit) mark(ctx context.Context, entries []filesystem.FileInfo) error {
	marker := join(c.Dir, c.marker())
	i := slices.IndexFunc(entries, c.marked)
	if i >= 0 && entries[i].URI == marker {
		return nil
	}
	if i >= 0 {
		return lost(c.fs.Rename(ctx, entries[i].URI, marker))
	}
	made, err := c.aside(ctx, c.marker())
	if err != nil {
		return err
	}
	if err := c.write(ctx, made); err != nil {
		return lost(err)
	}
	return lost(c.fs.Rename(ctx, made, marker))
}

func (c *commit) marker() string { return markerPrefix + c.Job + "-" + c.attempt }

// marked reports whether e is the marker of a try of this job.
func (o Output) marked(e filesystem.FileInfo) bool {
	return strings.HasPrefix(path.Base(e.URI), markerPrefix+o.Job+"-")
}

func (c *commit) write(ctx context.Context, uri string) error {
	file, err := c.fs.Create(ctx, uri, filesystem.ExistingParents)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, c.signature())
	return errors.Join(err, file.Close())
}

// place moves the parts into place that are not there yet.
func (c *commit) place(ctx context.Context, ours map[int]bool) error {
	var moves []filesystem.Move
	for i := range c.winners {
		if !ours[i] {
			moves = append(moves, filesystem.Move{From: c.source(i), To: join(c.Dir, c.partName(i))})
		}
	}
	return lost(c.fs.RenameAll(ctx, moves))
}

// source is where the part of a winner comes from.
func (c *commit) source(i int) string { return join(join(c.own(), c.winners[i]), c.partName(i)) }

// finish completes the result, and removes what is not needed any more.
func (c *commit) finish(ctx context.Context) error {
	if err := c.fs.Rename(ctx, join(c.Dir, c.marker()), join(c.Dir, success)); err != nil {
		if done, _ := c.hasResult(ctx, c.fs); !done { // the answer may be lost
			return lost(err)
		}
	}
	_ = c.removeUpTo(ctx, c.fs, c.version()) // the result is complete nevertheless; Discard and the next commit remove the rest
	return nil
}

// hasResult reports whether the output has the result of this job.
func (o Output) hasResult(ctx context.Context, fsys filesystem.FileSystem) (bool, error) {
	entries, err := fsys.List(ctx, o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return o.committed(ctx, fsys, entries)
}

func named(name string) func(filesystem.FileInfo) bool {
	return func(e filesystem.FileInfo) bool { return path.Base(e.URI) == name }
}
