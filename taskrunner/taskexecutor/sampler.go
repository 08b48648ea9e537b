package taskexecutor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// sampleInterval is short against the 3 s in which the NodeManager looks
// (yarn.nodemanager.container-monitor.interval-ms), as memory can grow by
// gigabytes in that time.
const sampleInterval = 200 * time.Millisecond

// sampleMemory watches the container's process tree until ctx ends, and tells
// the loop of each host that has to end, once.
func (s *shell) sampleMemory(ctx context.Context, containerMB int) {
	s.running.Go(func() {
		told := make(map[ids.HostID]bool)
		ticker := time.NewTicker(sampleInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			hosts := s.hostUsage()
			rest := residentOf(os.Getpid())
			victim, found := memory.Victim(containerMB, rest, hosts)
			if found && !told[victim.ID] {
				told[victim.ID] = true
				s.post(ctx, HostOverMemory{Host: victim.ID, Resident: victim.Resident, Share: victim.Share})
			}
		}
	})
}

func (s *shell) hostUsage() []memory.Usage[ids.HostID] {
	s.mu.Lock()
	current := maps.Clone(s.hosts)
	s.mu.Unlock()
	var hosts []memory.Usage[ids.HostID]
	for id, h := range current {
		if usage, is := h.usage(id, residentOfTree); is {
			hosts = append(hosts, usage)
		}
	}
	return hosts
}

// residentOfTree is what a process and its descendants hold.
func residentOfTree(pid int) config.Bytes {
	total := residentOf(pid)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return total // it has ended
	}
	for _, task := range tasks {
		// The children of each of its threads. A kernel that does not tell them
		// (CONFIG_PROC_CHILDREN) leaves them to the NodeManager.
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue
		}
		for child := range strings.FieldsSeq(string(children)) {
			if id, err := strconv.Atoi(child); err == nil {
				total += residentOfTree(id)
			}
		}
	}
	return total
}

// residentOf is what a process holds, as the NodeManager counts it: resident
// pages, those of files and those shared with others included. 0 for one that
// has ended.
func residentOf(pid int) config.Bytes {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm)) // size resident shared … in pages
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return config.Bytes(pages) * config.Bytes(os.Getpagesize())
}
