// Package output writes the parts of a directory. A reader that finds _SUCCESS finds one complete result, even if
// attempts and masters fail, repeat, or come late.
//
//	<dir>/_temporary/<job>/e2/<attempt>/part-00007   written by an attempt of a task, below a master of epoch 2
//	<dir>/_temporary/<job>/e2.<attempt>              the same directory once this attempt of the commit has it
//	<dir>/_committing-<job>-<attempt>                a commit is under way
//	<dir>/part-00007                                 committed; part-00007.gz, if the parts are compressed
//	<dir>/_SUCCESS                                   all is committed; holds the job's id
//
// An epoch is the term of a master (an attempt of the ApplicationMaster); names of attempts begin with it. Before tasks
// run, the master makes the directory of its epoch, or takes over that of the last epoch with the parts in it: see Open. Each
// attempt of a task makes a directory of its own there, and writes its part. Then a commit task collects the names of the winning
// attempts, gets leave from the master, and moves their parts into place: see Commit. A job that ends without a result is cleaned
// up: see Discard.
//
// Processes that were given up may still run. Three rules keep them away:
//
//   - Nothing makes the parents of what it makes, except Open. All that a task or a commit changes is a rename out of the
//     directory of its epoch or into it, or carries the name of its attempt. So whoever renames or removes this directory
//     stops all that came before: the next master, the next attempt of the commit, Discard, and the commit of another
//     job. Of two, exactly one succeeds.
//   - A process that sees a later epoch gives up. It removes nothing of it: the directories above are removed only when
//     they are empty.
//   - All commits of a job have the same winners. The master stores the winners before it gives leave for the first one,
//     and nobody writes parts afterwards. So a late commit can only do what its successor does, too.
//
// Old content that a commit replaces is moved into the directory of the epoch, and stays there until _SUCCESS is in
// place. Every change of masters moves it along.
//
// If two jobs write one directory at the same time, the commit that comes later takes away the other job's files, which
// then fails for good. But if the output must not exist (Fail), the later commit is refused, and the other one goes on.
//
// The package has no goroutines. Of Bobbin it imports only compress, filesystem and operator.
package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
)

const (
	temporary = "_temporary"
	success   = "_SUCCESS"
	// staging is the name of the staging area. A directory that contains it is a
	// user's home directory, and a job must not replace that.
	staging = ".bobbin"
)

// ErrFenced says that a later master, a later attempt of the commit or another job has taken or removed the files of
// this epoch.
var ErrFenced = errors.New("a later attempt or another job has taken over the output")

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
	Dir   string // qualified URI
	Job   string // the job's id
	Epoch int    // of the master
	Mode  Mode
	// Compression is the format of the parts, which compress.NewWriter must know. Only Create and
	// Commit need it.
	Compression compress.Format
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

// refused adds the remedy to the error of an output without write permission.
func refused(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: ask for permission to write there, or choose another output", err)
	}
	return err
}

func (o Output) temporary() string { return join(o.Dir, temporary) }
func (o Output) jobDir() string    { return join(o.temporary(), o.Job) }

// partName returns the name of the part of a subtask: part-00007, or part-00007.gz.
func (o Output) partName(index int) string {
	return fmt.Sprintf("part-%05d", index) + o.Compression.Extension()
}

func join(dir, name string) string {
	if dir[len(dir)-1] == '/' {
		return dir + name
	}
	return dir + "/" + name
}
