package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// sampleInterval is the time between two readings of the containers' memory. A tiny job's task host
// lives for a quarter of a second.
const sampleInterval = 10 * time.Millisecond

// flinkProcess is the name of Flink's processes. One of its classes below flinkMasters is the ApplicationMaster.
const (
	flinkProcess = "java"
	flinkMasters = "org.apache.flink.yarn.entrypoint."
)

// resident is memory in bytes, as the kernel counts it.
type resident struct {
	RSS int64 // mapped pages, as the NodeManager counts them
	PSS int64 // the same, but a shared page is divided among its processes
}

func (m resident) plus(o resident) resident { return resident{m.RSS + o.RSS, m.PSS + o.PSS} }

func (m resident) max(o resident) resident { return resident{max(m.RSS, o.RSS), max(m.PSS, o.PSS)} }

// containers watches the processes that YARN starts on this machine. All nodes of the cluster are
// on this machine.
type containers struct {
	others map[int]bool   // processes from before, and those that belong to no container
	inside map[int]string // processes of containers, with the container's id

	masters map[string]bool     // containers with an ApplicationMaster
	peaks   map[string]resident // the largest sum of each container's processes

	totals  map[records.ApplicationID]resident // the largest sum of each application's containers
	used    map[records.ApplicationID]spent    // what each application's processes have used
	before  map[int]spent                      // what a process had used at the last reading
	parents map[int]int
	each    int // memory is read at each so many samples; 0: at each one
	samples int
}

// spent is what processes use up.
type spent struct {
	CPU     time.Duration
	Written int64 // bytes, to disks
}

func (s spent) plus(o spent) spent { return spent{s.CPU + o.CPU, s.Written + o.Written} }

func (s spent) minus(o spent) spent { return spent{s.CPU - o.CPU, s.Written - o.Written} }

// newContainers watches containers that begin from now on.
func newContainers() (*containers, error) {
	running, err := processIDs()
	if err != nil {
		return nil, err
	}
	c := &containers{
		others: make(map[int]bool), inside: make(map[int]string),
		masters: make(map[string]bool), peaks: make(map[string]resident),
		totals: make(map[records.ApplicationID]resident), used: make(map[records.ApplicationID]spent), before: make(map[int]spent), parents: make(map[int]int),
	}
	for _, pid := range running {
		c.others[pid] = true
	}
	return c, nil
}

// watchContainers watches from now until stop, which returns the result. It reads the memory at each so many samples.
func watchContainers(ctx context.Context, every time.Duration, each int) (stop func() (*containers, error), err error) {
	c, err := newContainers()
	if err != nil {
		return nil, err
	}
	c.each = each
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	var failed error // belongs to the goroutine until its end
	watching.Go(func() { failed = c.watch(ctx, every) })
	return func() (*containers, error) {
		cancel()
		watching.Wait()
		return c, failed
	}, nil
}

func (c *containers) watch(ctx context.Context, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if err := c.sample(); err != nil {
			return err
		}
	}
}

func (c *containers) sample() error {
	running, err := processIDs()
	if err != nil {
		return err
	}
	c.forget(running)
	reads := c.each == 0 || c.samples%c.each == 0
	c.samples++
	now, total := make(map[string]resident), make(map[records.ApplicationID]resident)
	for _, pid := range running {
		if c.others[pid] {
			continue
		}
		if c.inside[pid] == "" {
			if err := c.identify(pid); err != nil {
				return err
			}
		}
		id := c.inside[pid]
		if id == "" {
			continue
		}
		container, unknown := records.ParseContainerID(id)
		application := container.Attempt.Application
		if unknown == nil { // else it is none of YARN's
			if err := c.addSpent(application, pid); err != nil {
				return err
			}
		}
		if !reads {
			continue
		}
		memory, err := residentOf(pid)
		if err != nil {
			return err
		}
		now[id] = now[id].plus(memory)
		if unknown == nil {
			total[application] = total[application].plus(memory)
		}
	}
	for id, memory := range now {
		c.peaks[id] = c.peaks[id].max(memory)
	}
	for application, memory := range total {
		c.totals[application] = c.totals[application].max(memory)
	}
	return nil
}

