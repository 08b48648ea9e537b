// Package placement says to the tasks of a deployment where the producers of their inputs run, and where the blocking partitions
// are that they read. The
// JobMaster encodes a Table once, and all hosts of the deployment get the same bytes. A TaskExecutor
// passes them on, and the task host decodes them. So a host costs the JobMaster a few dozen bytes in
// the message to each other host, and no work.
//
// The package is plain data: it starts no goroutines, and imports only ids.
package placement

import (
	"cmp"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Table holds the hosts and attempts of subtasks, and the places of their partitions. Its zero value is empty and ready to use.
type Table struct {
	hosts []Host
	index map[ids.HostID]int // of hosts; nil in a decoded table
	// runs are ascending. Those of tasks of vertex v are at 2v, those of its partitions at 2v+1.
	runs [][]run
}

// Host is a task host and the address of its data plane, or a worker's server of partitions: see ids.PartitionHost.
type Host struct {
	ID      ids.HostID
	Address string // host:port
}

// run is subtasks in a row that run as the same attempt in the same host.
type run struct {
	first, count int
	epoch        ids.Epoch
	attempt      int
	host         int // index in Table.hosts
}

// Add places an execution. Each subtask is added at most once.
func (t *Table) Add(e ids.ExecutionAttemptID, h Host) { t.add(2*e.Vertex, e, h) }

// AddPartitions places the blocking partitions of an execution. Each subtask is added at most once, and also with Add if other tasks
// read its pipelined outputs.
func (t *Table) AddPartitions(e ids.ExecutionAttemptID, h Host) { t.add(2*e.Vertex+1, e, h) }

func (t *Table) add(list int, e ids.ExecutionAttemptID, h Host) {
	at, known := t.index[h.ID]
	if !known {
		if t.index == nil {
			t.index = make(map[ids.HostID]int)
		}
		at = len(t.hosts)
		t.index[h.ID] = at
		t.hosts = append(t.hosts, h)
	}
	for list >= len(t.runs) {
		t.runs = append(t.runs, nil)
	}
	runs := t.runs[list]
	if n := len(runs); n > 0 {
		if last := &runs[n-1]; last.first+last.count == e.Subtask && last.epoch == e.Epoch && last.attempt == e.Attempt && last.host == at {
			last.count++
			return
		}
	}
	t.runs[list] = append(runs, run{first: e.Subtask, count: 1, epoch: e.Epoch, attempt: e.Attempt, host: at})
}

// Empty tells whether nothing was added.
func (t *Table) Empty() bool { return len(t.hosts) == 0 }

// Find gives the execution of a subtask, and its host; false: the table does not have it. Find is
// for a table that Decode made.
func (t *Table) Find(vertex, subtask int) (ids.ExecutionAttemptID, Host, bool) {
	return t.find(2*vertex, vertex, subtask)
}

// FindPartitions gives the execution that has written the blocking partitions of a subtask, and the server that has them; otherwise
// as Find.
func (t *Table) FindPartitions(vertex, subtask int) (ids.ExecutionAttemptID, Host, bool) {
	return t.find(2*vertex+1, vertex, subtask)
}

func (t *Table) find(list, vertex, subtask int) (ids.ExecutionAttemptID, Host, bool) {
	id := ids.ExecutionAttemptID{Vertex: vertex, Subtask: subtask}
	if list < 0 || list >= len(t.runs) {
		return id, Host{}, false
	}
	runs := t.runs[list]
	i, found := slices.BinarySearchFunc(runs, subtask, func(r run, subtask int) int {
		if r.first <= subtask && subtask < r.first+r.count {
			return 0
		}
		return cmp.Compare(r.first, subtask)
	})
	if !found {
		return id, Host{}, false
	}
	id.Epoch, id.Attempt = runs[i].epoch, runs[i].attempt
	return id, t.hosts[runs[i].host], true
}
