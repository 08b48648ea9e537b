package dispatcher

import (
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Recovered is what earlier masters have left in the store; see ReadStore.
type Recovered struct {
	// Jobs are accepted jobs without a result, in the order of their submission.
	Jobs []RecoveredJob
	// Results are ended jobs, in the order of their ids.
	Results []ha.ResultEntry
	// Leftovers are those of them that are still among the accepted jobs, because a master ended too early to remove them.
	Leftovers []RecoveredJob
	// Stopped says that the cluster's end is requested. Its jobs do not run again.
	Stopped bool
}

// RecoveredJob is an accepted job.
type RecoveredJob struct {
	Submission Submission // if it cannot be read, only its id
	Submitted  time.Time
	Need       budget.Need
	Cancelled  bool              // its end is requested
	Commits    map[int]ha.Commit // by region
	// Err says why the job cannot run: what is stored of it cannot be read, or this build refuses it.
	Err error
}

// recover takes over what earlier masters have left. It is the first event.
func (c *core) recover(r Recovered) {
	left := make(map[ids.JobID]bool, len(r.Leftovers))
	for _, job := range r.Leftovers {
		left[job.Submission.Job] = true
	}
	for _, e := range r.Results {
		if left[e.ID] { // the stored job stays until it is archived
			c.archiveEnded(e.ID, e.Status, nil)
		}
		c.records[e.ID] = &record{result: true}
		c.addStub(e.ID, e.Status)
		if !c.many() && !r.Stopped { // its outcome is that of the cluster
			c.load(e.ID, e.Status)
		}
	}
	if r.Stopped {
		c.shutDown()
		return
	}
	for _, job := range r.Leftovers {
		id := job.Submission.Job
		if record := c.records[id]; record != nil {
			record.job = true
			c.advance(id)
		}
	}
	for _, job := range r.Jobs {
		c.recoverJob(job)
	}
	if c.config.Mode == Application && len(r.Results) >= c.config.Archive.Jobs {
		c.replay.jobs = make(map[ids.JobID]bool)
		for id := range c.records {
			c.replay.jobs[id] = true
		}
	}
}

// recoverJob runs a job again. No limit applies to it, because it was accepted. If its end was requested, its JobMaster is
// made nevertheless, and ends the job before any task runs: so the job leaves no output.
func (c *core) recoverJob(r RecoveredJob) {
	s := r.Submission
	j := &job{
		id: s.Job, identity: identity{Name: string(s.Job)}, phase: running, submitted: r.Submitted, detached: s.Detached, cancelled: r.Cancelled,
		reserved: c.memory.Reserve(r.Need, c.archive.size), clientTimeout: s.ClientTimeout,
	}
	c.jobs[j.id] = j
	c.order = append(c.order, j.id)
	c.records[j.id] = &record{job: true, cancelled: r.Cancelled}
	if s.Graph != nil {
		j.identity = identityOf(s.Graph)
	}
	if r.Err != nil {
		c.fail(j, r.Err)
		return
	}
	commits := r.Commits
	if commits == nil {
		commits = make(map[int]ha.Commit) // it tells the JobMaster that the job may have run
	}
	c.start(j, s, commits)
}
