// Package output writes the parts of a directory. A reader that finds _SUCCESS
// finds one complete result, even if attempts fail, repeat or come late.
//
//	<dir>/_temporary/<job>/<attempt>/part-00007   written by a subtask's attempt
//	<dir>/_committing-<job>-<attempt>             a commit is under way
//	<dir>/part-00007                              committed
//	<dir>/_SUCCESS                                all is committed; holds the job's id
//
// Each attempt of a subtask writes its part into a directory of its own. Then
// one commit task moves the parts of the winning attempts into place. See Commit for
// its protection against late attempts.
//
// The package has no goroutines. Of Bobbin it imports only filesystem and operator.
package output

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

const (
	temporary = "_temporary"
	success   = "_SUCCESS"
	// staging is the name of the staging area. A directory that contains it is a
	// user's home directory, and a job must not replace that.
	staging = ".bobbin"
	// writeBuffer is the size of writes, in bytes.
	writeBuffer = 256 << 10
)

// ErrExists says that the output directory holds something already.
var ErrExists = errors.New("output exists already: remove it, choose another, or pass dataflow.Overwrite() to the sink to replace it")

// Mode says how a job treats an existing output.
type Mode int

// The two modes.
const (
	Fail    Mode = iota // the job is refused with ErrExists
	Replace             // the old content is replaced at the commit, and not before
)

// Output is a directory that a job writes.
type Output struct {
	Dir  string // qualified URI
	Job  string // the job's id
	Mode Mode
}

// Check checks, before a job starts, that it may write a directory. Files of an
// ended job in _temporary do not count as content.
func Check(ctx context.Context, fsys filesystem.FileSystem, dir string, mode Mode) error {
	info, err := fsys.Stat(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return refused(fmt.Errorf("output %s: %w", dir, err))
	case !info.IsDir:
		return fmt.Errorf("output %s is a file; name a directory: %w", dir, fs.ErrExist)
	}
	entries, err := fsys.List(ctx, dir)
	if err != nil {
		return refused(fmt.Errorf("output %s: %w", dir, err))
	}
	if mode == Replace {
		if slices.ContainsFunc(entries, func(e filesystem.FileInfo) bool { return path.Base(e.URI) == staging }) {
			return fmt.Errorf("output %s is a user's home directory, because it contains %s: choose another directory", dir, staging)
		}
		return nil
	}
	if slices.ContainsFunc(entries, others) {
		return fmt.Errorf("output %s: %w", dir, ErrExists)
	}
	return nil
}

// Part is a part file that is being written. Only one goroutine may use it.
type Part struct {
	*bufio.Writer
	file io.Closer
}

// Create makes the part of an attempt of the subtask with this index, and the
// directories above it.
func (o Output) Create(ctx context.Context, fsys filesystem.FileSystem, attempt string, index int) (*Part, error) {
	file, err := fsys.Create(ctx, join(o.attemptDir(attempt), partName(index)), filesystem.MakeParents)
	if err != nil {
		return nil, operator.OfFiles(refused(fmt.Errorf("create output: %w", err)))
	}
	return &Part{Writer: bufio.NewWriterSize(file, writeBuffer), file: file}, nil
}

// refused adds the remedy to the error of an output without write permission.
func refused(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: ask for permission to write there, or choose another output", err)
	}
	return err
}

// Close writes the buffered bytes. After an error the part must not be
// committed.
func (p *Part) Close() error {
	err := p.Flush()
	if closeErr := p.file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return operator.OfFiles(fmt.Errorf("write output: %w", err))
	}
	return nil
}

// Abort closes a part that will not be committed.
func (p *Part) Abort() {
	_ = p.file.Close() // the part is lost anyway
}

func (o Output) temporary() string                { return join(o.Dir, temporary) }
func (o Output) jobDir() string                   { return join(o.temporary(), o.Job) }
func (o Output) attemptDir(attempt string) string { return join(o.jobDir(), attempt) }

func partName(index int) string { return fmt.Sprintf("part-%05d", index) }

func join(dir, name string) string {
	if dir[len(dir)-1] == '/' {
		return dir + name
	}
	return dir + "/" + name
}
