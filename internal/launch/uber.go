package launch

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// uberMark is between the container and the number in the id of a worker in the AM's container.
const uberMark = "-uber-"

// UberWorker is the id of the nth worker in the AM's container, from 1.
func UberWorker(container string, n int) ids.ResourceID {
	return ids.ResourceID(fmt.Sprintf("%s%s%d", container, uberMark, n))
}

// ContainerOf is the container in which a worker runs, as text.
func ContainerOf(worker ids.ResourceID) string {
	container, _, _ := strings.Cut(string(worker), uberMark)
	return container
}

// AttemptOf is the application's attempt that has started a worker; 0 if the worker has no container.
func AttemptOf(worker ids.ResourceID) int {
	container, err := records.ParseContainerID(ContainerOf(worker))
	if err != nil { // in local mode
		return 0
	}
	return int(container.Attempt.Attempt)
}

// AttemptOfContainer is the application's attempt to which YARN gave the container of a worker; 0 if the worker has no
// container of its own: it runs beside its master, or in local mode.
func AttemptOfContainer(worker ids.ResourceID) int {
	id, err := records.ParseContainerID(string(worker))
	if err != nil || id.String() != string(worker) { // one container has one name
		return 0
	}
	return int(id.Attempt.Attempt)
}
