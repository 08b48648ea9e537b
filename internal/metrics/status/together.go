package status

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/hadoop"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Together are the sums of all workers, and of the task hosts of each job. Its zero value has none.
type Together struct {
	workers    msg.ProcessMetrics
	container  config.Bytes
	partitions msg.ServedPartitions
	jobs       map[ids.JobID]msg.ProcessMetrics
}

// Add adds what a worker and its task hosts hold now.
func (t *Together) Add(m msg.WorkerMetrics) {
	t.workers.Add(m.Process)
	t.container += containerOf(m)
	t.partitions.Add(partitionsOf(m))
	for _, h := range m.Hosts {
		sum := t.jobs[h.Job]
		if h.Process != nil {
			p := *h.Process
			p.Resident, p.Budget = 0, 0
			sum.Add(p)
		}
		sum.Add(msg.ProcessMetrics{Resident: h.Resident, Budget: h.Share})
		if t.jobs == nil {
			t.jobs = make(map[ids.JobID]msg.ProcessMetrics)
		}
		t.jobs[h.Job] = sum
	}
}

// OfWorkers are the samples of all workers together. used is what they have used, also those that have ended.
func (t *Together) OfWorkers(used msg.Usage) []metrics.Sample {
	scope := metrics.Scope{Level: metrics.TaskManagers}
	samples := append(sums(scope, t.workers, used),
		metrics.Sample{Scope: scope, Name: "Status.Container.Memory.Resident", Kind: metrics.KindGauge, Value: float64(t.container)})
	return append(samples, partitionSamples(scope, t.partitions)...)
}

// OfJob are the samples of all task hosts of a job together.
func (t *Together) OfJob(job ids.JobID, name string, used msg.Usage) []metrics.Sample {
	return sums(metrics.Scope{Level: metrics.TaskHosts, Labels: []metrics.Label{
		{Name: metrics.LabelJobID, Value: string(job)}, {Name: metrics.LabelJobName, Value: name},
	}}, t.jobs[job], used)
}

// sums are samples of several processes. Distributions and shares have no sum.
func sums(scope metrics.Scope, now msg.ProcessMetrics, used msg.Usage) []metrics.Sample {
	now.CPUTime, now.Collections, now.CollectionTime = used.CPUTime, used.Collections, used.CollectionTime
	calls := func(c msg.CallCounts) msg.CallMetrics { return msg.CallMetrics{Calls: c.Calls, Failures: c.Failures} }
	all := append(Samples(scope, now), hadoop.Samples(scope, &msg.HDFSMetrics{NameNode: calls(used.NameNode), Read: calls(used.Read), Write: calls(used.Write)})...)
	return slices.DeleteFunc(all, func(s metrics.Sample) bool { return s.Summary != nil || s.Name == "Status.Go.CPU.Load" })
}
