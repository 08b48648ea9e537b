package launch_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// TestWorkersAreFoundInTheirContainers would catch a worker whose logs nobody finds by its name.
func TestWorkersAreFoundInTheirContainers(t *testing.T) {
	const container = "container_e17_1700000000000_0001_01_000001"
	first, second := launch.UberWorker(container, 1), launch.UberWorker(container, 2)
	for _, worker := range []ids.ResourceID{container, first, second} {
		if got := launch.ContainerOf(worker); got != container {
			t.Errorf("%s is in %s", worker, got)
		}
		if got := launch.AttemptOf(worker); got != 1 {
			t.Errorf("%s is of attempt %d", worker, got)
		}
	}
	if first == second || first == container {
		t.Errorf("workers have the names %s and %s", first, second)
	}
}
