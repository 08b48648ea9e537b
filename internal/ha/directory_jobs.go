package ha

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

func jobPath(job ids.JobID) string { return jobsDir + "/" + string(job) }

// Jobs implements JobStore. It lists the directories of the jobs, atOnce at a time: that costs one cheap call for each.
func (s *directoryStore) Jobs(ctx context.Context) ([]JobEntry, error) {
	names, err := s.list(ctx, jobsDir)
	if err != nil {
		return nil, err
	}
	found := make([]*JobEntry, len(names))
	err = each(ctx, len(names), func(ctx context.Context, i int) error {
		job := ids.JobID(names[i])
		if !plainJob(job) {
			return nil
		}
		files, err := s.list(ctx, jobPath(job))
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil:
			return err
		}
		found[i] = &JobEntry{ID: job}
		for _, name := range files {
			_, _, commit := parseCommitName(name)
			found[i].Committed = found[i].Committed || commit
			found[i].Cancelled = found[i].Cancelled || name == cancelledFile
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var jobs []JobEntry
	for _, e := range found {
		if e != nil {
			jobs = append(jobs, *e)
		}
	}
	return jobs, nil
}

// AddJob implements JobStore. It makes the whole directory under a temporary name and renames it.
func (s *directoryStore) AddJob(ctx context.Context, job ids.JobID, j Job) error {
	if err := checkJob(job); err != nil {
		return err
	}
	_, err := s.put(ctx, jobPath(job), func(ctx context.Context, at string, fewer int) error {
		if err := s.Files.MkdirMode(ctx, at, 0o700); err != nil {
			return err
		}
		group, ctx := sched.WithErrors(ctx)
		group.Go(func() error { return s.write(ctx, at+"/"+graphFile, j.Graph, fewer) })
		group.Go(func() error { return s.write(ctx, at+"/"+submittedFile, j.Submitted, fewer) })
		return group.Wait()
	})
	return err
}

// Job implements JobStore.
func (s *directoryStore) Job(ctx context.Context, job ids.JobID) (j Job, err error) {
	if err = checkJob(job); err == nil {
		j.Graph, err = s.load(ctx, jobPath(job)+"/"+graphFile)
	}
	if err == nil {
		j.Submitted, err = s.load(ctx, jobPath(job)+"/"+submittedFile)
	}
	return j, err
}

// Cancel implements JobStore.
func (s *directoryStore) Cancel(ctx context.Context, job ids.JobID) error {
	if err := checkJob(job); err != nil {
		return err
	}
	_, err := s.putFile(ctx, jobPath(job)+"/"+cancelledFile, nil)
	return err
}

// AddCommit implements JobStore.
func (s *directoryStore) AddCommit(ctx context.Context, job ids.JobID, region int, record []byte) error {
	if err := checkCommit(job, region); err != nil {
		return err
	}
	return s.putOnce(ctx, jobPath(job)+"/"+commitName(region), record)
}

// FinishCommit implements JobStore. The file is empty, so it needs only the NameNode.
func (s *directoryStore) FinishCommit(ctx context.Context, job ids.JobID, region int) error {
	if err := checkCommit(job, region); err != nil {
		return err
	}
	_, err := s.putFile(ctx, jobPath(job)+"/"+committedName(region), nil)
	return err
}

// Commits implements JobStore.
func (s *directoryStore) Commits(ctx context.Context, job ids.JobID) (map[int]Commit, error) {
	if err := checkJob(job); err != nil {
		return nil, err
	}
	names, err := s.list(ctx, jobPath(job))
	if err != nil {
		return nil, err
	}
	var regions []int
	committed := make(map[int]bool)
	for _, name := range names {
		switch region, finished, is := parseCommitName(name); {
		case !is:
		case finished:
			committed[region] = true
		default:
			regions = append(regions, region)
		}
	}
	records := make([][]byte, len(regions))
	err = each(ctx, len(regions), func(ctx context.Context, i int) (err error) {
		records[i], err = s.load(ctx, jobPath(job)+"/"+commitName(regions[i]))
		return err
	})
	if err != nil {
		return nil, err
	}
	commits := make(map[int]Commit, len(regions))
	for i, region := range regions {
		commits[region] = Commit{records[i], committed[region]}
	}
	return commits, nil
}

// RemoveJob implements JobStore.
func (s *directoryStore) RemoveJob(ctx context.Context, job ids.JobID) error {
	if err := checkJob(job); err != nil {
		return err
	}
	return s.discard(ctx, jobPath(job))
}

// statuses are those of results.
var statuses = [...]msg.JobStatus{msg.JobFinished, msg.JobFailed, msg.JobCanceled}

// Results implements ResultStore.
func (s *directoryStore) Results(ctx context.Context) ([]ResultEntry, error) {
	names, err := s.list(ctx, resultsDir)
	var results []ResultEntry
	for _, name := range names {
		if e, is := parseResultName(name); is {
			results = append(results, e)
		}
	}
	return results, err
}

// AddResult implements ResultStore. The status is a part of the name, so AddResult looks for a result first.
func (s *directoryStore) AddResult(ctx context.Context, job ids.JobID, status msg.JobStatus, body []byte) error {
	if err := checkResult(job, status); err != nil {
		return err
	}
	stored := false
	err := s.patient(ctx, "look for a result of "+string(job), func(ctx context.Context) error {
		_, err := s.status(ctx, job)
		if stored = err == nil; errors.Is(err, fs.ErrNotExist) { // storing it tells whether this attempt leads
			err = nil
		}
		return err
	})
	if err == nil && !stored {
		_, err = s.putFile(ctx, resultPath(job, status), body)
	}
	return err
}

func resultPath(job ids.JobID, status msg.JobStatus) string {
	return resultsDir + "/" + resultName(job, status)
}

// status looks for the status of a job's result, once. The error is fs.ErrNotExist if there is none.
func (s *directoryStore) status(ctx context.Context, job ids.JobID) (status msg.JobStatus, err error) {
	for _, status = range statuses {
		if _, err = s.Files.Stat(ctx, s.dir+"/"+resultPath(job, status)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return status, err
}

// result finds a job's result.
func (s *directoryStore) result(ctx context.Context, job ids.JobID) (path string, err error) {
	if err := checkJob(job); err != nil {
		return "", err
	}
	err = s.patient(ctx, "look for the result of "+string(job), func(ctx context.Context) error {
		status, err := s.status(ctx, job)
		path = resultPath(job, status)
		return err
	})
	return path, err
}

// Result implements ResultStore.
func (s *directoryStore) Result(ctx context.Context, job ids.JobID) ([]byte, error) {
	path, err := s.result(ctx, job)
	if err != nil {
		return nil, err
	}
	return s.load(ctx, path)
}

// ResultHead implements ResultStore.
func (s *directoryStore) ResultHead(ctx context.Context, job ids.JobID, most int64) ([]byte, error) {
	path, err := s.result(ctx, job)
	if err != nil {
		return nil, err
	}
	return s.head(ctx, path, most)
}

// RemoveResult implements ResultStore.
func (s *directoryStore) RemoveResult(ctx context.Context, job ids.JobID) error {
	path, err := s.result(ctx, job)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return s.discard(ctx, path)
}

// errUnfit is the error for an id or a status that the stores do not take.
var errUnfit = errors.New("cannot be stored")

func checkJob(job ids.JobID) error {
	if !plainJob(job) {
		return fmt.Errorf("job %.80q %w", job, errUnfit)
	}
	return nil
}

func checkCommit(job ids.JobID, region int) error {
	if region < 0 {
		return fmt.Errorf("commit of region %d of job %s %w", region, job, errUnfit)
	}
	return checkJob(job)
}

func checkResult(job ids.JobID, status msg.JobStatus) error {
	if !status.GloballyTerminal() {
		return fmt.Errorf("result of job %s with status %s %w", job, status, errUnfit)
	}
	return checkJob(job)
}
