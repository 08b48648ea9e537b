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
)

// errProgramName says that a program has a name that no file has.
var errProgramName = errors.New("program name is not a file name")

var errNoPrograms = errors.New("this worker has no access to a file system")

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

// Files are file systems that programs are fetched from.
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
			<-held.Done()
		}
		if err := os.RemoveAll(dir); err != nil {
			s.logger.WithField("copy", e.Copy).WithError(err).Warn("copy of the program cannot be removed")
		}
		if err != nil {
			s.loop.Tell(held, programFailed{Copy: e.Copy, Cause: err.Error()})
		}
	})
}

// dropProgram has the goroutine that holds a copy remove it.
func (s *shell) dropProgram(id copyID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if drop, held := s.copies[id]; held {
		drop()
		delete(s.copies, id)
	}
}

// fetch brings a program into dir, which it makes. What it leaves behind after an
// error is the caller's to remove.
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

// open makes dir and reaches the file systems.
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
