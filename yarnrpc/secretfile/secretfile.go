// Package secretfile opens files that hold what proves who somebody is, such as keytabs, tickets and tokens, and
// refuses those that others can read, or can have put there: whoever reads one is its owner from then on, and
// whoever has planted one decides in whose name this process acts.
//
// It keeps no state, starts no goroutine and imports nothing of ours.
package secretfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrExposed says that a file is not its user's alone. The text of the error has the remedy.
var ErrExposed = errors.New("the file is not this user's alone")

// exposed are the permissions that a group or others must not have.
const exposed = 0o077

// Open opens a file for reading that belongs to the user of this process, or to root, and that nobody else can read
// or write. Any other file is ErrExposed, and so is one that is no regular file. What is checked is what was opened,
// whatever becomes of the path. On systems without Unix' permissions nothing is checked but that. Errors do not name
// the path: the caller says what it holds.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, cause(err)
	}
	info, err := file.Stat()
	if err == nil {
		err = check(info, path)
	}
	if err != nil {
		return nil, errors.Join(cause(err), file.Close())
	}
	return file, nil
}

func check(info fs.FileInfo, path string) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: it is no regular file", ErrExposed)
	}
	owner, known := ownerOf(info)
	if !known {
		return nil
	}
	return judge(owner, os.Geteuid(), info.Mode(), path)
}

// judge compares a file's owner and mode with the user of a process.
func judge(owner, self int, mode fs.FileMode, path string) error {
	switch {
	case owner != self && owner != 0:
		return fmt.Errorf("%w: it belongs to the user with uid %d, and this process runs as uid %d: use a file of your own", ErrExposed, owner, self)
	case mode.Perm()&exposed != 0:
		return fmt.Errorf("%w: others can read or write it, as its mode is %#o: run chmod 600 %s", ErrExposed, mode.Perm(), path)
	}
	return nil
}

// cause is an error of package os without the path.
func cause(err error) error {
	if failed, is := errors.AsType[*fs.PathError](err); is {
		return failed.Err
	}
	return err
}
