package resourcemanager

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// recovery is the return of workers that earlier masters have started (Flink's recovered workers).
type recovery struct {
	listed   bool          // the provider has told which of them run
	expected int           // workers that were in state previous
	missing  int           // workers in state previous
	over     bool          // all that were listed have returned or ended, and the JobMasters know it
	from     time.Time     // the time of Lead; zero: there are no earlier masters
	wait     patience.Wait // see recoverBy
	// gaveUp are the workers of earlier masters that this one has given up: they must not return, because they are told
	// to end and their containers are released. Only workers that ran when this master began can be in it: a worker
	// proves by its certificate which container it has, and has one name. So it has an entry for each worker of
	// the cluster at most: of ten thousand, about a megabyte. Nothing leaves it, because a process may live on after YARN has
	// counted its container as ended.
	gaveUp map[ids.ResourceID]bool
}

// lead ends the standby.
func (c *core) lead() {
	if !c.standby {
		return
	}
	c.standby = false
	if c.config.ResourceManager.Epoch() > 1 { // there were no workers before the first master
		c.recovery.from = c.now
	}
	for _, id := range c.workerIDs() {
		c.await(c.workers[id])
	}
}

// recovering tells whether no workers are ordered because workers of earlier masters are to return: new ones would
// mostly be useless then. Slots that are there are granted.
func (c *core) recovering() bool {
	return !c.recoverBy().Passed(c.now) && (!c.recovery.listed || c.recovery.missing > 0)
}

// For each 500 workers all of them may need 1.5 s longer to find this master: the more there are, the less often each looks
// (findersPerSecond of package taskexecutor). Ten thousand need half a minute.
const (
	lookers    = 500
	lookLonger = 1500 * time.Millisecond
)

// recoverBy is until when new workers wait: for RecoveryTimeout, and longer in a large cluster.
func (c *core) recoverBy() *patience.Deadline {
	allowance := c.config.RecoveryTimeout
	if allowance > 0 {
		allowance += time.Duration(c.recovery.expected/lookers) * lookLonger
	}
	return c.recovery.wait.From(c.recovery.from, allowance)
}

// endReturn tells all JobMasters once that all workers of earlier masters have returned.
func (c *core) endReturn() {
	if c.recovery.over || c.recovery.from.IsZero() || !c.recovery.listed || c.recovery.missing > 0 {
		return
	}
	c.recovery.over = true
	for _, job := range slices.Sorted(maps.Keys(c.jobs)) {
		c.tellReturned(job)
	}
}

// tellReturned tells a JobMaster which of the workers that have returned had partitions of its job.
func (c *core) tellReturned(job ids.JobID) {
	m := msg.PreviousWorkersReturned{Job: job}
	for _, id := range c.workerIDs() {
		if c.workers[id].mayHave(job) {
			m.Workers = append(m.Workers, id)
		}
	}
	c.emit(sendJobMaster{To: c.jobs[job].id, Message: m})
}

func (c *core) previousWorkers(e PreviousWorkers) {
	c.recovery.listed = true
	if c.shutdown != nil {
		return // they end with the application
	}
	for _, p := range e.Workers {
		switch {
		case c.recovery.gaveUp[p.Worker]: // its node was away, and so was its release
			c.release = append(c.release, Release{Worker: p.Worker, Cause: "it was given up before"})
		case c.workers[p.Worker] == nil:
			c.expectPrevious(p)
		}
	}
}

// expectPrevious adds a worker of an earlier master that has not returned.
func (c *core) expectPrevious(p PreviousWorker) *worker {
	w := &worker{id: p.Worker, state: previous, earlier: true, host: p.Host}
	c.recovery.expected++
	c.recovery.missing++
	c.await(w)
	return w
}

// mayReturn tells whether a worker that is not expected may register: YARN has given its container to an earlier attempt.
// YARN need not have listed it, because its node or the answer was lost, or may have reported its end together with
// that of its node. A worker beside an earlier master has ended with it.
func (c *core) mayReturn(id ids.ResourceID) bool {
	attempt := ids.Epoch(launch.AttemptOfContainer(id))
	return attempt > 0 && attempt < c.config.ResourceManager.Epoch() && !c.recovery.gaveUp[id]
}

// giveUp notes that a worker must not return, if it is of an earlier master. Others are not expected any more.
func (c *core) giveUp(w *worker) {
	if w.earlier {
		c.recovery.gaveUp[w.id] = true
	}
}

// kindOfPrevious finds or makes the kind of a worker that an earlier master has started. The worker must be one that this
// master would start for slots of its profile, because its slots count like those of others, and there must be room for it
// under the ceiling: other workers may have started in its place.
func (c *core) kindOfPrevious(r msg.RegisterTaskExecutor) (*kind, error) {
	spec := c.specFor(r.Profile)
	if r.Memory != spec.Memory || r.VCores != spec.VCores || len(r.Slots) != spec.Slots {
		return nil, fmt.Errorf("its container has %d MB, %d vcores and %d slots; workers for slots with %s have %v, or divide their memory in another way",
			r.Memory.ContainerMB(), r.VCores, len(r.Slots), r.Profile, spec)
	}
	sum := spec.totals()
	for _, k := range c.kinds {
		sum = sum.Plus(k.slots.Registered(), k.spec.totals())
	}
	if by, exceeded := c.config.Ceiling.Exceeded(sum); exceeded {
		return nil, fmt.Errorf("the workers would have %v with it, and the limit is %v: others have replaced it", sum, by)
	}
	k := c.kindFor(r.Profile)
	if k == nil {
		return nil, fmt.Errorf("the cluster has workers of %d different sizes, and cannot have more", maxKinds)
	}
	return k, nil
}
