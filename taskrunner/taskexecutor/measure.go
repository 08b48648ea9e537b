package taskexecutor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// measureInterval is the time between two looks at what this worker uses. Heartbeats to the ResourceManager, which
// carry the last one, come as often, or half as often.
const measureInterval = 5 * time.Second

// measure tells the loop what this worker uses, until ctx ends. The core adds the partitions, and shows all.
func (s *shell) measure(ctx context.Context) {
	for {
		s.loop.Tell(ctx, measured{s.metrics(sched.Now(ctx))})
		if sched.Sleep(ctx, measureInterval) != nil {
			return
		}
	}
}

// metrics measures this process and its hosts. If a job's host is being replaced, the job has two of them.
func (s *shell) metrics(now time.Time) msg.WorkerMetrics {
	m := msg.WorkerMetrics{Process: s.env.Status(now), Port: s.config.MetricsPort}
	if s.env.HDFS != nil {
		m.HDFS = s.env.HDFS()
	}
	s.mu.Lock()
	hosts := maps.Clone(s.hosts)
	s.mu.Unlock()
	of := make(map[ids.JobID]msg.HostMetrics)
	for id, h := range hosts {
		if usage, is := h.usage(id, procmem.OfTree); is {
			sum := of[h.job]
			said := h.saidLast()
			of[h.job] = msg.HostMetrics{
				Job: h.job, Resident: sum.Resident + usage.Resident, Share: max(sum.Share, usage.Share),
				HDFS: busier(sum.HDFS, said.hdfs), Process: older(sum.Process, said.process), Pool: both(sum.Pool, said.pool),
				Managed: managedOf(sum.Managed, said.managed),
			}
		}
	}
	m.Hosts = slices.SortedFunc(maps.Values(of), func(a, b msg.HostMetrics) int { return cmp.Compare(a.Job, b.Job) })
	for i := msg.MostMeasuredHosts; i < len(m.Hosts); i++ {
		m.Hosts[i].HDFS, m.Hosts[i].Process, m.Hosts[i].Pool, m.Hosts[i].Managed = nil, nil, nil, nil
	}
	return m
}

// busier returns the metrics with more calls, of two hosts of a job: those of the one that is being replaced, until it has ended.
func busier(a, b *msg.HDFSMetrics) *msg.HDFSMetrics {
	if a == nil || b != nil && b.NameNode.Calls > a.NameNode.Calls {
		return b
	}
	return a
}

// older returns the metrics with more processor time: as busier, those of the host that is being replaced.
func older(a, b *msg.ProcessMetrics) *msg.ProcessMetrics {
	if a == nil || b != nil && b.CPUTime > a.CPUTime {
		return b
	}
	return a
}

// both returns the buffers of two hosts of a job: the one that is being replaced has its own until it has ended.
func both(a, b *msg.BufferPool) *msg.BufferPool {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &msg.BufferPool{Used: a.Used + b.Used, Total: max(a.Total, b.Total)}
}

// managedOf returns the memory of the operators in two hosts of a job, as both does that of buffers.
func managedOf(a, b *msg.ManagedMemory) *msg.ManagedMemory {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &msg.ManagedMemory{Used: a.Used + b.Used, Total: max(a.Total, b.Total)}
}
