package resourcemanager

import (
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// The sums of what workers and task hosts have used include those that have ended: a sum over those that live would fall when one
// ends, and a monitor would take that for a new beginning.

// workerUsage is what a worker and its task hosts have used, as they said last.
type workerUsage struct {
	own msg.Usage
	// hosts are those of the last report, and those of registered jobs: a host that is missing in one report may be in the next.
	hosts map[ids.JobID]msg.Usage
}

// countUsage adds what a worker and its task hosts have used since their last report to the sums. A worker of an earlier master has
// used most before the first report: that is not counted here.
func (c *core) countUsage(w *worker, m msg.WorkerMetrics) {
	known := w.usage != nil || !w.earlier
	if w.usage == nil {
		w.usage = &workerUsage{}
	}
	own := msg.UsageOf(&m.Process, m.HDFS, w.usage.own)
	if known {
		c.usage.Grow(w.usage.own, own)
	}
	hosts := maps.Clone(w.usage.hosts)
	maps.DeleteFunc(hosts, func(job ids.JobID, _ msg.Usage) bool { return c.jobs[job] == nil })
	if hosts == nil {
		hosts = make(map[ids.JobID]msg.Usage, len(m.Hosts))
	}
	for _, h := range m.Hosts {
		last := w.usage.hosts[h.Job]
		now := msg.UsageOf(h.Process, h.HDFS, last)
		if job := c.jobs[h.Job]; job != nil && known {
			job.usage.Grow(last, now)
		}
		hosts[h.Job] = now
	}
	w.usage = &workerUsage{own: own, hosts: hosts}
}

// usages are the sums of the task hosts of each job.
func (c *core) usages() map[ids.JobID]msg.Usage {
	all := make(map[ids.JobID]msg.Usage, len(c.jobs))
	for id, job := range c.jobs {
		all[id] = job.usage
	}
	return all
}
