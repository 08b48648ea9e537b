package userdriver

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// sampleInterval is how often the package measures the memory of programs. It is short because a plan of
// many files can exceed the container's size between two checks of the NodeManager, which then kills the
// ApplicationMaster too.
const sampleInterval = 200 * time.Millisecond

// Watch ends programs that hold too much memory, until ctx ends.
func (d *Drivers) Watch(ctx context.Context) {
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.relieve()
		case <-ctx.Done():
			return
		}
	}
}

// relieve kills the program that is furthest above its share, if the container is about to exceed its
// memory.
func (d *Drivers) relieve() {
	containerMB, shareMB := d.config.Limits.ContainerMB, d.config.Limits.EachMB+memory.Overhead
	d.mu.Lock()
	defer d.mu.Unlock()
	var usages []memory.Usage[int]
	byPID := make(map[int]*Process)
	for p := range d.running {
		if p.driver != nil {
			pid := p.driver.PID()
			byPID[pid] = p
			usages = append(usages, memory.Usage[int]{ID: pid, Resident: memory.OfTree(pid), Share: config.Bytes(shareMB) * config.Mebibyte})
		}
	}
	if len(usages) == 0 {
		return
	}
	victim, found := memory.Victim(containerMB, memory.OfProcess(os.Getpid()), usages)
	if !found {
		return
	}
	why := fmt.Sprintf("it was ended because the ApplicationMaster's container was about to exceed its memory: the program held %d MB, and its share is %d MB; raise %s (now %dm), or plan smaller jobs",
		victim.Resident.Megabytes(), shareMB, config.JobManagerProcessSize, containerMB)
	p := byPID[victim.ID]
	p.killed.CompareAndSwap(nil, &why)
	p.driver.Kill()
}
