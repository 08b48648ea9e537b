package output

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// version is the name of the directory that holds the files of an epoch. It changes with each master, and with each
// attempt of the commit.
type version struct {
	epoch  int
	commit string // the attempt of the commit that has the directory; "" while tasks write
}

func (v version) String() string {
	name := "e" + strconv.Itoa(v.epoch)
	if v.commit != "" {
		name += "." + v.commit
	}
	return name
}

// parseVersion reads the name of a directory.
func parseVersion(name string) (v version, is bool) {
	number, commit, committing := strings.Cut(name, ".")
	epoch, err := strconv.Atoi(strings.TrimPrefix(number, "e"))
	v = version{epoch, commit}
	return v, err == nil && v.String() == name && committing == (commit != "")
}

// compare orders versions by their age, the oldest first. Attempts of one commit are numbered at the end of their names.
func (v version) compare(w version) int {
	return cmp.Or(cmp.Compare(v.epoch, w.epoch), cmp.Compare(len(v.commit), len(w.commit)), cmp.Compare(v.commit, w.commit))
}

// at gives the directory of a version.
func (o Output) at(v version) string { return join(o.jobDir(), v.String()) }

// versions lists the directories of all epochs of the job, the newest first. There may be several: a late call of an
// old master may make its directory again, which then is empty.
func (o Output) versions(ctx context.Context, fsys filesystem.FileSystem) ([]version, error) {
	entries, err := fsys.List(ctx, o.jobDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return versionsOf(entries), nil
}

func versionsOf(entries []filesystem.FileInfo) []version {
	var found []version
	for _, entry := range entries {
		if v, is := parseVersion(path.Base(entry.URI)); is {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(v, w version) int { return w.compare(v) })
	return found
}

// removeUpTo removes the directories of this version and of older ones.
func (o Output) removeUpTo(ctx context.Context, fsys filesystem.FileSystem, newest version) error {
	found, err := o.versions(ctx, fsys)
	if err != nil {
		return err
	}
	for _, v := range found {
		if v.compare(newest) > 0 {
			continue
		}
		if err := fsys.RemoveAll(ctx, o.at(v)); err != nil {
			return err
		}
	}
	return o.removeEmpty(ctx, fsys)
}

// removeEmpty removes the job's directory and _temporary, unless another epoch or another job uses them.
func (o Output) removeEmpty(ctx context.Context, fsys filesystem.FileSystem) error {
	for _, dir := range []string{o.jobDir(), o.temporary()} {
		if err := fsys.Remove(ctx, dir); err != nil && !errors.Is(err, filesystem.ErrNotEmpty) {
			return err
		}
	}
	return nil
}
