//go:build !race

package resourcemanager

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAHeartbeatAllocatesNoMoreInACrowd would catch work in each step for every pair of jobs that wait, and for every kind of
// workers: such work allocates memory.
func TestAHeartbeatAllocatesNoMoreInACrowd(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the allocations of the process
	allocations := func(jobs, kinds int) float64 {
		c := crowded(t, jobs, kinds)
		heartbeat := taskExecutorSaid{From: actor.Peer{Connection: 1, Resource: "w1"}, Message: msg.Heartbeat{}}
		return testing.AllocsPerRun(10, func() { c.Step(testEpoch, heartbeat) })
	}
	alone := allocations(1, 1)
	for _, size := range []struct{ jobs, kinds int }{{200, 1}, {200, 100}, {1, 256}} {
		if n := allocations(size.jobs, size.kinds); n > alone {
			t.Errorf("with %d jobs and %d kinds of workers, a heartbeat makes %v allocations instead of %v", size.jobs, size.kinds, n, alone)
		}
	}
}
