package taskexecutor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// errProgramName says that the name of a program is not a file name.
var errProgramName = errors.New("program name is not a file name")

var errNoPrograms = errors.New("this worker has no access to a file system")

// Programs fetches the programs of jobs that were not localized with the container. The zero value
// fetches none.
type Programs struct {
	// Open opens the file systems with these tokens (creds.Credentials.Marshal), for one fetch:
	// between fetches a worker holds no connection to a NameNode.
	Open func(tokens msg.Secret) (Files, error)
	// Dir is the folder for fetched programs, with a folder for each copy. It is made when it is
	// needed.
	Dir string
}

// Files are the file systems from which programs are fetched.
type Files interface {
	program.Files
	Close() error
}

// holdProgram fetches a program in a goroutine that holds the copy until it is
// dropped, or until the TaskExecutor ends.
func (s *shell) holdProgram(ctx context.Context, e fetchProgram) {
	held, drop := context.WithCancel(ctx)
	s.mu.Lock()
	s.copies[e.Copy] = drop
	s.mu.Unlock()
	s.loop.Go(func(context.Context) {
		defer s.dropProgram(e.Copy)
		dir := filepath.Join(s.env.Programs.Dir, strconv.FormatUint(uint64(e.Copy), 10))
		fetched, err := s.env.Programs.fetch(held, e, dir)
		if err == nil {
			s.loop.Tell(held, fetched)
			sched.First(held)
		}
		if err := os.RemoveAll(dir); err != nil {
			s.logger.WithField("copy", e.Copy).WithError(err).Warn("copy of the program cannot be removed")
		}
		if err != nil {
			s.loop.Tell(held, programFailed{Copy: e.Copy, Cause: err.Error()})
		}
	})
}

// dropProgram cancels the goroutine that holds a copy, which then removes it.
func (s *shell) dropProgram(id copyID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if drop, held := s.copies[id]; held {
		drop()
		delete(s.copies, id)
	}
}

// fetch makes dir and fetches a program into it. After an error the caller removes dir.
func (p Programs) fetch(ctx context.Context, e fetchProgram, dir string) (programFetched, error) {
	files, err := p.open(e, dir)
	if err != nil {
		return programFetched{}, fmt.Errorf("fetch program %s (SHA-256 %s) from %s: %w", e.Program.Name, e.Program.SHA256, e.Program.URI, err)
	}
	defer files.Close()
	file := filepath.Join(dir, e.Program.Name)
	size, err := program.Fetch(ctx, files, e.Program, file)
	return programFetched{Copy: e.Copy, File: file, Size: config.Bytes(size)}, err
}

// open makes dir and opens the file systems.
func (p Programs) open(e fetchProgram, dir string) (Files, error) {
	if p.Open == nil {
		return nil, errNoPrograms
	}
	if name := e.Program.Name; name == "." || name != filepath.Base(name) || !filepath.IsLocal(name) {
		return nil, errProgramName
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return p.Open(e.Tokens)
}
