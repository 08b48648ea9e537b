// Package programs keeps the programs of a session's jobs, and their cached files. They lie in the owner's
// cache on HDFS, by content: each one is uploaded once, and later sessions find it there.
//
// A Store starts no goroutines. The package must never import a role.
package programs

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

const (
	// maxUploads is how many programs are received at the same time, because each upload holds a few MB of
	// HDFS packets; more wait.
	maxUploads = 4
	// maxPrograms is how many programs a session knows, and thereby holds in the cache. A session that runs
	// for months sees a new build of a program every day.
	maxPrograms = 256
)

// Store is a session's programs, or its cached files: the errors are those of its kind. Its methods may be
// called from any goroutine.
type Store struct {
	kind
	cache   *staging.Running
	files   filesystem.FileSystem
	most    int // maxPrograms
	uploads sched.Permits
	// changing is held while a method changes which programs the session holds in the cache, also during
	// its calls to HDFS. So it is no mutex, which also does not stop waiting when a context ends.
	changing sched.Permits

	mu       sync.Mutex // guards what follows
	known    map[string]*known
	uses     uint64 // uses of all programs so far
	idle     idleness
	arriving map[string]chan struct{} // uploads in progress, by hash; closed when they have ended
}

// known is a program that the session holds in the cache.
type known struct {
	msg.ProgramDetails
	jobs int       // jobs of the program that have not ended
	used uint64    // the Store's uses at its last use
	held time.Time // when a request last needed it, by the Store's idleness
	// unheld is true if its release has failed. Then it has no jobs.
	unheld bool
}

// New makes the Store of a session's programs. They must be built for machine.
func New(cache *staging.Running, files filesystem.FileSystem, machine elf.Machine) *Store {
	return newStore(programKind(machine), cache, files)
}

// NewFiles makes the Store of a session's cached files.
func NewFiles(cache *staging.Running, files filesystem.FileSystem) *Store {
	return newStore(fileKind(), cache.Files(), files)
}

func newStore(k kind, cache *staging.Running, files filesystem.FileSystem) *Store {
	return &Store{
		kind: k, cache: cache, files: files, most: maxPrograms,
		uploads: sched.NewPermits(maxUploads), changing: sched.NewPermits(1),
		known: make(map[string]*known), arriving: make(map[string]chan struct{}),
	}
}

// Recover finds the programs of the session's earlier ApplicationMasters. It releases nothing: an old
// ApplicationMaster that is late would release what a later one's jobs use.
func (s *Store) Recover(ctx context.Context) error {
	held, err := s.cache.Holds(ctx)
	if err != nil {
		return fmt.Errorf("recover %ss: %w", s.name, err)
	}
	for _, sha256 := range held {
		entry, err := s.cache.Find(ctx, sha256)
		switch {
		case errors.Is(err, fs.ErrNotExist): // its upload was not finished
		case errors.Is(err, staging.ErrExposed): // a user who requests the program gets the error
		case err != nil:
			return fmt.Errorf("recover %ss: %w", s.name, err)
		default:
			s.learn(entry, sched.Now(ctx))
		}
	}
	return nil
}

// List returns the session's programs, by name.
func (s *Store) List() []msg.ProgramDetails {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]msg.ProgramDetails, 0, len(s.known))
	for _, k := range s.known {
		list = append(list, k.ProgramDetails)
	}
	slices.SortFunc(list, func(a, b msg.ProgramDetails) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.SHA256, b.SHA256))
	})
	return list
}

// Find describes a program that need not be uploaded: a program of the session, or one that its owner has
// in the cache. A client that asks does not upload the program, so the session keeps it as after an upload.
// Error: msg.ErrProgramNotFound.
func (s *Store) Find(ctx context.Context, sha256 string) (msg.ProgramDetails, error) {
	if details, is := s.use(sha256, 0, sched.Now(ctx)); is {
		return details, nil
	}
	entry, err := s.cache.Find(ctx, sha256)
	if err != nil {
		return msg.ProgramDetails{}, s.missing(sha256, err)
	}
	return detailsOf(entry), nil
}

// Add adds a program. If a hash is given, Add reads the content only if the program is not in the cache and
// no other request is uploading it, and it refuses a program with another hash. To make room, the session
// may forget the program that was used longest ago. Errors: msg.ErrBadProgram, msg.ErrTooManyPrograms.
func (s *Store) Add(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	if sha256 == "" {
		return s.receive(ctx, name, "", content)
	}
	arrived, err := s.arrives(ctx, sha256)
	if err != nil {
		return msg.ProgramDetails{}, err
	}
	defer arrived()
	details, err := s.hold(ctx, sha256, 0)
	if errors.Is(err, s.notFound) {
		return s.receive(ctx, name, sha256, content)
	}
	return details, err
}

// arrives waits until no other request uploads the program, and keeps others from uploading it until
// arrived is called.
func (s *Store) arrives(ctx context.Context, sha256 string) (arrived func(), err error) {
	done := make(chan struct{})
	for {
		s.mu.Lock()
		other := s.arriving[sha256]
		if other == nil {
			s.arriving[sha256] = done
		}
		s.mu.Unlock()
		if other == nil {
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.arriving, sha256)
				close(done)
			}, nil
		}
		if sched.First(ctx, other) < 0 {
			return nil, context.Cause(ctx)
		}
	}
}

