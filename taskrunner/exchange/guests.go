package exchange

import (
	"fmt"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Bounds of what the hosts of one job, which run users' code, can have open at a Server. All jobs share its process, which has 32 MB.
const (
	// maxServed is the number of channels of a connection: 256 gates (maxOpen) of one host that read only from this worker.
	maxServed = 1 << 14
	// maxServedJob is the number of channels of all connections of a job. They take some 13 MB.
	maxServedJob = 1 << 16
	// maxReaders is the number of connections of a job, and maxReadersHost of one of its hosts. A host needs one; a second may begin
	// before this end knows that the first one has ended.
	maxReaders, maxReadersHost = 1 << 10, 4
)

// guests counts what the hosts of each job have open. Its methods may be called from any goroutine.
type guests struct {
	mu   sync.Mutex // guards jobs; a leaf
	jobs map[ids.JobID]*guest
}

// guest is a job with connections.
type guest struct {
	connections, channels int
	hosts                 map[ids.HostID]int // connections of each
}

// enter counts a connection, until leave. After an error it is not counted.
func (g *guests) enter(job ids.JobID, host ids.HostID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	j := g.jobs[job]
	if j == nil {
		j = &guest{hosts: make(map[ids.HostID]int)}
		g.jobs[job] = j
	}
	if j.connections == maxReaders || j.hosts[host] == maxReadersHost {
		return fmt.Errorf("job %s has %d connections to this worker, %d of them from host %s; each host needs one: %w",
			job, j.connections, j.hosts[host], host, errProtocol)
	}
	j.connections++
	j.hosts[host]++
	return nil
}

// leave counts a connection less. Its channels are closed.
func (g *guests) leave(job ids.JobID, host ids.HostID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	j := g.jobs[job]
	j.connections--
	if j.hosts[host]--; j.hosts[host] == 0 {
		delete(j.hosts, host)
	}
	if j.connections == 0 {
		delete(g.jobs, job)
	}
}

// open counts a channel, until shut. After an error it is not counted.
func (g *guests) open(job ids.JobID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	j := g.jobs[job]
	if j.channels == maxServedJob {
		return fmt.Errorf("job %s reads %d channels of this worker at the same time, and it serves no more; use more workers, or a lower parallelism: %w",
			job, maxServedJob, errTooMany)
	}
	j.channels++
	return nil
}

// shut counts a channel less.
func (g *guests) shut(job ids.JobID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.jobs[job].channels--
}
