package programs

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// idleness is a clock that stands while uploads run. A client may upload for longer than an unused file is
// kept, and its first file must not go before its last one is there.
type idleness struct {
	uploads int           // under way
	since   time.Time     // when the first of them began
	stood   time.Duration // before that
}

// at is the clock's time.
func (c *idleness) at(now time.Time) time.Time {
	if c.uploads > 0 {
		now = c.since
	}
	return now.Add(-c.stood)
}

func (c *idleness) begin(now time.Time) {
	if c.uploads == 0 {
		c.since = now
	}
	c.uploads++
}

func (c *idleness) end(now time.Time) {
	if c.uploads--; c.uploads == 0 {
		c.stood += now.Sub(c.since)
	}
}

// makeRoom forgets programs that no job uses, those that were used longest ago first, until the session may
// know another one, and all that were not needed for the kind's time. The caller holds changing.
func (s *Store) makeRoom(ctx context.Context, sha256 string) error {
	for {
		oldest, full := s.oldest(sha256, sched.Now(ctx))
		if !full {
			return nil
		}
		if oldest == nil {
			return fmt.Errorf("%w: jobs of %d %ss run, which is the maximum: try again when jobs have ended", s.tooMany, s.most, s.name)
		}
		if err := s.release(ctx, oldest); err != nil {
			return err
		}
	}
}

// release releases a program that was removed from known. If that fails, the session may hold it still, and knows it again:
// somebody must release it later. The record that protects it in the cache may be gone, so no job may use it before it is
// held again. The caller holds changing.
func (s *Store) release(ctx context.Context, k *known) error {
	err := s.cache.Release(ctx, k.SHA256)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		k.unheld = true
		s.known[k.SHA256] = k
		return fmt.Errorf("release %s %s: %w", s.name, k.Name, err)
	}
	return nil
}

// oldest checks whether the session knows too many programs to add another one, or one for too long. If it
// does, oldest forgets the program that no job uses and that was used longest ago, and returns it; nil if each
// program has jobs. The caller holds changing, and releases it.
func (s *Store) oldest(another string, now time.Time) (found *known, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	full = len(s.known) >= s.most && s.known[another] == nil
	if k := s.unneeded(another, now); k != nil {
		delete(s.known, k.SHA256)
		return k, true
	}
	if !full {
		return nil, false
	}
	for _, k := range s.known {
		if k.jobs == 0 && (found == nil || k.used < found.used) {
			found = k
		}
	}
	if found != nil {
		delete(s.known, found.SHA256)
	}
	return found, true
}

// unneeded finds a program other than another that no job uses and that was not needed for the kind's time; nil:
// there is none. The caller holds mu.
func (s *Store) unneeded(another string, now time.Time) *known {
	for sha256, k := range s.known {
		if s.keep > 0 && k.jobs == 0 && sha256 != another && s.idle.at(now).Sub(k.held) > s.keep {
			return k
		}
	}
	return nil
}

// Watch releases files that were not needed for the kind's time, some time later, until ctx ends. It tries again
// if HDFS does not answer.
func (s *Store) Watch(ctx context.Context, logger logrus.FieldLogger) {
	every := s.keep / 10
	for last := sched.Now(ctx); sched.Sleep(ctx, every) == nil; last = sched.Now(ctx) {
		if sched.Now(ctx).Sub(last) > 2*every {
			continue // the process was suspended: another attempt may have the session now, and its files
		}
		if err := s.expire(ctx); err != nil && ctx.Err() == nil {
			logger.WithError(err).Warn("unused files are released later")
		}
	}
}

// expire releases all that were not needed for the kind's time.
func (s *Store) expire(ctx context.Context) error {
	if err := s.changing.Acquire(ctx); err != nil {
		return err
	}
	defer s.changing.Release()
	for {
		s.mu.Lock()
		k := s.unneeded("", sched.Now(ctx))
		if k != nil {
			delete(s.known, k.SHA256) // before the release, so that no job takes it meanwhile
		}
		s.mu.Unlock()
		if k == nil {
			return nil
		}
		if err := s.release(ctx, k); err != nil {
			return err
		}
	}
}
