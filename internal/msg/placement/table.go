// Package placement says to the tasks of a deployment where the producers of their inputs run. The
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

// Table holds the hosts and attempts of subtasks. Its zero value is empty and ready to use.
type Table struct {
	epoch ids.Epoch // of all executions
	hosts []Host
	index map[ids.HostID]int // of hosts; nil in a decoded table
	runs  [][]run            // by vertex, ascending
}

// Host is a task host and the address of its data plane.
type Host struct {
	ID      ids.HostID
	Address string // host:port
}

// run is subtasks in a row that run as the same attempt in the same host.
type run struct {
	first, count int
	attempt      int
	host         int // index in Table.hosts
}

// Add places an execution. Each subtask is added at most once, and all are of one epoch.
func (t *Table) Add(e ids.ExecutionAttemptID, h Host) {
	t.epoch = e.Epoch
	at, known := t.index[h.ID]
	if !known {
		if t.index == nil {
			t.index = make(map[ids.HostID]int)
		}
		at = len(t.hosts)
		t.index[h.ID] = at
		t.hosts = append(t.hosts, h)
	}
	for e.Vertex >= len(t.runs) {
		t.runs = append(t.runs, nil)
	}
	runs := t.runs[e.Vertex]
	if n := len(runs); n > 0 {
		if last := &runs[n-1]; last.first+last.count == e.Subtask && last.attempt == e.Attempt && last.host == at {
			last.count++
			return
		}
	}
	t.runs[e.Vertex] = append(runs, run{first: e.Subtask, count: 1, attempt: e.Attempt, host: at})
}

// Empty tells whether nothing was added.
func (t *Table) Empty() bool { return len(t.hosts) == 0 }

// Find gives the execution of a subtask, and its host; false: the table does not have it. Find is
// for a table that Decode made.
func (t *Table) Find(vertex, subtask int) (ids.ExecutionAttemptID, Host, bool) {
	id := ids.ExecutionAttemptID{Epoch: t.epoch, Vertex: vertex, Subtask: subtask}
	if vertex < 0 || vertex >= len(t.runs) {
		return id, Host{}, false
	}
	runs := t.runs[vertex]
	i, found := slices.BinarySearchFunc(runs, subtask, func(r run, subtask int) int {
		if r.first <= subtask && subtask < r.first+r.count {
			return 0
		}
		return cmp.Compare(r.first, subtask)
	})
	if !found {
		return id, Host{}, false
	}
	id.Attempt = runs[i].attempt
	return id, t.hosts[runs[i].host], true
}
