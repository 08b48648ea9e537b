package appmaster

import (
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// Where users' drivers run beside this process, all of them share its container. These
// are the parts of it that the heaps may take, in percent; the rest is program text,
// stacks and the kernel's share. The limits are Go's soft ones.
const (
	masterShare      = 50
	applicationShare = 25 // of its one driver
	sessionShare     = 25 / maxDrivers
	// maxDrivers bounds the drivers that a session runs at once; more wait.
	maxDrivers = 4
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

// limitPrograms says what users' programs may take. In a session they share with requests, which bring
// the same jobs. An application's program is alone, and its job's text takes half as much as the job.
func limitPrograms(mode launch.Mode, options config.Config, room *rest.Room) userdriver.Limits {
	_, each := limits(mode, options)
	l := userdriver.Limits{ContainerMB: options.Memory(config.JobManagerProcessSize).Megabytes(), EachMB: each}
	if mode == launch.Application {
		jobs, _ := budgets(mode, options)
		l.Job = int(jobs / 2)
	} else {
		l.Job, l.Growth, l.Hold = room.Largest(), rest.MaxGrowth, room.Hold
	}
	return l
}
