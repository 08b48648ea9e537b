package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// ErrExposed says that other users can put files into a directory from which containers take the
// files that they run. The text names the place, its owner, its mode and the remedy.
var ErrExposed = errors.New("other users could put files there that your containers run")

// guard refuses an area into which other users could put files. Call it when the application's
// directory exists. It refuses directories that others have made or may write to, and a home in
// which every user may replace the area. It does not check the directories above: they are the
// administrators'.
func (a *Area) guard(ctx context.Context, dir string) error {
	home, err := a.fs.Status(ctx, strings.TrimSuffix(a.root, DirName))
	if err == nil {
		err = Replaceable(home)
	}
	for _, at := range []string{a.root, dir, a.root + "/cache"} {
		if err == nil {
			err = a.private(ctx, at)
		}
	}
	return err
}

// Own refuses a file in an application's directory (Dir) that another user could have put there:
// ErrExposed. name may be a path with directories. After Own has accepted the file, only the user can
// replace it. If the file is missing, the error is fs.ErrNotExist.
func Own(ctx context.Context, fsys FileSystem, dir, name string) error {
	a := areaOf(fsys, dir)
	_, err := fsys.Status(ctx, dir+"/"+name)
	if err == nil {
		err = a.guard(ctx, dir)
	}
	if err == nil {
		err = ownPath(ctx, fsys, dir, name, a.own)
	}
	return err
}

// OwnBelow is Own for a path in a directory that several users may share. It refuses that directory only
// if every user may replace its content.
func OwnBelow(ctx context.Context, fsys FileSystem, dir, name string) error {
	above, err := fsys.Status(ctx, dir)
	if err == nil {
		err = Replaceable(above)
	}
	if err == nil {
		err = ownPath(ctx, fsys, dir, name, func(s dfs.Status) error { return alone(s, "") })
	}
	return err
}

// ownPath checks each directory of a path below dir, then its file.
func ownPath(ctx context.Context, fsys FileSystem, dir, name string, own func(dfs.Status) error) error {
	for part := range strings.SplitSeq(name, "/") {
		dir += "/" + part
		status, err := fsys.Status(ctx, dir)
		if err == nil {
			err = own(status)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cached returns the status of a file of a cache entry. It refuses the file unless file and entry
// are the user's alone.
func (a *Area) cached(ctx context.Context, sha256, uri string) (dfs.Status, error) {
	file, err := a.fs.Status(ctx, uri)
	if err == nil {
		err = a.private(ctx, a.entry(sha256))
	}
	if err == nil {
		err = a.own(file)
	}
	return file, err
}

// private refuses a directory that is not the user's alone. It accepts a missing one.
func (a *Area) private(ctx context.Context, dir string) error {
	status, err := a.fs.Status(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.own(status)
}

// own refuses a file or directory that is not the user's alone.
func (a *Area) own(s dfs.Status) error {
	return alone(s, fmt.Sprintf(", and remove what they may have put there (hadoop fs -rm -r %s/cache)", a.root))
}

// alone is own. more is added to the remedy for what other users may write to.
func alone(s dfs.Status, more string) error {
	if !s.Own {
		return exposed(s, fmt.Sprintf("you do not own it: find out who created it, and remove it (hadoop fs -rm -r %s)", s.URI))
	}
	return shared(s, more)
}

// Shared refuses a file or directory that users other than its owner may write to.
func Shared(s dfs.Status) error { return shared(s, "") }

func shared(s dfs.Status, more string) error {
	switch {
	case s.Mode&0o022 == 0:
		return nil
	case s.ACL:
		return exposed(s, fmt.Sprintf("its ACL lets other users write: remove the ACL (hadoop fs -setfacl -b %[1]s; hadoop fs -chmod go-w %[1]s)%s", s.URI, more))
	default:
		return exposed(s, fmt.Sprintf("other users may write to it: forbid that (hadoop fs -chmod go-w %s)%s", s.URI, more))
	}
}

// Replaceable refuses a directory in which every user may replace the content: all may write, and
// it is not sticky.
func Replaceable(s dfs.Status) error {
	if s.Mode&0o002 == 0 || s.Mode&fs.ModeSticky != 0 {
		return nil
	}
	return exposed(s, fmt.Sprintf("every user may replace what is in it: forbid that (hadoop fs -chmod o-w %s)", s.URI))
}

func exposed(s dfs.Status, why string) error {
	mode := s.Mode
	if s.IsDir {
		mode |= fs.ModeDir
	}
	return fmt.Errorf("%s (owner %s, mode %s): %w: %s", s.URI, s.Owner, mode, ErrExposed, why)
}
