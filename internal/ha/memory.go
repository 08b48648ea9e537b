package ha

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Memory keeps what outlives a leader in this process. It is for clusters that end with their process: then there is one
// attempt. Several attempts with increasing epochs may lead in one Memory; it fences them as a Directory does. Its
// methods may be called from any goroutine.
type Memory struct {
	mu sync.Mutex // guards stored
	stored
}

// stored is what a Memory keeps.
type stored struct {
	epoch     ids.Epoch // of the leader
	removed   bool
	outcome   *Outcome   // nil before the end
	authority []byte     // nil: none
	address   string     // of the leader; "" before it is published
	published Leadership // the last that has published its address
	stopped   bool
	jobs      map[ids.JobID]*memoryJob
	results   map[ids.JobID]memoryResult
}

type memoryJob struct {
	Job
	cancelled bool
	commits   map[int][]byte
	committed map[int]bool
}

type memoryResult struct {
	status msg.JobStatus
	body   []byte
}

var _ Retrieval = (*Memory)(nil)

// NewMemory makes a Memory without a leader, as after Stage.
func NewMemory() *Memory {
	return &Memory{stored: stored{jobs: map[ids.JobID]*memoryJob{}, results: map[ids.JobID]memoryResult{}}}
}

// Election is that of an attempt.
func (m *Memory) Election(epoch ids.Epoch) Election { return memoryStore{m, epoch} }

// Leader implements Retrieval.
func (m *Memory) Leader(context.Context) (Leader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.removed:
		return Leader{}, ErrNothing
	case m.outcome != nil:
		return Leader{}, fmt.Errorf("%w: %w", ErrNothing, ErrEnded)
	case m.address == "":
		return Leader{}, ErrReplacing
	default:
		return Leader{m.epoch, m.address}, nil
	}
}

// memoryStore is the Election of an attempt, and the Store of its term.
type memoryStore struct {
	m     *Memory
	epoch ids.Epoch
}

var (
	_ Election = memoryStore{}
	_ Store    = memoryStore{}
)

// Lead implements Election.
func (s memoryStore) Lead(context.Context) (Term, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if err := s.confirm(); err != nil {
		return Term{}, fmt.Errorf("lead as attempt %d: %w", s.epoch, err)
	}
	if s.m.epoch != s.epoch {
		s.m.epoch, s.m.address = s.epoch, ""
	}
	term := Term{Store: s}
	if s.m.outcome == nil && s.m.published.Epoch < s.epoch {
		term.Last = s.m.published
	}
	if s.m.outcome != nil {
		outcome := *s.m.outcome
		term.Outcome, term.Left = &outcome, memoryLeft{s}
	}
	return term, nil
}

// Confirm implements Election.
func (s memoryStore) Confirm(context.Context) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.confirm()
}

func (s memoryStore) confirm() error {
	switch {
	case s.m.removed:
		return ErrNothing
	case s.m.epoch > s.epoch:
		return fmt.Errorf("%w: attempt %d", ErrSuperseded, s.m.epoch)
	default:
		return nil
	}
}

// do makes a change, or reads, while the term goes on.
func (s memoryStore) do(do func(*stored) error) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if err := s.confirm(); err != nil {
		return err
	}
	if s.m.outcome != nil {
		return ErrEnded
	}
	return do(&s.m.stored)
}

// ofJob does something with a job.
func (s memoryStore) ofJob(job ids.JobID, do func(*memoryJob) error) error {
	if err := checkJob(job); err != nil {
		return err
	}
	return s.do(func(m *stored) error { return m.ofJob(job, do) })
}

func (m *stored) ofJob(job ids.JobID, do func(*memoryJob) error) error {
	j := m.jobs[job]
	if j == nil {
		return fmt.Errorf("job %s: %w", job, fs.ErrNotExist)
	}
	return do(j)
}

// fits refuses contents that a Directory would refuse.
func fits(contents ...[]byte) error {
	for _, content := range contents {
		if len(content) > maxFile {
			return fmt.Errorf("%w: %d bytes, at most %d can be stored", filesystem.ErrTooLarge, len(content), maxFile)
		}
	}
	return nil
}

// once stores what never changes.
func once(what string, there bool, old, content []byte, set func([]byte)) error {
	if there && !bytes.Equal(old, content) {
		return fmt.Errorf("store %s: %w with another content", what, fs.ErrExist)
	}
	if err := fits(content); err != nil {
		return err
	}
	set(append([]byte{}, content...))
	return nil
}

// Dir implements Store: there is none.
func (s memoryStore) Dir() string { return "" }

// Authority implements Store.
func (s memoryStore) Authority(context.Context) (pem []byte, err error) {
	err = s.do(func(m *stored) error {
		if m.authority == nil {
			return fmt.Errorf("read the authority: %w", fs.ErrNotExist)
		}
		pem = slices.Clone(m.authority)
		return nil
	})
	return pem, err
}

// SetAuthority implements Store.
func (s memoryStore) SetAuthority(_ context.Context, pem []byte) error {
	return s.do(func(m *stored) error {
		return once("the authority", m.authority != nil, m.authority, pem, func(pem []byte) { m.authority = pem })
	})
}

// Publish implements Store. Nobody outside this process reads access.
func (s memoryStore) Publish(ctx context.Context, address string, _ []byte) error {
	if _, err := addressName(s.epoch, address); err != nil {
		return err
	}
	return s.do(func(m *stored) error {
		m.address, m.published = address, Leadership{Leader{s.epoch, address}, sched.Now(ctx)}
		return nil
	})
}

// Stop implements Store.
func (s memoryStore) Stop(context.Context) error {
	return s.do(func(m *stored) error {
		m.stopped = true
		return nil
	})
}

// Stopped implements Store.
func (s memoryStore) Stopped(context.Context) (stopped bool, err error) {
	err = s.do(func(m *stored) error {
		stopped = m.stopped
		return nil
	})
	return stopped, err
}

// End implements Store.
func (s memoryStore) End(_ context.Context, o Outcome) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if err := s.confirm(); err != nil {
		return err
	}
	if s.m.outcome == nil {
		s.m.outcome = &o
	}
	return nil
}

// Remove implements Store.
func (s memoryStore) Remove(context.Context) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.m.removed {
		return nil
	}
	if err := s.confirm(); err != nil {
		return err
	}
	s.m.stored = stored{removed: true, epoch: s.epoch}
	return nil
}

// sorted calls f for the ids of jobs in their order.
func sorted[V any](of map[ids.JobID]V, f func(ids.JobID, V)) {
	for _, job := range slices.SortedFunc(maps.Keys(of), cmp.Compare[ids.JobID]) {
		f(job, of[job])
	}
}
