package spill

import (
	"errors"
	"io"
	"os"
)

// FS makes temporary files.
type FS interface {
	// Create makes a new, empty file in a directory. Its errors name the directory.
	Create(dir string) (File, error)
}

// File is a temporary file. Close removes it.
type File interface {
	io.Writer // appends
	io.ReaderAt
	io.Closer
	// Name is the path, for errors.
	Name() string
}

// OS makes files of the operating system. Where the system allows it, Create
// removes the file's name at once. The file then exists until it is closed or the
// process ends, even by SIGKILL.
type OS struct{}

// Create makes a file that only this user can read.
func (OS) Create(dir string) (File, error) {
	f, err := os.CreateTemp(dir, "spill-*")
	if err != nil {
		return nil, err
	}
	if os.Remove(f.Name()) != nil { // Windows keeps the names of open files
		return named{f}, nil //nolint:nilerr // Close removes the name
	}
	return f, nil
}

// named is a file whose name still exists.
type named struct{ *os.File }

func (f named) Close() error {
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}
