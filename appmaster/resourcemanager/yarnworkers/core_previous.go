package yarnworkers

import (
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// masterPriority is that of ApplicationMasters (RMAppAttemptImpl#AM_CONTAINER_PRIORITY). Those of workers are above it.
const masterPriority records.Priority = 0

// takePrevious takes over the containers of earlier attempts that YARN lists. Their workers go on. It gives back the
// container of an earlier master: YARN keeps it like any other if it has only given the attempt up, and that
// master may still run. If containers are not kept, nobody needs any of them.
func (c *core) takePrevious(listed []records.Container) (workers []resourcemanager.PreviousWorker) {
	for _, k := range listed {
		id := worker(k.ID)
		switch {
		case c.containers[id] != nil: // a ResourceManager that has restarted lists all
		case k.ID.Attempt == c.attempt: // likewise: released, or failed
		case !c.isPrevious(k.ID) || k.Priority == masterPriority:
			c.giveBack([]records.Container{k})
		default:
			c.containers[id] = &container{Container: k, state: running}
			c.occupy(k, true)
			workers = append(workers, resourcemanager.PreviousWorker{Worker: id, Host: k.Node.Host})
		}
	}
	return workers
}

// isPrevious tells whether a container of an earlier attempt may have a worker of this one. YARN need not have
// listed it: the answer was lost, or its NodeManager was away.
func (c *core) isPrevious(id records.ContainerID) bool {
	return c.keepPrevious && id.Attempt.Application == c.attempt.Application && id.Attempt.Attempt < c.attempt.Attempt
}

// releaseUnlisted releases the container of a worker that has come back although YARN has not listed it. Its
// node is not known, so only YARN can stop it.
func (c *core) releaseUnlisted(worker ids.ResourceID) {
	if id, err := records.ParseContainerID(string(worker)); err == nil && c.isPrevious(id) {
		c.release = append(c.release, id)
	}
}