// addSpent adds what a process has used since the last reading. The kernel does not count bytes that went to connections,
// or to files in memory.
func (c *containers) addSpent(to records.ApplicationID, pid int) error {
	io, err := readProcess(pid, "io")
	if err != nil || len(io) == 0 {
		return err
	}
	stat, err := readProcess(pid, "stat")
	if err != nil || len(stat) == 0 {
		return err
	}
	written, errWritten := strconv.ParseInt(field(io, "write_bytes"), 10, 64)
	cpu, errCPU := cpuOf(stat, 14)
	parent, errParent := parentOf(stat)
	if err := errors.Join(errWritten, errCPU, errParent); err != nil {
		return fmt.Errorf("read io and stat of a process: %w", err)
	}
	c.parents[pid] = parent
	now := spent{cpu, written}
	c.used[to] = c.used[to].plus(now.minus(c.before[pid]))
	c.before[pid] = now
	return nil
}

// forget forgets the ended processes, because the kernel reuses their ids. From the end of a process on, its parent has what it has
// written, too.
func (c *containers) forget(running []int) {
	runs := make(map[int]bool, len(running))
	for _, pid := range running {
		runs[pid] = true
	}
	for pid, used := range c.before {
		if runs[pid] {
			continue
		}
		heir := c.parents[pid]
		for !runs[heir] && c.parents[heir] != 0 {
			heir = c.parents[heir]
		}
		if before, counts := c.before[heir]; counts && runs[heir] {
			before.Written += used.Written
			c.before[heir] = before
		}
	}
	maps.DeleteFunc(c.parents, func(pid, _ int) bool { return !runs[pid] })
	maps.DeleteFunc(c.others, func(pid int, _ bool) bool { return !runs[pid] })
	maps.DeleteFunc(c.inside, func(pid int, _ string) bool { return !runs[pid] })
	maps.DeleteFunc(c.before, func(pid int, _ spent) bool { return !runs[pid] })
}

// identify finds out whether a process is one of Bobbin's or Flink's in a container. It looks again at YARN's
// shells, which become such a process or wait for it.
func (c *containers) identify(pid int) error {
	environ, err := readProcess(pid, "environ")
	if err != nil {
		return err
	}
	command, err := readProcess(pid, "cmdline")
	if err != nil {
		return err
	}
	args := strings.Split(string(command), "\x00")
	name := filepath.Base(args[0])
	if name != launch.BobbinLink && name != launch.ProgramLink && name != flinkProcess {
		return nil
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		id, is := strings.CutPrefix(string(entry), "CONTAINER_ID=")
		if !is {
			continue
		}
		c.inside[pid] = id
		isMaster := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flinkMasters) })
		if isMaster || len(args) > 1 && args[1] == "appmaster" {
			c.masters[id] = true
		}
		return nil
	}
	c.others[pid] = true // the client
	return nil
}

// largest returns the peak of the ApplicationMaster's container, and the highest peak of a worker's
// container.
func (c *containers) largest() (master, worker resident) {
	for id, peak := range c.peaks {
		if c.masters[id] {
			master = master.max(peak)
		} else {
			worker = worker.max(peak)
		}
	}
	return master, worker
}

func processIDs() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			ids = append(ids, pid)
		}
	}
	return ids, nil
}

// readProcess reads a file of /proc/PID. It is empty for an ended process.
func readProcess(pid int, name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ESRCH) {
		return nil, nil
	}
	return text, err
}

// residentOf reads smaps_rollup, which counts pages. The numbers in stat and statm are late on
// machines with several processors.
func residentOf(pid int) (resident, error) {
	text, err := readProcess(pid, "smaps_rollup")
	if err != nil || len(text) == 0 {
		return resident{}, err
	}
	rss, errRSS := kilobytes(text, "Rss")
	pss, errPSS := kilobytes(text, "Pss")
	return resident{rss, pss}, errors.Join(errRSS, errPSS)
}

func kilobytes(text []byte, name string) (int64, error) {
	number, _, _ := strings.Cut(field(text, name), " ")
	kb, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read smaps_rollup: %s: %w", name, err)
	}
	return kb << 10, nil
}
