package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Names in the directory of the epoch, beside those of attempts.
const (
	placing       = "placing" // old content is away
	asidePrefix   = "aside-"  // and the name of a try of the commit: what it has moved away
	othersPrefix  = "job-"    // there: the files of another job below _temporary
	contentPrefix = "old-"    // there: old content
)

// aside gives a path for something that this look moves away. A name may come again in another look.
func (c *commit) aside(ctx context.Context, name string) (string, error) {
	dir := join(c.own(), fmt.Sprintf("%s%s-%d", asidePrefix, c.attempt, c.look))
	if !c.moved {
		if err := c.fs.Mkdir(ctx, dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", lost(err)
		}
		c.moved = true
	}
	return join(dir, name), nil
}

// refuse fails if the output has content that this job may not replace. It then removes what this job has written, unless
// parts are in place.
func (c *commit) refuse(ctx context.Context, entries []filesystem.FileInfo) error {
	if c.Mode != Fail || c.placing || !slices.ContainsFunc(entries, c.foreign) {
		return nil
	}
	return operator.Permanent(errors.Join(ErrExists, c.withdraw(ctx, entries)))
}

// foreign reports whether e is not of this job, if no part of the job is in place.
func (o Output) foreign(e filesystem.FileInfo) bool { return others(e) && !o.marked(e) }

func others(e filesystem.FileInfo) bool { return path.Base(e.URI) != temporary }

// withdraw gives back what was taken of other jobs, and removes what this job has written. A marker carries the name of
// its try: if a later try has taken it over, it stays.
func (c *commit) withdraw(ctx context.Context, entries []filesystem.FileInfo) error {
	if err := c.giveBack(ctx); err != nil {
		return err
	}
	for _, entry := range entries {
		if c.marked(entry) {
			if err := c.fs.Remove(ctx, entry.URI); err != nil {
				return err
			}
		}
	}
	return c.removeUpTo(ctx, c.fs, c.version())
}

// takeOthers moves the files of other jobs below _temporary into the directory of the epoch.
func (c *commit) takeOthers(ctx context.Context) error {
	entries, err := c.fs.List(ctx, c.temporary())
	if err != nil {
		return lost(err)
	}
	for _, entry := range entries {
		name := path.Base(entry.URI)
		if name == c.Job {
			continue
		}
		to, err := c.aside(ctx, othersPrefix+name)
		if err != nil {
			return err
		}
		if err := c.fs.Rename(ctx, entry.URI, to); err != nil {
			return lost(err)
		}
	}
	return nil
}

// giveBack moves the files of other jobs back that this or an earlier try has taken.
func (c *commit) giveBack(ctx context.Context) error {
	tries, err := c.fs.List(ctx, c.own())
	if err != nil {
		return lost(err)
	}
	for _, dir := range tries {
		if !strings.HasPrefix(path.Base(dir.URI), asidePrefix) {
			continue
		}
		entries, err := c.fs.List(ctx, dir.URI)
		if err != nil {
			return lost(err)
		}
		for _, entry := range entries {
			job, other := strings.CutPrefix(path.Base(entry.URI), othersPrefix)
			if !other {
				continue
			}
			if err := c.fs.Rename(ctx, entry.URI, join(c.temporary(), job)); err != nil {
				return fmt.Errorf("give back %s: %w", entry.URI, err)
			}
		}
	}
	return nil
}

// clear moves away all that is neither this job's marker nor one of its parts in place, and gives these parts.
func (c *commit) clear(ctx context.Context) (ours map[int]bool, err error) {
	entries, err := c.fs.List(ctx, c.Dir)
	if err != nil {
		return nil, lost(err)
	}
	if err := c.refuse(ctx, entries); err != nil {
		return nil, err
	}
	ours = make(map[int]bool)
	if c.placing {
		if entries, err = c.withoutOurs(ctx, entries, ours); err != nil {
			return nil, err
		}
	}
	var first, last []filesystem.Move
	for _, entry := range entries {
		name := path.Base(entry.URI)
		if name == temporary || name == c.marker() {
			continue
		}
		if c.Mode == Fail {
			return nil, operator.Permanent(fmt.Errorf("%w: there is %s, which this job has not written", ErrExists, entry.URI))
		}
		to, err := c.aside(ctx, contentPrefix+name)
		if err != nil {
			return nil, err
		}
		move := filesystem.Move{From: entry.URI, To: to}
		switch {
		case strings.HasPrefix(name, markerPrefix):
			if err := c.fs.Rename(ctx, move.From, move.To); err != nil {
				return nil, lost(err)
			}
		case name == success:
			first = append(first, move)
		default:
			last = append(last, move)
		}
	}
	for _, moves := range [][]filesystem.Move{first, last} {
		if err := c.fs.RenameAll(ctx, moves); err != nil {
			return nil, lost(err)
		}
	}
	if c.placing {
		return ours, nil
	}
	if err := c.fs.Mkdir(ctx, join(c.own(), placing)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, lost(err)
	}
	return ours, nil
}

// withoutOurs adds the parts of this job that are in place to ours, and gives the other entries.
func (c *commit) withoutOurs(ctx context.Context, entries []filesystem.FileInfo, ours map[int]bool) ([]filesystem.FileInfo, error) {
	indexes := make(map[string]int, len(c.winners))
	for i := range c.winners {
		indexes[c.partName(i)] = i
	}
	var rest []filesystem.FileInfo
	for _, entry := range entries {
		i, is := indexes[path.Base(entry.URI)]
		if is {
			_, err := c.fs.Stat(ctx, c.source(i))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if ours[i] = err != nil; ours[i] {
				continue
			}
		}
		rest = append(rest, entry)
	}
	return rest, nil
}
