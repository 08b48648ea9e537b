package appmaster

import (
	"strconv"

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

// driverVariables are the environment of drivers: this process' without what is its own,
// and their limit of memory.
func driverVariables(own []string, mode launch.Mode, options config.Config) []string {
	_, limit := limits(mode, options)
	return append(launch.ChildEnvironment(own), "GOMEMLIMIT="+strconv.Itoa(limit)+"MiB")
}
