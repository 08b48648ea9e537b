package client

import (
	"cmp"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// uber is the choice between one container for the ApplicationMaster and its worker, and a container for
// each (yarn.application.uber).
type uber struct {
	wanted bool
	// apart says why the worker needs a container of its own; "": it needs none.
	apart string
}

// together reports whether there is one container.
func (u uber) together() bool { return u.wanted && u.apart == "" }

// advice says, in one line, why there is no container for both although the options want it; otherwise "".
func (u uber) advice() string {
	if !u.wanted || u.apart == "" {
		return ""
	}
	return fmt.Sprintf("the job's workers get containers of their own, although %s is %s: %s", config.YarnUber, config.UberAuto, u.apart)
}

// within decides for a cluster whose largest container is known.
func (u uber) within(c Containers, maximum records.Resource) uber {
	if both := c.both(); u.together() && !both.Fits(maximum) {
		u.apart = fmt.Sprintf("both take %d MB and %d vcores, and YARN's largest container has %d MB and %d vcores",
			both.MemoryMB, both.VCores, maximum.MemoryMB, maximum.VCores)
	}
	return u
}

// uberOf reads the choice from the options of a deployment, and from its job.
func uberOf(d Deployment, place launch.WorkerPlace, containers Containers) uber {
	u := uber{wanted: d.Mode == launch.PerJob && wantsUber(d.Config), apart: apart(d.Config, place, containers)}
	if slots, have := d.Graph.Slots(), d.Config.Int(config.TaskSlots); slots > have {
		u.apart = fmt.Sprintf("it needs %d slots, and a worker has %d (%s)", slots, have, config.TaskSlots)
	}
	if group := d.Graph.SlotGroups()[0]; group.Resources != nil { // then all groups have some
		u.apart = fmt.Sprintf("its slot sharing groups have resources of their own (group %s)", group.Name)
	}
	return u
}

func wantsUber(c config.Config) bool { return c.String(config.YarnUber) == config.UberAuto }

// apart says which option needs something that the container of the ApplicationMaster cannot have; "": none.
func apart(c config.Config, place launch.WorkerPlace, containers Containers) string {
	floor := config.MinWorkers(c).Fewest(containers.WorkerMemory.Totals(containers.Worker.VCores))
	switch {
	case place.External != "":
		return fmt.Sprintf("they need more than memory and vcores (%s)", config.ExternalResources)
	case place.Constraint != nil:
		return fmt.Sprintf("they have a placement constraint (%s)", config.YarnWorkerPlacement)
	case place.ExecutionType != "":
		return fmt.Sprintf("they are opportunistic (%s)", config.YarnWorkerExecution)
	case place.NodeLabel != c.String(config.YarnNodeLabel):
		return fmt.Sprintf("they run on nodes with another label (%s)", config.YarnWorkerNodeLabel)
	case c.Int(config.RedundantWorkers) > 0:
		return fmt.Sprintf("the cluster has spare ones (%s)", config.RedundantWorkers)
	case floor.Workers > 1:
		return fmt.Sprintf("the cluster has at least %d workers (%s)", floor.Workers, floor)
	case len(c.Under(config.ContainerMasterEnv)) > 0:
		return fmt.Sprintf("variables are only for the ApplicationMaster (%s*)", config.ContainerMasterEnv)
	}
	return ""
}

// CheckUber explains, in one line, what yarn.application.uber does for small jobs with these options; "" if it
// is never. together is false if no job's worker would run in the ApplicationMaster's container.
func CheckUber(c config.Config, place launch.WorkerPlace, containers Containers, maximum records.Resource) (line string, together bool) {
	if !wantsUber(c) {
		return "", false
	}
	u := uber{wanted: true, apart: apart(c, place, containers)}.within(containers, maximum)
	if !u.together() {
		return u.advice(), false
	}
	both := containers.both()
	return fmt.Sprintf("a per-job application whose job needs no more slots than one worker has (%d) gets one container of %d MB and %d vcores (%s). "+
		"YARN counts all of it against the queue's share for ApplicationMasters (yarn.scheduler.capacity.maximum-am-resource-percent): "+
		"with the default share, %d %%, the queue runs about one of these applications for each %d MB of its memory, and the others wait",
		containers.WorkerMemory.Slots, both.MemoryMB, both.VCores, config.YarnUber, mastersPercent, 100*both.MemoryMB/mastersPercent), true
}

// mastersPercent is the default of yarn.scheduler.capacity.maximum-am-resource-percent, which a client cannot ask for.
const mastersPercent = 10

// both is the container for the ApplicationMaster and a worker. It has the memory of both. Vcores are shares
// of time, and the ApplicationMaster hardly computes while tasks run: the container has those of the one
// that needs more.
func (c Containers) both() records.Resource {
	return records.Resource{MemoryMB: c.Master.MemoryMB + c.Worker.MemoryMB, VCores: max(c.Master.VCores, c.Worker.VCores)}
}

// asked are the containers that YARN is asked for. In one container there is no worker beside it.
func (p *plan) asked(u uber) Containers {
	if u.together() {
		return Containers{Master: p.containers.both()}
	}
	return p.containers
}

// crowded says what may keep the job waiting; "" if nothing is known.
func (p *plan) crowded(u uber, nodes []records.NodeReport) string {
	return cmp.Or(p.demand.TooLarge(memoryMB(nodes)), p.asked(u).crowded(p.workers, nodes))
}
