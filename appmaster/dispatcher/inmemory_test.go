package dispatcher

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// tester is a test, or a check of package rapid.
type tester interface {
	Context() context.Context
	Fatal(args ...any)
}

// leading is the Store of a term in memory.
func leading(t tester, in *ha.Memory, epoch ids.Epoch) inMemory {
	term, err := in.Election(epoch).Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return inMemory{term.Store}
}

// newMemory is the Store of a first term in memory.
func newMemory(t *testing.T) inMemory {
	t.Helper()
	return leading(t, ha.NewMemory(), 1)
}

// inMemory is a Store with questions for tests.
type inMemory struct{ ha.Store }

// accepted returns the entry of an accepted job.
func (m inMemory) accepted(job ids.JobID) (ha.JobEntry, bool) {
	jobs, _ := m.Jobs(context.Background())
	i := slices.IndexFunc(jobs, func(e ha.JobEntry) bool { return e.ID == job })
	if i < 0 {
		return ha.JobEntry{}, false
	}
	return jobs[i], true
}

// result returns the status of a job that has ended; "" of any other.
func (m inMemory) result(job ids.JobID) msg.JobStatus {
	results, _ := m.Results(context.Background())
	for _, e := range results {
		if e.ID == job {
			return e.Status
		}
	}
	return ""
}

// commits returns how many regions of a job have commit records.
func (m inMemory) commits(job ids.JobID) int {
	commits, err := m.Commits(context.Background(), job)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	return len(commits)
}