// receive reads a program into the cache.
func (s *Store) receive(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	if err := s.uploads.Acquire(ctx); err != nil {
		return msg.ProgramDetails{}, err
	}
	defer s.uploads.Release()
	defer s.receiving(ctx)()
	seen := s.inspect()
	temporary, err := s.cache.Receive(ctx, io.TeeReader(content, seen))
	if err != nil {
		return msg.ProgramDetails{}, fmt.Errorf("receive %s %s: %w", s.name, name, err)
	}
	sum, err := seen.verdict(name)
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", s.bad, name, err)
	} else if sha256 != "" && sha256 != sum {
		err = fmt.Errorf("%w: %s has the SHA-256 %s, but the request names %s: upload the %s again", s.bad, name, sum, sha256, s.name)
	}
	if err != nil {
		return msg.ProgramDetails{}, errors.Join(err, s.cache.Discard(ctx, temporary))
	}
	if err := s.changing.Acquire(ctx); err != nil {
		return msg.ProgramDetails{}, errors.Join(err, s.cache.Discard(ctx, temporary))
	}
	defer s.changing.Release()
	if err := s.makeRoom(ctx, sum); err != nil {
		return msg.ProgramDetails{}, errors.Join(err, s.cache.Discard(ctx, temporary))
	}
	entry, err := s.cache.File(ctx, temporary, sum, name)
	if err != nil {
		return msg.ProgramDetails{}, errors.Join(err, s.cache.Discard(ctx, temporary))
	}
	return s.learn(entry, sched.Now(ctx)).ProgramDetails, nil
}

// receiving notes that an upload has begun. ended notes its end.
func (s *Store) receiving(ctx context.Context) (ended func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle.begin(sched.Now(ctx))
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idle.end(sched.Now(ctx))
	}
}

// Hold returns a program for a job, and keeps it until Release. Errors: msg.ErrProgramNotFound,
// msg.ErrTooManyPrograms.
func (s *Store) Hold(ctx context.Context, sha256 string) (msg.Program, error) {
	details, err := s.hold(ctx, sha256, 1)
	return details.Program, err
}

// hold makes a program in the cache one of the session's, and counts the given number of jobs of it.
func (s *Store) hold(ctx context.Context, sha256 string, jobs int) (msg.ProgramDetails, error) {
	if details, is := s.use(sha256, jobs, sched.Now(ctx)); is {
		return details, nil
	}
	if err := s.changing.Acquire(ctx); err != nil {
		return msg.ProgramDetails{}, err
	}
	defer s.changing.Release()
	if details, is := s.use(sha256, jobs, sched.Now(ctx)); is {
		return details, nil
	}
	if _, err := s.cache.Find(ctx, sha256); err != nil { // do not forget another program if this one is not there
		return msg.ProgramDetails{}, s.missing(sha256, err)
	}
	if err := s.makeRoom(ctx, sha256); err != nil {
		return msg.ProgramDetails{}, err
	}
	if err := s.cache.Hold(ctx, sha256); err != nil {
		return msg.ProgramDetails{}, err
	}
	entry, err := s.cache.Find(ctx, sha256)
	if err != nil {
		return msg.ProgramDetails{}, errors.Join(s.missing(sha256, err), s.cache.Release(context.WithoutCancel(ctx), sha256))
	}
	s.learn(entry, sched.Now(ctx))
	details, _ := s.use(sha256, jobs, sched.Now(ctx))
	return details, nil
}

// use adds a number of jobs to a program that the session holds. now is the time of a request that needs the program,
// or zero.
func (s *Store) use(sha256 string, jobs int, now time.Time) (msg.ProgramDetails, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[sha256]
	if k == nil || k.unheld {
		return msg.ProgramDetails{}, false
	}
	k.jobs += jobs
	s.uses++
	k.used = s.uses
	if !now.IsZero() {
		k.held = s.idle.at(now)
	}
	return k.ProgramDetails, true
}

// Release notes the end of a job for which Hold was called.
func (s *Store) Release(sha256 string) { s.use(sha256, -1, time.Time{}) }

// Remove removes a program, also from the cache unless another application uses it. Errors:
// msg.ErrProgramNotFound, msg.ErrProgramInUse.
func (s *Store) Remove(ctx context.Context, sha256 string) error {
	if err := s.changing.Acquire(ctx); err != nil {
		return err
	}
	defer s.changing.Release()
	k, err := s.forget(sha256)
	if err != nil {
		return err
	}
	return s.release(ctx, k)
}

func (s *Store) forget(sha256 string) (*known, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[sha256]
	switch {
	case k == nil:
		return nil, fmt.Errorf("%w: the session does not have %s", s.notFound, sha256)
	case k.jobs > 0:
		return nil, fmt.Errorf("%w: %d jobs use %s", s.inUse, k.jobs, k.Name)
	}
	delete(s.known, sha256)
	return k, nil
}

// learn notes that the session holds a program.
func (s *Store) learn(entry staging.Entry, now time.Time) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[entry.SHA256]
	if k == nil || k.unheld { // then another upload may have replaced it in the cache
		k = &known{ProgramDetails: detailsOf(entry)}
		s.known[entry.SHA256] = k
	}
	s.uses++
	k.used = s.uses
	k.held = s.idle.at(now)
	return k
}

func (s *Store) missing(sha256 string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s: upload it first", s.notFound, sha256)
	}
	return err
}
