// Package secretfile opens files with credentials, such as keytabs, tickets and tokens. It refuses
// a file that other users can read or could have written. A user who reads the file could act as
// its owner. A user who writes it could choose the identity of this process.
//
// The package keeps no state, starts no goroutine and imports nothing of this module.
package secretfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrExposed says that other users can read or write a file. The text of the error has the remedy.
var ErrExposed = errors.New("the file may be exposed to other users")

// exposed holds the permissions that group and others must not have.
const exposed = 0o077

// Open opens a file for reading. The file must be a regular file, belong to the user of this
// process or to root, and be neither readable nor writable for other users. Otherwise the error is
// ErrExposed. Open checks the opened file, not the path, so a later change of the path does not
// matter. On systems without Unix permissions it checks only that the file is regular. Errors do
// not name the path; the caller adds it.
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
		return fmt.Errorf("%w: it is not a regular file", ErrExposed)
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
		return fmt.Errorf("%w: other users can read or write it with mode %#o: run chmod 600 %s", ErrExposed, mode.Perm(), path)
	}
	return nil
}

// cause returns an error of package os without the path.
func cause(err error) error {
	if failed, is := errors.AsType[*fs.PathError](err); is {
		return failed.Err
	}
	return err
}
