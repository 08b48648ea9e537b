package rest

import (
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// quiet are the task hosts that have not answered a sampling. The next samplings leave them out for a while. There are few: a sampling
// asks mostSampled at most, and takes longer if one does not answer.
//
// The zero value is ready. Any goroutine may use it.
type quiet struct {
	mu    sync.Mutex // guards until
	until map[quietHost]time.Time
}

// quietHost is the task host of a job on a worker.
type quietHost struct {
	job    ids.JobID
	worker ids.ResourceID
}

// without returns the workers whose task hosts are not left out. The error says when they are asked again, if all are.
func (q *quiet) without(job ids.JobID, workers []ids.ResourceID, now time.Time) (lively []ids.ResourceID, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var next time.Time
	for _, worker := range workers {
		until, is := q.until[quietHost{job, worker}]
		switch {
		case !is || !until.After(now):
			lively = append(lively, worker)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	if len(lively) == 0 && len(workers) > 0 {
		return nil, fmt.Errorf("%w: no task host of job %s has answered; they are asked again after %s", msg.ErrWorkerSilent, job, next.UTC().Format(time.TimeOnly))
	}
	return lively, nil
}

// add leaves task hosts of a job out for some time.
func (q *quiet) add(job ids.JobID, workers []ids.ResourceID, now time.Time, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for host, until := range q.until {
		if !until.After(now) {
			delete(q.until, host)
		}
	}
	if len(workers) > 0 && q.until == nil {
		q.until = make(map[quietHost]time.Time)
	}
	for _, worker := range workers {
		q.until[quietHost{job, worker}] = now.Add(d)
	}
}
