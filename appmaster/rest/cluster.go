package rest

import (
	"net/http"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// refreshInterval is Flink's web.refresh-interval.
const refreshInterval = 3 * time.Second

func (s *Server) overview(r *http.Request) (any, error) {
	workers, err := s.gateway.TaskExecutors(r.Context())
	if err != nil {
		return nil, err
	}
	jobs, err := s.gateway.Jobs(r.Context())
	if err != nil {
		return nil, err
	}
	return overviewOf(workers, jobs, s.config), nil
}

func overviewOf(workers []msg.TaskExecutorDetails, jobs []msg.JobOverview, config Config) restapi.ClusterOverview {
	o := restapi.ClusterOverview{TaskManagers: len(workers), Version: config.Version, Commit: config.Revision}
	for _, w := range workers {
		o.SlotsTotal += w.SlotsTotal
		o.SlotsAvailable += w.SlotsFree
	}
	for _, j := range jobs {
		o.Count(j.Status)
	}
	return o
}

func (s *Server) dashboard(*http.Request) (any, error) {
	name, offset := time.Now().Zone()
	return restapi.DashboardConfiguration{
		RefreshInterval: refreshInterval.Milliseconds(),
		TimezoneName:    name,
		TimezoneOffset:  (time.Duration(offset) * time.Second).Milliseconds(),
		Version:         s.config.Version,
		Revision:        s.config.Revision,
		Features:        restapi.DashboardFeatures{WebSubmit: s.config.Session != nil, WebCancel: true},
	}, nil
}

func (s *Server) taskManagers(r *http.Request) (any, error) {
	workers, err := s.gateway.TaskExecutors(r.Context())
	if err != nil {
		return nil, err
	}
	answer := restapi.TaskManagersInfo{TaskManagers: make([]restapi.TaskManagerInfo, 0, len(workers))}
	for _, w := range workers {
		answer.TaskManagers = append(answer.TaskManagers, taskManagerOf(w))
	}
	return answer, nil
}

// taskManagerOf leaves out what a worker does not have: ports of its own, and the parts of a JVM's memory,
// which are 0.
func taskManagerOf(w msg.TaskExecutorDetails) restapi.TaskManagerInfo {
	m := w.Memory
	return restapi.TaskManagerInfo{
		ID:            string(w.Resource),
		Path:          w.Host,
		DataPort:      -1,
		JMXPort:       -1,
		LastHeartbeat: millis(w.LastHeartbeat),
		Slots:         w.SlotsTotal,
		FreeSlots:     w.SlotsFree,
		TotalResource: shareOf(w, 1, 1),
		FreeResource:  shareOf(w, w.SlotsFree, w.SlotsTotal),
		Hardware: restapi.Hardware{
			CPUCores: w.Hardware.Cores, PhysicalMemory: int64(w.Hardware.Memory), ManagedMemory: int64(m.Tasks.Managed),
			FreeMemory: int64(m.Framework + m.Tasks.Heap), // Flink's: the heap that the process may have
		},
		Memory: restapi.MemoryConfiguration{
			FrameworkHeap: int64(m.Framework), TaskHeap: int64(m.Tasks.Heap), TaskOffHeap: int64(m.Tasks.OffHeap),
			NetworkMemory: int64(m.Tasks.Network), ManagedMemory: int64(m.Tasks.Managed), JVMOverhead: int64(m.Overhead),
			TotalFlinkMemory: int64(m.Flink()), TotalProcessMemory: int64(m.Process),
		},
	}
}

// shareOf returns what the given number of a worker's slots has of its resources. of is the number of all
// its slots.
func shareOf(w msg.TaskExecutorDetails, slots, of int) restapi.ResourceProfile {
	profile := restapi.ResourceProfile{ExtendedResources: map[string]float64{}}
	if of == 0 {
		return profile
	}
	share := float64(slots) / float64(of)
	megabytes := func(size config.Bytes) int { return int(float64(size/config.Mebibyte) * share) }
	profile.CPUCores = float64(w.VCores) * share
	profile.TaskHeapMemory, profile.TaskOffHeapMemory = megabytes(w.Memory.Tasks.Heap), megabytes(w.Memory.Tasks.OffHeap)
	profile.ManagedMemory, profile.NetworkMemory = megabytes(w.Memory.Tasks.Managed), megabytes(w.Memory.Tasks.Network)
	for name, amount := range w.External.Amounts() {
		profile.ExtendedResources[name] = float64(amount) * share
	}
	return profile
}

// slots answers GET /slots.
func (s *Server) slots(r *http.Request) (any, error) {
	supply, err := s.gateway.SlotSupply(r.Context())
	if err != nil {
		return nil, err
	}
	return restapi.SlotsOf(supply, millis), nil
}

// blocklist answers GET /blocklist.
func (s *Server) blocklist(r *http.Request) (any, error) {
	nodes, err := s.gateway.Blocklist(r.Context())
	if err != nil {
		return nil, err
	}
	answer := restapi.Blocklist{Nodes: make([]restapi.BlockedNode, len(nodes))}
	for i, n := range nodes {
		answer.Nodes[i] = restapi.BlockedNode{Node: n.Node, Cause: n.Cause, Until: millis(n.Until)}
	}
	return answer, nil
}

func (s *Server) shutDown(r *http.Request) (any, error) {
	return restapi.Empty{}, s.gateway.ShutDown(r.Context())
}

// millis is a point in time in Flink's form: -1 if it has not come.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return t.UnixMilli()
}

// elapsed is the time from start to end, or until now, in ms; -1 before start.
func elapsed(start, end, now time.Time) int64 {
	switch {
	case start.IsZero():
		return -1
	case end.IsZero():
		return now.Sub(start).Milliseconds()
	}
	return end.Sub(start).Milliseconds()
}
