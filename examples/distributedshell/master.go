package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// master is the ApplicationMaster.
type master struct {
	job      Job
	rm       *amrm.Client
	nm       *nmclient.Client
	waiting  []int                       // copies that wait for a container
	running  map[records.ContainerID]int // copies by their containers
	failures map[int]int                 // by copy
}

// lead runs a job to its end and reports the result to YARN.
func lead(ctx context.Context, job Job, conf *hadoopconf.Conf, getenv func(string) string) error {
	toRM, err := amrm.FromContainer(conf, getenv)
	if err != nil {
		return err
	}
	toNM, err := nmclient.FromConf(conf)
	if err != nil {
		return err
	}
	m := &master{job: job, rm: amrm.New(toRM), nm: nmclient.New(toNM), running: map[records.ContainerID]int{}, failures: map[int]int{}}
	defer m.nm.Close()
	defer m.rm.Close()
	if _, err := m.rm.Register(ctx, amrm.RegisterRequest{Host: getenv("NM_HOST"), RPCPort: -1}); err != nil {
		return err
	}
	if err := m.run(ctx); err != nil {
		return errors.Join(err, m.rm.Finish(ctx, records.FinalFailed, err.Error(), ""))
	}
	return m.rm.Finish(ctx, records.FinalSucceeded, "all copies have run", "")
}

// run returns when every copy has succeeded, or a copy has failed too often.
func (m *master) run(ctx context.Context) error {
	for i := range m.job.Copies {
		m.waiting = append(m.waiting, i)
	}
	progress := func() float32 { return 1 - float32(len(m.waiting)+len(m.running))/float32(m.job.Copies) }
	for response, err := range m.rm.Heartbeats(ctx, amrm.Pace{Progress: progress}) {
		if err == nil {
			err = m.heard(ctx, response)
		}
		if err != nil || len(m.waiting)+len(m.running) == 0 {
			return err
		}
		m.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: m.job.Size, Count: len(m.waiting)})
	}
	return nil
}

// heard starts copies in the containers that a heartbeat has brought, and queues failed copies again.
func (m *master) heard(ctx context.Context, response amrm.Response) error {
	m.nm.SetTokens(response.NMTokens)
	var launches []nmclient.Launch
	for _, c := range response.Allocated {
		m.running[c.ID], m.waiting = m.waiting[0], m.waiting[1:]
		launches = append(launches, nmclient.Launch{Container: c, Context: records.ContainerLaunchContext{
			Environment: map[string]string{"SHELL_COPY": fmt.Sprint(m.running[c.ID])},
			Commands:    []string{records.Verbatim("("+m.job.Command+"\n)") + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"},
			Tokens:      m.job.tokens,
		}})
	}
	failed, _ := errors.AsType[nmclient.Failures](m.nm.StartAll(ctx, launches...))
	for _, f := range failed { // YARN will report their release, but not the reason
		m.rm.Release(f.Container)
		response.Completed = append(response.Completed, records.ContainerStatus{ID: f.Container, ExitStatus: records.ExitUnknown, Diagnostics: f.Err.Error()})
	}
	for _, c := range response.Surplus {
		m.rm.Release(c.ID)
	}
	for _, s := range response.Completed {
		i, ours := m.running[s.ID]
		delete(m.running, s.ID)
		if !ours || s.ExitStatus == records.ExitSuccess {
			continue
		}
		if s.ExitStatus.Countable() {
			m.failures[i]++
		}
		if m.failures[i] > m.job.Retries {
			return fmt.Errorf("copy %d has failed %d times, at last in %s: %s: %s", i, m.failures[i], s.ID, s.ExitStatus.Reason(), s.Diagnostics)
		}
		m.waiting = append(m.waiting, i)
	}
	return nil
}
