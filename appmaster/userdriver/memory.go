package userdriver

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// sampleInterval is how often the package measures the memory of programs. It is short because a plan of
// many files can exceed the container's size between two checks of the NodeManager, which then kills the
// ApplicationMaster too.
const sampleInterval = 200 * time.Millisecond

// Watch ends programs that hold too much memory, until ctx ends. If nothing measures memory, it returns at
// once.
func (d *Drivers) Watch(ctx context.Context) {
	if d.config.Machine.Measure == nil {
		return
	}
	for sched.Sleep(ctx, sampleInterval) == nil {
		d.relieve()
	}
}

// relieve kills the program that is furthest above its share, if the container is about to exceed its
// memory.
func (d *Drivers) relieve() {
	limits := d.config.Limits
	share := limits.Each + memory.ProcessOverhead
	d.mu.Lock()
	defer d.mu.Unlock()
	var pids []int
	byPID := make(map[int]*Process)
	for p := range d.running {
		if p.child != nil {
			pid := p.child.PID()
			byPID[pid] = p
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		return
	}
	own, trees := d.config.Machine.Measure(pids)
	var usages []memory.Usage[int]
	for i, pid := range pids {
		usages = append(usages, memory.Usage[int]{ID: pid, Resident: trees[i], Share: share})
	}
	victim, found := memory.Victim(limits.Container, own, usages)
	if !found {
		return
	}
	why := fmt.Sprintf("it was ended because the ApplicationMaster's container was about to exceed its memory: the program held %d MB, and its share is %d MB; raise %s (the container has %d MB), or plan smaller jobs",
		victim.Resident.Megabytes(), share.Megabytes(), limits.Raise, limits.Container.Megabytes())
	p := byPID[victim.ID]
	p.killed.CompareAndSwap(nil, &why)
	p.child.Kill()
}
