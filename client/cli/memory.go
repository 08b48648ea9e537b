package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// newCluster returns the kind of cluster that a run with these options starts on YARN; "" if it starts none.
func newCluster(cfg config.Config) launch.Mode {
	switch cfg.String(config.ExecutionTarget) {
	case config.TargetPerJob:
		return launch.PerJob
	case config.TargetApplication:
		return launch.Application
	default:
		return ""
	}
}

// checkBeforePlan makes the checks of a run that need neither a plan nor a server. It returns the containers of
// the cluster that the run starts on YARN; nil if it starts none.
func checkBeforePlan(cfg config.Config) (*client.Containers, error) {
	if err := config.Validate(cfg); err != nil {
		return nil, err
	}
	mode := newCluster(cfg)
	if mode == "" {
		return nil, nil
	}
	containers, err := client.ContainersOf(cfg, mode)
	_, unplaced := launch.PlaceOf(cfg)
	return &containers, errors.Join(err, unplaced)
}

// containerMemory is how a container is divided, for -o json. Sizes are in bytes.
type containerMemory struct {
	Container config.Bytes `json:"container"`
	DecidedBy string       `json:"decidedBy"` // the option that decides the size of the container
	Slots     int          `json:"slots,omitempty"`
	Parts     []memoryPart `json:"parts"`
}

type memoryPart struct {
	Name   string       `json:"name"`
	Size   config.Bytes `json:"size"`
	Option string       `json:"option"` // the option that decides the size
	shared bool         // by all slots
}

// clusterMemory is how the containers of a cluster are divided.
type clusterMemory struct {
	TaskManager containerMemory `json:"taskManager"`
	JobManager  containerMemory `json:"jobManager"`
}

// memoryOf describes the containers that these options give.
func memoryOf(cfg config.Config, c client.Containers) (clusterMemory, error) {
	worker, master := c.WorkerMemory, c.MasterMemory
	workerParts, ofWorker := memory.WorkerParts(cfg)
	masterParts, ofMaster := memory.MasterParts(cfg, master.Programs)
	return clusterMemory{
		TaskManager: containerMemory{worker.Process, worker.By.Name(), worker.Slots, partsOf(workerParts)},
		JobManager:  containerMemory{master.Process, master.By.Name(), 0, partsOf(masterParts)},
	}, errors.Join(ofWorker, ofMaster)
}

func partsOf(parts []memory.Part) []memoryPart {
	all := make([]memoryPart, len(parts))
	for i, part := range parts {
		all[i] = memoryPart{part.Name, part.Size, part.Option, part.Shared}
	}
	return all
}

// write prints a table for each container.
func (m clusterMemory) write(out io.Writer) error {
	for _, container := range []struct {
		name string
		containerMemory
	}{{"TaskExecutor", m.TaskManager}, {"ApplicationMaster", m.JobManager}} {
		slots := ""
		if container.Slots > 0 {
			slots = fmt.Sprintf(", slots: %d", container.Slots)
		}
		fmt.Fprintf(out, "\n%s: %s (%s)%s\n", container.name, memory.Text(container.Container), container.DecidedBy, slots)
		table := terminal.Table{Columns: []terminal.Column{{Title: "part"}, {Title: "memory"}, {Title: "slot"}, {Title: "option", Below: true}}}
		for _, part := range container.Parts {
			each := ""
			if part.shared {
				each = memory.Text(part.Size / config.Bytes(container.Slots))
			}
			table.Add(part.Name, memory.Text(part.Size), each, part.Option)
		}
		if err := table.Write(out); err != nil {
			return err
		}
	}
	return nil
}
