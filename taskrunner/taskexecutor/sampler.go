package taskexecutor

import (
	"context"
	"maps"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// sampleInterval is short compared with the 3 s of the NodeManager's check
// (yarn.nodemanager.container-monitor.interval-ms), because memory can grow by gigabytes in that
// time.
const sampleInterval = 200 * time.Millisecond

// sampleMemory watches the memory of the container's process tree until ctx ends, and names each
// host that must end to the loop, once.
func (s *shell) sampleMemory(ctx context.Context, container config.Bytes) {
	told := make(map[ids.HostID]bool)
	for sched.Sleep(ctx, sampleInterval) == nil {
		hosts := s.hostUsage()
		if len(hosts) == 0 { // also in the simulation, where hosts are no processes
			continue
		}
		rest := procmem.OfProcess(os.Getpid())
		victim, found := memory.Victim(container, rest, hosts)
		if found && !told[victim.ID] {
			told[victim.ID] = true
			s.loop.Tell(ctx, hostOverMemory{Host: victim.ID, Resident: victim.Resident, Share: victim.Share})
		}
	}
}

func (s *shell) hostUsage() []memory.Usage[ids.HostID] {
	s.mu.Lock()
	current := maps.Clone(s.hosts)
	s.mu.Unlock()
	var hosts []memory.Usage[ids.HostID]
	for id, h := range current {
		if usage, is := h.usage(id, procmem.OfTree); is {
			hosts = append(hosts, usage)
		}
	}
	return hosts
}
