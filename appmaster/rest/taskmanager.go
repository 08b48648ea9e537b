package rest

import (
	"net/http"
	"net/url"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// seconds is a number of seconds from JSON, at most a day.
func seconds(n int) time.Duration { return time.Duration(min(max(n, 0), 24*60*60)) * time.Second }

// taskManager answers GET /taskmanagers/{worker}.
func (s *Server) taskManager(r *http.Request) (any, error) {
	if s.config.Processes == nil {
		return nil, errNoProcesses
	}
	w, err := s.config.Processes.TaskExecutor(r.Context(), ids.ResourceID(r.PathValue("worker")))
	if err != nil {
		return nil, err
	}
	answer := restapi.TaskManagerDetails{
		TaskManagerInfo: taskManagerOf(w), AllocatedSlots: make([]restapi.AllocatedSlot, len(w.Jobs)), Metrics: taskManagerMetrics(w),
	}
	for i, job := range w.Jobs {
		answer.AllocatedSlots[i] = restapi.AllocatedSlot{Job: string(job), Resource: shareOf(w, 1, w.SlotsTotal)}
	}
	return answer, nil
}

// taskManagerMetrics has what a worker's own process uses, the buffers of its task hosts, and the plan of the container's memory.
// Flink's other numbers here are those of a JVM.
func taskManagerMetrics(w msg.TaskExecutorDetails) restapi.TaskManagerMetrics {
	const unknown = -1
	m := restapi.TaskManagerMetrics{
		HeapUsed: unknown, HeapCommitted: unknown, HeapMax: unknown,
		NonHeapUsed: unknown, NonHeapCommitted: unknown, NonHeapMax: unknown,
		DirectCount: unknown, DirectUsed: unknown, DirectMax: unknown,
		MappedCount: unknown, MappedUsed: unknown, MappedMax: unknown,
		MemorySegmentsAvailable: unknown, MemorySegmentsTotal: unknown,
		ShuffleSegmentsAvailable: unknown, ShuffleSegmentsUsed: unknown, ShuffleSegmentsTotal: unknown,
		ShuffleAvailable: unknown, ShuffleUsed: unknown, ShuffleTotal: int64(w.Memory.Tasks.Network),
		GarbageCollectors: []restapi.GarbageCollector{},
		Partitions:        unknown, PartitionBytes: unknown,
	}
	if w.Metrics == nil {
		return m
	}
	if pool, known := buffersOf(w.Metrics.Hosts); known {
		m.ShuffleSegmentsTotal, m.ShuffleSegmentsUsed, m.ShuffleSegmentsAvailable = int64(pool.Total), int64(pool.Used), int64(pool.Available())
		m.ShuffleUsed = m.ShuffleSegmentsUsed * msg.BufferBytes
		m.ShuffleAvailable = max(m.ShuffleTotal-m.ShuffleUsed, 0)
	}
	m.Partitions, m.PartitionBytes = 0, 0
	if served := w.Metrics.Partitions; served != nil {
		m.Partitions, m.PartitionBytes = int64(served.Number), int64(served.Bytes)
	}
	p := w.Metrics.Process
	m.HeapUsed, m.HeapCommitted = int64(p.HeapUsed), int64(p.HeapCommitted)
	if p.HeapMax > 0 {
		m.HeapMax = int64(p.HeapMax)
	}
	m.NonHeapCommitted = int64(p.Runtime - p.HeapCommitted)
	m.NonHeapUsed = m.NonHeapCommitted // Go does not tell more
	m.GarbageCollectors = append(m.GarbageCollectors, restapi.GarbageCollector{Name: "All", Count: p.Collections, Time: p.CollectionTime.Milliseconds()})
	return m
}

// buffersOf are the buffers of all task hosts of a worker; false: none has told of them.
func buffersOf(hosts []msg.HostMetrics) (sum msg.BufferPool, known bool) {
	for _, h := range hosts {
		if h.Pool != nil {
			sum.Used, sum.Total, known = sum.Used+h.Pool.Used, sum.Total+h.Pool.Total, true
		}
	}
	return sum, known
}

// taskHosts answers GET /taskmanagers/{worker}/hosts.
func (s *Server) taskHosts(r *http.Request) (any, error) {
	got, err := s.askWorker(r)(r.Context(), msg.Inquiry{Topic: msg.AboutHosts})
	if err != nil {
		return nil, err
	}
	w, err := s.config.Processes.TaskExecutor(r.Context(), ids.ResourceID(r.PathValue("worker")))
	if err != nil {
		return nil, err
	}
	answer := restapi.TaskHosts{Hosts: make([]restapi.TaskHost, len(got.Hosts))}
	for i, h := range got.Hosts {
		answer.Hosts[i] = restapi.TaskHost{ID: string(h.Host), Job: string(h.Job), Resident: -1, Budget: -1}
		if w.Metrics == nil {
			continue
		}
		for _, m := range w.Metrics.Hosts {
			if m.Job == h.Job {
				answer.Hosts[i].Resident, answer.Hosts[i].Budget = int64(m.Resident), int64(m.Share)
			}
		}
	}
	return answer, nil
}

// logURL answers GET /jobs/{job}/jobmanager/log-url, and that of a worker of the job, with the URL of the process'
// log for the caller: below YARN's proxy, or at this door. As in Flink, neither job nor worker need exist.
func (s *Server) logURL(r *http.Request) (any, error) {
	base := "https://" + r.Host
	if callerOf(r.Context()).proxied {
		base = s.config.ProxyBase
	}
	if worker := r.PathValue("worker"); worker != "" {
		return restapi.LogURL{URL: base + "/taskmanagers/" + url.PathEscape(worker) + "/log"}, nil
	}
	return restapi.LogURL{URL: base + "/jobmanager/log"}, nil
}
