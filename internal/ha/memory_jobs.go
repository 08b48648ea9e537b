package ha

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Jobs implements JobStore.
func (s memoryStore) Jobs(context.Context) (jobs []JobEntry, err error) {
	err = s.do(func(m *stored) error {
		jobs = m.list()
		return nil
	})
	return jobs, err
}

func (m *stored) list() (jobs []JobEntry) {
	sorted(m.jobs, func(job ids.JobID, j *memoryJob) {
		jobs = append(jobs, JobEntry{job, j.cancelled, len(j.commits)+len(j.committed) > 0})
	})
	return jobs
}

// memoryLeft is the JobReader of an application that has ended.
type memoryLeft struct{ s memoryStore }

var _ JobReader = memoryLeft{}

// Jobs implements JobReader.
func (l memoryLeft) Jobs(context.Context) ([]JobEntry, error) {
	l.s.m.mu.Lock()
	defer l.s.m.mu.Unlock()
	return l.s.m.list(), l.s.confirm()
}

// Job implements JobReader.
func (l memoryLeft) Job(_ context.Context, job ids.JobID) (found Job, err error) {
	l.s.m.mu.Lock()
	defer l.s.m.mu.Unlock()
	if err := l.s.confirm(); err != nil {
		return Job{}, err
	}
	err = l.s.m.ofJob(job, func(j *memoryJob) error {
		found = cloneJob(j.Job)
		return nil
	})
	return found, err
}

// AddJob implements JobStore.
func (s memoryStore) AddJob(_ context.Context, job ids.JobID, j Job) error {
	if err := checkJob(job); err != nil {
		return err
	}
	if err := fits(j.Graph, j.Submitted); err != nil {
		return err
	}
	return s.do(func(m *stored) error {
		if m.jobs[job] == nil {
			m.jobs[job] = &memoryJob{Job: cloneJob(j), commits: map[int][]byte{}, committed: map[int]bool{}}
		}
		return nil
	})
}

func cloneJob(j Job) Job {
	return Job{append([]byte{}, j.Graph...), append([]byte{}, j.Submitted...)}
}

// Job implements JobStore.
func (s memoryStore) Job(_ context.Context, job ids.JobID) (found Job, err error) {
	err = s.ofJob(job, func(j *memoryJob) error {
		found = cloneJob(j.Job)
		return nil
	})
	return found, err
}

// Cancel implements JobStore.
func (s memoryStore) Cancel(_ context.Context, job ids.JobID) error {
	return s.ofJob(job, func(j *memoryJob) error {
		j.cancelled = true
		return nil
	})
}

// AddCommit implements JobStore.
func (s memoryStore) AddCommit(_ context.Context, job ids.JobID, region int, record []byte) error {
	if err := checkCommit(job, region); err != nil {
		return err
	}
	return s.ofJob(job, func(j *memoryJob) error {
		old, there := j.commits[region]
		return once(commitName(region), there, old, record, func(record []byte) { j.commits[region] = record })
	})
}

// FinishCommit implements JobStore.
func (s memoryStore) FinishCommit(_ context.Context, job ids.JobID, region int) error {
	if err := checkCommit(job, region); err != nil {
		return err
	}
	return s.ofJob(job, func(j *memoryJob) error {
		j.committed[region] = true
		return nil
	})
}

// Commits implements JobStore.
func (s memoryStore) Commits(_ context.Context, job ids.JobID) (commits map[int]Commit, err error) {
	err = s.ofJob(job, func(j *memoryJob) error {
		commits = make(map[int]Commit, len(j.commits))
		for region, record := range j.commits {
			commits[region] = Commit{slices.Clone(record), j.committed[region]}
		}
		return nil
	})
	return commits, err
}

// RemoveJob implements JobStore.
func (s memoryStore) RemoveJob(_ context.Context, job ids.JobID) error {
	if err := checkJob(job); err != nil {
		return err
	}
	return s.do(func(m *stored) error {
		delete(m.jobs, job)
		return nil
	})
}

// Results implements ResultStore.
func (s memoryStore) Results(context.Context) (results []ResultEntry, err error) {
	err = s.do(func(m *stored) error {
		sorted(m.results, func(job ids.JobID, r memoryResult) { results = append(results, ResultEntry{job, r.status}) })
		return nil
	})
	return results, err
}

// AddResult implements ResultStore.
func (s memoryStore) AddResult(_ context.Context, job ids.JobID, status msg.JobStatus, body []byte) error {
	if err := checkResult(job, status); err != nil {
		return err
	}
	if err := fits(body); err != nil {
		return err
	}
	return s.do(func(m *stored) error {
		if _, there := m.results[job]; !there {
			m.results[job] = memoryResult{status, append([]byte{}, body...)}
		}
		return nil
	})
}

// Result implements ResultStore.
func (s memoryStore) Result(_ context.Context, job ids.JobID) (body []byte, err error) {
	if err := checkJob(job); err != nil {
		return nil, err
	}
	err = s.do(func(m *stored) error {
		r, there := m.results[job]
		if !there {
			return fmt.Errorf("result of job %s: %w", job, fs.ErrNotExist)
		}
		body = slices.Clone(r.body)
		return nil
	})
	return body, err
}

// ResultHead implements ResultStore.
func (s memoryStore) ResultHead(ctx context.Context, job ids.JobID, most int64) ([]byte, error) {
	body, err := s.Result(ctx, job)
	return body[:min(most, int64(len(body)))], err
}

// RemoveResult implements ResultStore.
func (s memoryStore) RemoveResult(_ context.Context, job ids.JobID) error {
	if err := checkJob(job); err != nil {
		return err
	}
	return s.do(func(m *stored) error {
		delete(m.results, job)
		return nil
	})
}
