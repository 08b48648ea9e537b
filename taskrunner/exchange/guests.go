package exchange

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Bounds of what the hosts of one job, which run users' code, can have open at a Server. All jobs share its process, which has 32 MB
// by default.
const (
	// maxServed is the number of channels of a connection: 256 gates (maxOpen) of one host that read only from this worker.
	maxServed = 1 << 14
	// maxServedJob is the number of channels of all connections of a job. They take some 13 MB.
	maxServedJob = 1 << 16
	// maxRefused is the number of further channels of a job that wait for the frame that refuses them. They take some 2 MB. A host that
	// takes its frames never comes near it: the frame follows at once.
	maxRefused = 1 << 13
	// maxReadersHost is the number of connections of one host, by the name that it gives. It needs one; a second may begin before this
	// end knows that the first one has ended.
	maxReadersHost = 4
	// idleBytes is the memory of a connection that waits for its host: its goroutines, TLS, the certificate, and small buffers.
	idleBytes = 40 << 10
	// readerBytes is that of a connection whose host does not take what is written: also a block, and a record of TLS. See batchMemory
	// for the rest.
	readerBytes = 80 << 10
	// serverMemory is the default of ServerConfig.Memory.
	serverMemory = 32 << 20
)

const (
	// busyPause is the time after which a reader asks a busy Server again, 2 s.
	busyPause = 2 * time.Second
	// busyTries is how often a reader asks until its task fails: some 5 min. Meanwhile hosts leave connections that they do not use. A
	// task that does not poll a gate does not ask.
	busyTries = 150
)

// errBusy says that a Server has no room for a further connection or channel of a job now, and that the reader should ask again. Its
// text begins the refusal of a greeting, or the payload of a frameFail: see said.
var errBusy = errors.New("worker is busy")

// errCrowdedHost is an errBusy for one host alone: others have room.
var errCrowdedHost = fmt.Errorf("%w: a host has too many connections", errBusy)

// said makes an error of a text from the other end.
func said(text string) error {
	if details, busy := strings.CutPrefix(text, errBusy.Error()); busy {
		return fmt.Errorf("%w%s", errBusy, details)
	}
	return errors.New(text)
}

// guests counts what the hosts of each job have open. Its methods may be called from any goroutine.
type guests struct {
	most    int // connections of all jobs
	mostJob int // connections of a job

	mu          sync.Mutex // guards all below; a leaf
	jobs        map[ids.JobID]*guest
	connections int
}

// guestsIn makes the guests of a process with so much memory. Connections take up to three quarters of it, and those of one job up to
// half.
func guestsIn(memory int64) guests {
	quarter := int(min(memory, 16<<30) / 4 / readerBytes)
	return guests{most: 3 * quarter, mostJob: 2 * quarter, jobs: make(map[ids.JobID]*guest)}
}

// guest is a job with connections.
type guest struct {
	connections, channels int
	refused               int                // channels, while the frame that refuses them waits
	hosts                 map[ids.HostID]int // connections of each
}

// enter counts a connection, until leave. After an error, which is errBusy, it is not counted.
func (g *guests) enter(job ids.JobID, host ids.HostID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	j := g.jobs[job]
	if j == nil {
		j = new(guest)
	}
	switch {
	case j.hosts[host] == maxReadersHost:
		return fmt.Errorf("%w: %s has %d, and needs one; it gets another when one of them ends", errCrowdedHost, host, maxReadersHost)
	case g.connections == g.most || j.connections == g.mostJob:
		return fmt.Errorf("%w: it has %d connections, and %d of them from hosts of job %s; raise taskmanager.memory.framework.heap.size, or use fewer and larger workers (taskmanager.numberOfTaskSlots)",
			errBusy, g.connections, j.connections, job)
	}
	if j.hosts == nil {
		j.hosts = make(map[ids.HostID]int)
		g.jobs[job] = j
	}
	g.connections++
	j.connections++
	j.hosts[host]++
	return nil
}

// leave counts a connection less. Its channels are closed.
func (g *guests) leave(job ids.JobID, host ids.HostID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	j := g.jobs[job]
	g.connections--
	j.connections--
	if j.hosts[host]--; j.hosts[host] == 0 {
		delete(j.hosts, host)
	}
	if j.connections == 0 {
		delete(g.jobs, job)
	}
}

// open counts a channel, until shut. After errBusy it is counted as a refused one, and after errTooMany not at all.
func (g *guests) open(job ids.JobID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	j := g.jobs[job]
	switch {
	case j.channels < maxServedJob:
		j.channels++
		return nil
	case j.refused < maxRefused:
		j.refused++
		return fmt.Errorf("%w: job %s reads %d channels of it at the same time, and it serves no more; use more workers, or a lower parallelism",
			errBusy, job, maxServedJob)
	default:
		return fmt.Errorf("job %s opens channels, and does not read that they are refused: %w", job, errTooMany)
	}
}

// shut counts a channel less, or a refused one.
func (g *guests) shut(job ids.JobID, refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if refused {
		g.jobs[job].refused--
	} else {
		g.jobs[job].channels--
	}
}
