package taskexecutor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/localcopy"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// errProgramName says that the name of a program is not a file name.
var errProgramName = errors.New("program name is not a file name")

// errNoFiles says that artifacts cannot be fetched.
var errNoFiles = errors.New("this worker has no access to a file system")

// Artifacts makes copies of jobs' cached files, and of the programs that were not localized with the
// container. Each copy has an id of its own. The methods may be called from any goroutine.
type Artifacts interface {
	// FetchProgram copies a program.
	FetchProgram(ctx context.Context, id uint64, p msg.Program) (path string, size config.Bytes, err error)
	// FetchFile copies a cached file.
	FetchFile(ctx context.Context, id uint64, f jobgraph.CachedFile) (path string, size config.Bytes, err error)
	// Remove removes a copy that nothing uses any more, also one that has failed.
	Remove(id uint64) error
}

// DiskArtifacts are Artifacts on the disks of this machine.
type DiskArtifacts struct {
	// Open opens the file systems for one fetch: between fetches a worker holds no connection to a
	// NameNode. A fetch may last longer than the tokens with which it begins, so each of its
	// connections must show the newest ones (Environment.UpdateTokens).
	Open func() (Files, error)
	// Dirs are the folders for copies, on different disks. Each copy has a folder of its own in one
	// of them, and the next copy goes to the next disk. A folder is made when it is needed.
	Dirs []string
	// InPlace says that cached files on this machine's disk are not copied.
	InPlace bool
}

// Files are the file systems from which artifacts are fetched.
type Files interface {
	localcopy.Files
	Close() error
}

// Share makes a DiskArtifacts.Open from one that opens file systems. Fetches that run at the same time use the
// same ones, and thereby one connection to a NameNode. The last fetch closes them.
func Share(open func() (Files, error)) func() (Files, error) {
	s := &shared{open: open}
	return s.take
}

type shared struct {
	open func() (Files, error)

	mu    sync.Mutex // guards what follows
	files Files      // nil without users
	users int
}

func (s *shared) take() (Files, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		var err error
		if s.files, err = s.open(); err != nil {
			return nil, err
		}
	}
	s.users++
	return &share{Files: s.files, of: s}, nil
}

// share is the use of shared file systems by one fetch, which closes it once.
type share struct {
	Files

	of *shared
}

// Close implements Files.
func (u *share) Close() error {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	if u.of.users--; u.of.users > 0 {
		return nil
	}
	return u.Files.Close()
}

// dir is the folder of a copy.
func (a DiskArtifacts) dir(id uint64) string {
	return filepath.Join(a.Dirs[id%uint64(len(a.Dirs))], strconv.FormatUint(id, 10))
}

// hold fetches an artifact in a goroutine that holds the copy until it is dropped, or until the
// TaskExecutor ends.
func (s *shell) hold(ctx context.Context, id copyID, fetch func(ctx context.Context, from Artifacts) (path string, size config.Bytes, err error)) {
	held, drop := context.WithCancel(ctx)
	s.mu.Lock()
	s.copies[id] = drop
	s.mu.Unlock()
	s.loop.Go(func(context.Context) {
		defer s.drop(id)
		if s.env.Artifacts == nil {
			s.loop.Tell(held, fetchFailed{Copy: id, Cause: errNoFiles.Error()})
			return
		}
		path, size, err := fetch(held, s.env.Artifacts)
		if err == nil {
			s.loop.Tell(held, fetched{Copy: id, File: path, Size: size})
			sched.First(held)
		}
		if err := s.env.Artifacts.Remove(uint64(id)); err != nil {
			s.logger.WithField("copy", id).WithError(err).Warn("copy cannot be removed")
		}
		if err != nil {
			s.loop.Tell(held, fetchFailed{Copy: id, Cause: err.Error(), Permanent: localcopy.Final(err), NeedsTokens: dfs.NeedsTokens(err)})
		}
	})
}

// updateTokens replaces the tokens of the file systems, also for fetches that run. If this fails, the old
// tokens serve until they expire.
func (s *shell) updateTokens(tokens msg.Secret) {
	if s.env.UpdateTokens == nil {
		return
	}
	if err := s.env.UpdateTokens(tokens); err != nil {
		s.logger.WithError(err).Error("new delegation tokens cannot be used")
	}
}

// drop cancels the goroutine that holds a copy, which then removes it.
func (s *shell) drop(id copyID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if drop, held := s.copies[id]; held {
		drop()
		delete(s.copies, id)
	}
}

// FetchProgram implements Artifacts.
func (a DiskArtifacts) FetchProgram(ctx context.Context, id uint64, p msg.Program) (string, config.Bytes, error) {
	dir := a.dir(id)
	var files Files
	err := errProgramName
	if p.Name != "." && p.Name == filepath.Base(p.Name) && filepath.IsLocal(p.Name) {
		files, err = a.open(dir)
	}
	if err != nil {
		return "", 0, fmt.Errorf("fetch program %s (SHA-256 %s) from %s: %w", p.Name, p.SHA256, p.URI, err)
	}
	defer files.Close()
	path := filepath.Join(dir, p.Name)
	size, err := program.Fetch(ctx, files, p, path)
	return path, config.Bytes(size), err
}

// FetchFile implements Artifacts.
func (a DiskArtifacts) FetchFile(ctx context.Context, id uint64, f jobgraph.CachedFile) (string, config.Bytes, error) {
	if path, here := cachedfiles.Local(f); a.InPlace && here {
		return path, 0, nil
	}
	dir := a.dir(id)
	files, err := a.open(dir)
	if err != nil {
		return "", 0, fmt.Errorf("fetch cached file %s: %w", f.URI, err)
	}
	defer files.Close()
	path, size, err := cachedfiles.Fetch(ctx, files, f, dir)
	return path, config.Bytes(size), err
}

// Remove implements Artifacts.
func (a DiskArtifacts) Remove(id uint64) error { return os.RemoveAll(a.dir(id)) }

// open makes dir and opens the file systems.
func (a DiskArtifacts) open(dir string) (Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return a.Open()
}
