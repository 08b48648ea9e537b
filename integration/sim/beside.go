package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/uber"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// killGrace is how long a worker in its master's container may take to end when it is told to
// (uber.Processes).
const killGrace = 3 * time.Second

// beside is a worker in the container of its master: a child of the master's process.
type beside struct {
	*worker
	cancel context.CancelCauseFunc // of the worker's context: its stdin ends
	told   bool                    // the master knows of its end
}

// Start implements uber.Machine: it starts a worker in the container of the master.
func (m *master) Start(_ context.Context, id ids.ResourceID, l launch.WorkerProcess) (uber.Worker, error) {
	b := &beside{worker: &worker{w: m.w, node: m.node, container: m.container, id: id, master: m, uber: true}}
	m.w.facts[Uber]++
	m.demand.living[id] = resourcemanager.WorkerResourceSpec{Slots: slotsPerWorker, VCores: slotsPerWorker, MemoryMB: workerMB}
	b.start(l.Environment, l.Credentials, func(ctx context.Context) context.Context { //nolint:contextcheck // another process
		ctx, b.cancel = context.WithCancelCause(ctx)
		return ctx
	}, func() {
		delete(m.demand.living, id)
		m.w.engine.After(time.Millisecond, m.process, func() { b.told = true })
	})
	return b, nil
}

// Stop implements uber.Worker.
func (b *beside) Stop() {
	delete(b.master.demand.living, b.id)
	b.w.engine.After(time.Millisecond, b.process, func() {
		if b.cancel != nil { // otherwise it finds its stdin closed when it looks
			b.cancel(errStdin)
		}
	})
	b.w.engine.After(killGrace, nil, b.process.Kill)
}

var errStdin = fmt.Errorf("stdin of the worker is closed: %w", context.Canceled)

// Wait implements uber.Worker.
func (b *beside) Wait() (how string) {
	b.master.process.Wait(func() bool { return b.told })
	b.w.engine.After(0, nil, b.killHosts) // as package orphans does
	return fmt.Sprint("exit: ", b.fault)
}

// besides are the workers that have started in the master's container.
func (m *master) besides() []*worker {
	var all []*worker
	for _, k := range m.w.containers {
		if k.uber && k.master == m {
			all = append(all, k)
		}
	}
	return all
}
