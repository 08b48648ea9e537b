package resourcemanager

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// NotedWorkers bounds the workers whose start is remembered: the first ones, which decide when work begins. A provider tells more
// about them than about later ones.
const NotedWorkers = 8

// Begin tells how the first workers have come, for users who ask what takes the time.
type Begin struct {
	// ReturnFrom is since when workers of earlier masters are awaited; zero: they are not. ReturnUntil is until when; zero: they
	// still are.
	ReturnFrom, ReturnUntil time.Time
	// Asked is when workers were ordered first; zero: never.
	Asked   time.Time
	Workers []WorkerBegin // the first ones, in the order in which they came
	More    int           // later ones
}

// WorkerBegin is the start of a worker. Times are zero as long as nothing is known.
type WorkerBegin struct {
	Worker     ids.ResourceID
	Host       string
	Size       msg.ContainerSize
	Granted    time.Time // the provider had room for it
	Launched   time.Time // its node has accepted the start
	Registered time.Time
	Ended      time.Time // before it registered
	Cause      string    // of that end
}

// clone is a copy that the core does not change.
func (b Begin) clone() Begin {
	b.Workers = slices.Clone(b.Workers)
	return b
}

// granted notes a worker that the provider has room for.
func (b *Begin) granted(now time.Time, w *worker) {
	if len(b.Workers) == NotedWorkers {
		b.More++
		return
	}
	size := msg.ContainerSize{MemoryMB: w.kind.spec.MemoryMB, VCores: w.kind.spec.VCores}
	b.Workers = append(b.Workers, WorkerBegin{Worker: w.id, Host: w.host, Size: size, Granted: now})
}

// note changes what is remembered of a worker that has neither registered nor ended.
func (b *Begin) note(id ids.ResourceID, change func(*WorkerBegin)) {
	for i := range b.Workers {
		if w := &b.Workers[i]; w.Worker == id && w.Registered.IsZero() && w.Ended.IsZero() {
			change(w)
		}
	}
}

func (b *Begin) launched(now time.Time, id ids.ResourceID) {
	b.note(id, func(w *WorkerBegin) { w.Launched = now })
}

func (b *Begin) registered(now time.Time, id ids.ResourceID) {
	b.note(id, func(w *WorkerBegin) { w.Registered = now })
}

func (b *Begin) ended(now time.Time, id ids.ResourceID, cause string) {
	b.note(id, func(w *WorkerBegin) { w.Ended, w.Cause = now, cause })
}

// noteReturn notes the time in which workers of earlier masters are awaited.
func (c *core) noteReturn() {
	c.begin.ReturnFrom = c.recovery.from
	if b := &c.begin; b.ReturnUntil.IsZero() && !b.ReturnFrom.IsZero() && !c.recovering() {
		b.ReturnUntil = c.now
	}
}

// notedGrants bounds the jobs whose first container is remembered, also after their ends: as many as may be unfinished.
const notedGrants = 1000

// grants are when the first container came for each job that lacked slots. Make it with newGrants.
type grants struct {
	at    map[ids.JobID]time.Time
	order []ids.JobID // the oldest first
}

func newGrants() grants { return grants{at: make(map[ids.JobID]time.Time)} }

// add notes that a container has come that may serve these jobs.
func (g *grants) add(now time.Time, jobs []ids.JobID) {
	for _, job := range jobs {
		if _, known := g.at[job]; known {
			continue
		}
		if len(g.order) == notedGrants {
			delete(g.at, g.order[0])
			g.order = g.order[1:]
		}
		g.at[job], g.order = now, append(g.order, job)
	}
}
