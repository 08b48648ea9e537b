package taskexecutor

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Why a program is not run that was found where it should be.
var (
	// ErrProgramChanged says that the file is not the program that the job was
	// planned with.
	ErrProgramChanged = errors.New("the file is not the program that was uploaded: remove it and submit the job again")
	// ErrProgramName says that a program has a name that no file has.
	ErrProgramName = errors.New("name is not that of a file")

	errNoPrograms = errors.New("this worker reaches no file system")
)

// Programs is where a worker gets the programs of jobs from which were not
// localized with its container. The zero value gets none.
type Programs struct {
	// Open reaches the file systems by these tokens (creds.Credentials.Marshal),
	// for one fetch: between them a worker holds no connection to a NameNode.
	Open func(tokens msg.Secret) (Files, error)
	// Dir takes what is fetched, each copy in a folder of its own. It is made when
	// it is needed.
	Dir string
}

// Files is the part of a filesystem.FileSystem that fetching needs.
type Files interface {
	Stat(ctx context.Context, uri string) (filesystem.FileInfo, error)
	Open(ctx context.Context, uri string) (filesystem.File, error)
	Close() error
}

// holdProgram fetches a program in a goroutine that holds the copy until it is
// dropped, or until the TaskExecutor ends.
func (s *shell) holdProgram(ctx context.Context, e FetchProgram) {
	held, drop := context.WithCancel(ctx)
	s.mu.Lock()
	s.copies[e.Copy] = drop
	s.mu.Unlock()
	s.running.Go(func() {
		defer s.dropProgram(e.Copy)
		dir := filepath.Join(s.t.env.Programs.Dir, strconv.FormatUint(uint64(e.Copy), 10))
		fetched, err := s.t.env.Programs.fetch(held, e, dir)
		if err == nil {
			s.post(held, fetched)
			<-held.Done()
		}
		if err := os.RemoveAll(dir); err != nil {
			s.t.logger.WithField("copy", e.Copy).WithError(err).Warn("program is left behind")
		}
		if err != nil {
			s.post(held, ProgramFailed{Copy: e.Copy, Cause: err.Error()})
		}
	})
}

// dropProgram has the goroutine that holds a copy remove it.
func (s *shell) dropProgram(id CopyID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if drop, held := s.copies[id]; held {
		drop()
		delete(s.copies, id)
	}
}

// fetch copies a program into dir, which it makes in p.Dir. What it leaves behind after
// an error is the caller's to remove.
func (p Programs) fetch(ctx context.Context, e FetchProgram, dir string) (ProgramFetched, error) {
	fetched := ProgramFetched{Copy: e.Copy, File: filepath.Join(dir, e.Program.Name)}
	size, err := p.bring(ctx, e, dir)
	if err != nil {
		return fetched, fmt.Errorf("fetch program %s (SHA-256 %s) from %s: %w", e.Program.Name, e.Program.SHA256, e.Program.URI, err)
	}
	fetched.Size = config.Bytes(size)
	return fetched, nil
}

func (p Programs) bring(ctx context.Context, e FetchProgram, dir string) (size int64, err error) {
	if p.Open == nil {
		return 0, errNoPrograms
	}
	if name := e.Program.Name; name == "." || name != filepath.Base(name) || !filepath.IsLocal(name) {
		return 0, ErrProgramName
	}
	files, err := p.Open(e.Tokens)
	if err != nil {
		return 0, err
	}
	defer files.Close()
	info, err := files.Stat(ctx, e.Program.URI)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: submit the job again, which uploads the program anew", err)
	}
	if err != nil {
		return 0, err
	}
	source, err := files.Open(ctx, e.Program.URI)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	release := context.AfterFunc(ctx, func() { source.Close() }) // ends a read that waits
	defer release()
	if err := errors.Join(os.MkdirAll(p.Dir, 0o700), os.Mkdir(dir, 0o700)); err != nil {
		return 0, err
	}
	final := filepath.Join(dir, e.Program.Name)
	part := final + ".part"
	sum, size, err := write(part, io.LimitReader(source, info.Size+1)) // one more, to see whether it ends
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, err
	case size != info.Size:
		return 0, fmt.Errorf("%w: of %d bytes %d were read", ErrProgramChanged, info.Size, size)
	case sum != e.Program.SHA256:
		return 0, fmt.Errorf("%w: its SHA-256 is %s", ErrProgramChanged, sum)
	}
	return size, os.Rename(part, final)
}

// write writes a file, and gives the SHA-256 and the number of the bytes.
func write(name string, from io.Reader) (sum string, size int64, err error) {
	digest := sha256.New()
	file := bufio.NewWriterSize(runnable(name), writeBytes)
	if size, err = io.Copy(io.MultiWriter(file, digest), from); err == nil {
		err = file.Flush()
	}
	return hex.EncodeToString(digest.Sum(nil)), size, err
}

// writeBytes are written at a time, and held in memory until then.
const writeBytes = 256 << 10

// runnable is a file that its owner can run. It is open only while it is written
// to, and nothing is forked meanwhile: a child has all that was open until some
// time after it began to execute its own program, and what anybody has open for
// writing cannot be executed (ETXTBSY).
type runnable string

// Write appends.
func (r runnable) Write(p []byte) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	file, err := os.OpenFile(string(r), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o700)
	if err != nil {
		return 0, err
	}
	n, err := file.Write(p)
	return n, errors.Join(err, file.Close())
}
