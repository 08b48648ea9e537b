package client

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrMasterTooSmall says that the ApplicationMaster would not fit into its
// container. A worker's is memory.ErrTooSmall.
var ErrMasterTooSmall = errors.New("container is too small for the ApplicationMaster")

// Containers are the two kinds of container that a cluster asks YARN for, without what
// launch.WorkerPlace adds to the second.
type Containers struct {
	Master records.Resource // the ApplicationMaster's
	Worker records.Resource // of each TaskExecutor
	Slots  int              // of each TaskExecutor
}

// leastMaster is the memory that the ApplicationMaster needs to run at all, in
// MB.
const leastMaster = 64

// ContainersOf reads them from options. The error names each that is too small for what runs
// in it: ErrMasterTooSmall, memory.ErrTooSmall.
func ContainersOf(c config.Config) (Containers, error) {
	asked := Containers{
		Master: records.Resource{
			MemoryMB: int64(c.Memory(config.JobManagerProcessSize).Megabytes()), VCores: c.Int(config.YarnAppMasterVCores),
		},
		Worker: records.Resource{
			MemoryMB: int64(c.Memory(config.TaskManagerProcessSize).Megabytes()), VCores: launch.WorkerVCores(c),
		},
		Slots: c.Int(config.TaskSlots),
	}
	var faults []error
	if asked.Master.MemoryMB < leastMaster {
		faults = append(faults, fmt.Errorf("%w: %d MB, want %s of %dm or more (-jm)",
			ErrMasterTooSmall, asked.Master.MemoryMB, config.JobManagerProcessSize, leastMaster))
	}
	if _, err := memory.SlotMB(int(asked.Worker.MemoryMB), asked.Slots); err != nil {
		faults = append(faults, fmt.Errorf("TaskExecutor (-tm, -s): %w", err))
	}
	return asked, errors.Join(faults...)
}

// Within compares both kinds of container, and what a place adds to TaskExecutors', with
// YARN's largest one: a *Refusal, or several joined.
func (c Containers) Within(maximum records.Resource, place launch.WorkerPlace) error {
	var faults []error
	refuse := func(what, options string) {
		faults = append(faults, &Refusal{Kind: ErrResources, What: what, Remedy: "lower it (" + options + ")"})
	}
	for _, container := range []struct {
		what, memory, vcores string
		needs                records.Resource
	}{
		{"ApplicationMaster", "-jm, jobmanager.memory.process.size", "yarn.appmaster.vcores", c.Master},
		{"TaskExecutor", "-tm, taskmanager.memory.process.size", "-s, yarn.containers.vcores, taskmanager.cpu.cores", c.Worker},
	} {
		if container.needs.MemoryMB > maximum.MemoryMB {
			refuse(fmt.Sprintf("the %s asks for %d MB, YARN's largest container has %d MB",
				container.what, container.needs.MemoryMB, maximum.MemoryMB), container.memory)
		}
		if container.needs.VCores > maximum.VCores {
			refuse(fmt.Sprintf("the %s asks for %d vcores, YARN's largest container has %d",
				container.what, container.needs.VCores, maximum.VCores), container.vcores)
		}
	}
	return errors.Join(append(faults, checkExternal(place, maximum)...)...)
}

// checkExternal compares what TaskExecutors' containers have beside memory and cores with
// YARN's maximum, a *Refusal for each that is too much.
func checkExternal(place launch.WorkerPlace, maximum records.Resource) []error {
	var faults []error
	types := maximum.Others.Map()
	asked := place.Capability(0, 0, maximum).Others.Map()
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		refused := &Refusal{Kind: ErrResources}
		most, known := types[name]
		switch {
		case !known:
			refused.What = fmt.Sprintf("the TaskExecutor asks for %s, which YARN does not give out", name)
			refused.Remedy = fmt.Sprintf("name another (external-resource.*.yarn.config-key): YARN has %s",
				cmp.Or(strings.Join(slices.Sorted(maps.Keys(types)), ", "), "memory and vcores alone"))
		case !(records.Resource{}).With(name, asked[name]).Fits(maximum):
			refused.What = fmt.Sprintf("the TaskExecutor asks for %s of %s, YARN's largest container has %s", asked[name], name, most)
			refused.Remedy = "lower it (external-resource.*.amount)"
		default:
			continue
		}
		faults = append(faults, refused)
	}
	return faults
}
