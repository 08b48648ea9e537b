package userdriver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
)

// placeTime is how long a program may wait for others to end.
const placeTime = time.Minute

// errProgramEnded is the cause of a program's end on request.
var errProgramEnded = fmt.Errorf("%w: by request", msg.ErrDriverEnded)

// places are the places for programs that a session runs beside the ApplicationMaster. When all are taken,
// programs wait. Make them with newPlaces. Their methods may be called from any goroutine.
type places struct {
	most int
	free *semaphore.Weighted

	mu    sync.Mutex // guards taken and its places
	taken map[string]*place
}

// place is a place that a program has taken. The caller of enter calls leave.
type place struct {
	*places
	details msg.DriverDetails // without its memory
	pid     int               // 0 until its process runs
	end     context.CancelCauseFunc
	left    chan struct{} // closed by leave
}

func newPlaces(most int) *places {
	return &places{most: most, free: semaphore.NewWeighted(int64(most)), taken: make(map[string]*place)}
}

// enter waits for a place for a program. Error: msg.ErrNotReady.
func (p *places) enter(ctx context.Context, program msg.Program) (*place, error) {
	ctx, end := context.WithTimeout(ctx, placeTime)
	defer end()
	if p.free.Acquire(ctx, 1) != nil {
		return nil, fmt.Errorf("%w: %d programs run beside the ApplicationMaster, which is the maximum: wait until one ends, or end one; bobbin status and GET /v1/drivers list them", msg.ErrNotReady, p.most)
	}
	taken := &place{
		places: p, left: make(chan struct{}),
		details: msg.DriverDetails{ID: ids.Random(), Program: program, Started: time.Now()},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[taken.details.ID] = taken
	return taken, nil
}

// leave gives the place back when the program has ended.
func (p *place) leave() {
	p.mu.Lock()
	delete(p.taken, p.details.ID)
	p.mu.Unlock()
	p.free.Release(1)
	close(p.left)
}

// under returns a context that ends with ctx, and with errProgramEnded when stop is called for the program.
func (p *place) under(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = end
	return ctx, end
}

// named sets the program of the place.
func (p *place) named(program msg.Program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.details.Program = program
}

// begun notes that the program's process runs.
func (p *place) begun(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid = pid
}

// submitted counts a job of the program.
func (p *place) submitted(job ids.JobID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.details.Jobs++
	p.details.LastJob = job
}

// list describes the programs that run, the oldest first.
func (p *places) list() []msg.DriverDetails {
	p.mu.Lock()
	list := make([]msg.DriverDetails, 0, len(p.taken))
	pids := make(map[string]int, len(p.taken))
	for id, taken := range p.taken {
		list, pids[id] = append(list, taken.details), taken.pid
	}
	p.mu.Unlock()
	for i := range list {
		if pid := pids[list[i].ID]; pid > 0 {
			list[i].MemoryMB = procmem.OfTree(pid).Megabytes()
		}
	}
	slices.SortFunc(list, func(a, b msg.DriverDetails) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// stop ends a program, and waits for its end. Error: msg.ErrDriverNotFound.
func (p *places) stop(ctx context.Context, id string) error {
	p.mu.Lock()
	taken := p.taken[id]
	var end context.CancelCauseFunc
	if taken != nil {
		end = taken.end
	}
	p.mu.Unlock()
	switch {
	case taken == nil:
		return fmt.Errorf("%w: %s", msg.ErrDriverNotFound, id)
	case end == nil:
		return fmt.Errorf("%w: program %s is being started", msg.ErrNotReady, id)
	}
	end(errProgramEnded)
	select {
	case <-taken.left:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
