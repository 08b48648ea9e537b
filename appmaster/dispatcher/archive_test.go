package dispatcher

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// archiver is an Archiver that takes its time.
type archiver struct {
	takes time.Duration

	mu      sync.Mutex
	refuses int // so many of the next tries
	jobs    map[ids.JobID]msg.JobStatus
}

func (a *archiver) archive(ctx context.Context, described func(context.Context) (*msg.JobDetails, error)) error {
	job, err := described(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(a.takes):
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuses > 0 {
		a.refuses--
		return fs.ErrPermission
	}
	a.jobs[job.ID] = job.Status
	return nil
}

func (a *archiver) status(job ids.JobID) msg.JobStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.jobs[job]
}

// TestTheClusterWaitsForItsArchives would catch a job that waits for its archive, a cluster that does not, and a job that
// leaves the store before it is archived: if the master dies meanwhile, nobody would archive it.
func TestTheClusterWaitsForItsArchives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t).Store
		slow := &archiver{takes: time.Hour, jobs: make(map[ids.JobID]msg.JobStatus)}
		d, die := beside{store: store, start: newFakeMaster, discard: keepOutputs, archive: slow.archive}.run(t, Session, 1)
		if err := d.Submit(t.Context(), Submission{Job: "broken", Graph: graph()}); err != nil {
			t.Fatal(err)
		}
		if end, err := d.JobResult(t.Context(), "broken", time.Minute); err != nil || end.Status != msg.JobFailed {
			t.Errorf("the job is %s, error %v", end.Status, err)
		}
		if err := d.ShutDown(t.Context()); err != nil {
			t.Error(err)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := d.Archived(impatient); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "broken") {
			t.Errorf("before it is archived: error %v, want the deadline and the job", err)
		}
		if left := storedJobs(t, store); len(left) != 1 {
			t.Errorf("before it is archived, the store has %d jobs", len(left))
		}
		_ = die() // in the middle of the archive

		quick := &archiver{jobs: make(map[ids.JobID]msg.JobStatus)}
		next, dieToo := beside{store: store, start: newFakeMaster, discard: keepOutputs, archive: quick.archive}.run(t, Session, 2)
		synctest.Wait()
		if err := next.Archived(t.Context()); err != nil || quick.status("broken") != msg.JobFailed {
			t.Errorf("the next master has archived it as %q, error %v", quick.status("broken"), err)
		}
		if err := dieToo(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestAnArchiveIsTriedAgain would catch a job without a history although HDFS was away for some minutes only, a job that leaves
// the store between two tries, and a cluster that ends without a last try.
func TestAnArchiveIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t).Store
		refused := &archiver{refuses: 2, jobs: make(map[ids.JobID]msg.JobStatus)}
		d, die := beside{store: store, start: newFakeMaster, discard: keepOutputs, archive: refused.archive}.run(t, Session, 1)
		if err := d.Submit(t.Context(), Submission{Job: "broken", Graph: graph()}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(leastPause + time.Second) // the second try was refused, too
		if left := storedJobs(t, store); len(left) != 1 {
			t.Errorf("between two tries the store has %d jobs", len(left))
		}
		if err := d.ShutDown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := d.Archived(t.Context()); err != nil || refused.status("broken") != msg.JobFailed {
			t.Errorf("at the end it is archived as %q, error %v", refused.status("broken"), err)
		}
		if err := die(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// storedJobs are the accepted jobs in a store.
func storedJobs(t *testing.T, store Store) []ha.JobEntry {
	t.Helper()
	jobs, err := store.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}
