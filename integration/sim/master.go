package sim

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// master is the process of an ApplicationMaster.
type master struct {
	process *engine.Process
	ctx     context.Context //nolint:containedctx // what its fibers run under
	mux     *rolerpc.Mux
	outcome *dispatcher.Outcome // nil before its end
	details msg.JobDetails      // of the job, after its end
	fault   error
}

// workerSpec is the size of each worker.
var workerSpec = resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 1, Slots: 2} //nolint:gochecknoglobals // a constant

// startMaster starts an ApplicationMaster that runs one job.
func (w *World) startMaster(job ids.JobID) *master {
	m := new(master)
	w.masters = append(w.masters, m)
	name := fmt.Sprint("master ", len(w.masters))
	m.process = w.engine.Start(name, func(ctx context.Context) {
		m.ctx = ctx
		outcome, err := m.run(ctx, w, name, job)
		m.outcome, m.fault = &outcome, err
	}, func() { w.ended(m.process) })
	return m
}

func (m *master) run(ctx context.Context, w *World, name string, job ids.JobID) (dispatcher.Outcome, error) {
	provider := newProvider(w, m)
	component, err := appmaster.NewComponent(appmaster.ComponentConfig{
		Config: w.config, Worker: workerSpec, Mode: dispatcher.Detached, Entropy: ids.Source{Reader: reader{w.stream(name)}},
	}, provider, w.logger.WithField("process", name))
	if err != nil {
		return dispatcher.Outcome{}, err
	}
	m.mux = component.Mux
	group, ctx := sched.WithErrors(ctx)
	group.Go(func() error { return component.Run(ctx) })
	var outcome dispatcher.Outcome
	group.Go(func() (err error) {
		if err = component.Submit(ctx, dispatcher.Submission{Job: job, Graph: w.program.graph(), Program: msg.Program{Name: "sim", SHA256: programHash}, Detached: true}); err != nil {
			return err
		}
		if outcome, err = component.Dispatcher.Outcome(ctx); err != nil {
			return err
		}
		if m.details, err = component.Dispatcher.JobDetails(ctx, job); err != nil {
			return err
		}
		if err = component.ResourceManager.Shutdown(ctx, outcome.Status, outcome.Diagnostics); err != nil {
			return err
		}
		return errEnded
	})
	if err = group.Wait(); err == errEnded { //nolint:errorlint // our own value
		err = nil
	}
	return outcome, err
}
