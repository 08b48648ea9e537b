//go:build !race

package resourcemanager

import (
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
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

// TestTheSupplyAllocatesNoMoreForManyWorkers would catch a description of ten thousand workers for each user who looks at what a job
// waits for.
func TestTheSupplyAllocatesNoMoreForManyWorkers(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the allocations of the process
	allocations := func(workers int) float64 {
		c, err := newCore(testConfig())
		if err != nil {
			t.Fatal(err)
		}
		declareOne(c, "j1", msg.ResourceProfile{}, 2*workers)
		for n := range workers {
			id := ids.ResourceID(fmt.Sprint("w", n))
			c.Step(testEpoch, workersReported{Events: []WorkerEvent{WorkerStarting{Worker: id, Spec: testConfig().Worker, Host: "h"}}})
			c.Step(testEpoch, taskExecutorSaid{From: actor.Peer{Connection: actor.ConnectionID(n + 1), Resource: id}, Message: registration(id)})
		}
		if total := c.supply().Total; total != 2*workers {
			t.Fatalf("there are %d slots, want those of %d workers", total, workers)
		}
		return testing.AllocsPerRun(10, func() { c.supply() })
	}
	if few, many := allocations(2), allocations(200); many > few {
		t.Errorf("with 2 workers the supply makes %v allocations, and with 200 workers %v", few, many)
	}
}
