package appmaster

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// Where users' drivers run beside this process, all of them share its container. These
// are the parts of it that the heaps may take, in percent; the rest is program text,
// stacks and the kernel's share. The limits are Go's soft ones.
const (
	masterShare      = 50
	applicationShare = 25 // of its one driver
	sessionShare     = 25 / maxDrivers
	// leastDriverMB is what a program needs to plan at all.
	leastDriverMB = 24
)

// limits are the soft limits of memory, in MB, of this process and of each driver. 0: what
// the process was started with.
func limits(mode launch.Mode, options config.Config) (master, driver int) {
	container := options.Memory(config.JobManagerProcessSize).Megabytes()
	switch mode {
	case launch.Application:
		return container * masterShare / 100, max(container*applicationShare/100, leastDriverMB)
	case launch.Session:
		return container * masterShare / 100, max(container*sessionShare/100, leastDriverMB)
	case launch.PerJob: // has no driver
	}
	return 0, 0
}

// The parts of this process' heap that grow with what its users want of it, in percent. The
// rest is for what does not: the program itself, with its clients of YARN and HDFS, some 15 MB;
// 64 KB for each worker's stream; two views while they are composed, each of which takes some four
// times its answer's length; and garbage, of which Go's collector needs room for a third of the
// heap, or it does nothing but collect.
const (
	// jobsPart is for jobs: those that run, what they collect, and what is kept of those
	// that have ended.
	jobsPart = 40
	// bodiesPart is for requests that are being read.
	bodiesPart = 25
	// answersPart is for answers that are being written.
	answersPart = 5
)

// budgets are what jobs may take of this process' memory, and what requests may that are
// being read, in bytes.
func budgets(mode launch.Mode, options config.Config) (jobs, bodies int64) {
	heap := heapOf(mode, options)
	return heap * jobsPart / 100, heap * bodiesPart / 100
}

// answersMemory is what answers may take of it that are being written, in bytes.
func answersMemory(mode launch.Mode, options config.Config) int64 {
	return heapOf(mode, options) * answersPart / 100
}

// heapOf is how large this process' heap may be, in bytes.
func heapOf(mode launch.Mode, options config.Config) int64 {
	heapMB, _ := limits(mode, options)
	if heapMB == 0 {
		heapMB = options.Memory(config.JobManagerProcessSize).Megabytes() * launch.MasterHeapShare / 100
	}
	return int64(heapMB) << 20
}

// jobLimits bound the jobs that drivers bring.
type jobLimits struct {
	most   int // bytes of one, as it is encoded; 0: nobody bounds it
	growth int // how much more memory it may take that is decoded; 0: nobody bounds it
	// hold waits for room for one; nil: there is room.
	hold func(ctx context.Context, bytes int) (leave func(), err error)
}

// limitJobs says what drivers may bring. In a session they share with requests, which bring
// the same. An application's driver is alone, and its text takes half as much as the job.
func limitJobs(mode launch.Mode, options config.Config, room *rest.Room) jobLimits {
	if mode == launch.Application {
		jobs, _ := budgets(mode, options)
		return jobLimits{most: int(jobs / 2)}
	}
	return jobLimits{most: room.Largest(), growth: rest.MaxGrowth, hold: room.Hold}
}

// driverVariables are the environment of drivers: this process' without what is its own,
// and their limit of memory.
func driverVariables(own []string, mode launch.Mode, options config.Config) []string {
	_, limit := limits(mode, options)
	return append(launch.ChildEnvironment(own), "GOMEMLIMIT="+strconv.Itoa(limit)+"MiB")
}

// sampleInterval is how often the memory of drivers is looked at: often, as a plan of many
// files can grow by a container's size between two looks of the NodeManager, which then
// ends the master with them.
const sampleInterval = 200 * time.Millisecond

// watchDrivers ends drivers that hold too much, until ctx ends.
func (s *services) watchDrivers(ctx context.Context) {
	container := s.env.config.Memory(config.JobManagerProcessSize).Megabytes()
	_, limit := limits(s.env.launch.Mode, s.env.config)
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.drivers.running.relieve(container, limit+memory.Overhead)
		case <-ctx.Done():
			return
		}
	}
}

// relieve kills the driver that is furthest over its share, all in MB, if the container is
// about to exceed its memory.
func (r *children) relieve(containerMB, shareMB int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var usages []memory.Usage[int]
	byPID := make(map[int]*child)
	for c := range r.all {
		if c.Driver != nil {
			pid := c.PID()
			byPID[pid] = c
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
	why := fmt.Sprintf("it was ended because the ApplicationMaster's container was about to exceed its memory: it held %d MB of its share of %d MB; raise %s (now %dm) or plan less",
		victim.Resident.Megabytes(), shareMB, config.JobManagerProcessSize, containerMB)
	c := byPID[victim.ID]
	c.killed.CompareAndSwap(nil, &why)
	c.Kill()
}
