package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	process   *engine.Process
	ctx       context.Context //nolint:containedctx // what its fibers run under
	mux       *rolerpc.Mux
	component *appmaster.Component
	ended     bool // normally
	fault     error
}

// workerSpec is the size of each worker.
var workerSpec = resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 1, Slots: 2} //nolint:gochecknoglobals // a constant

// startMaster starts the ApplicationMaster of a session that runs all jobs, one after the other or side by
// side.
func (w *World) startMaster() *master {
	m := new(master)
	w.masters = append(w.masters, m)
	name := fmt.Sprint("master ", len(w.masters))
	m.process = w.engine.Start(name, func(ctx context.Context) {
		m.ctx = ctx
		m.fault = m.run(ctx, w, name)
		m.ended = m.fault == nil
	}, func() { w.ended(m.process) })
	return m
}

// errEnded ends a master whose jobs have ended.
var errEnded = errors.New("jobs have ended")

func (m *master) run(ctx context.Context, w *World, name string) error {
	var err error
	m.component, err = appmaster.NewComponent(appmaster.ComponentConfig{
		Config: w.config, Worker: workerSpec, Mode: dispatcher.Session, Files: w.hdfs.open(m.process), Entropy: ids.Source{Reader: reader{w.stream(name)}},
	}, newProvider(w, m), w.logger.WithField("process", name))
	if err != nil {
		return err
	}
	m.mux = m.component.Mux
	group, ctx := sched.WithErrors(ctx)
	group.Go(func() error { return m.component.Run(ctx) })
	group.Go(func() error {
		jobs, running := sched.WithErrors(ctx)
		for _, j := range w.jobs {
			jobs.Go(func() error { return m.runJob(running, j) })
		}
		if err := jobs.Wait(); err != nil {
			return err
		}
		if err := m.component.ResourceManager.Shutdown(ctx, msg.ApplicationSucceeded, ""); err != nil {
			return err
		}
		return errEnded
	})
	if err = group.Wait(); errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// runJob submits a job and waits for its end.
func (m *master) runJob(ctx context.Context, j *job) error {
	if err := sched.Sleep(ctx, j.at); err != nil {
		return err
	}
	err := m.component.Submit(ctx, dispatcher.Submission{
		Job: j.id, Graph: &j.graph, Program: msg.Program{Name: "sim", SHA256: programHash}, Detached: true,
	})
	for ended := false; err == nil && !ended; {
		var result msg.JobEnded
		result, err = m.component.Dispatcher.JobResult(ctx, j.id, time.Minute)
		ended = result.Status.GloballyTerminal()
	}
	if err == nil {
		j.details, err = m.component.Dispatcher.JobDetails(ctx, j.id)
	}
	return err
}
