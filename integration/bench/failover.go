package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	failoverRuns = 5
	// lingering is the number of tasks of the job that runs meanwhile, each in a worker of its own.
	lingering = 4
)

// failovers measures the time from the death of an ApplicationMaster until all tasks of its job run
// again, beside Flink if it is there.
func failovers(ctx context.Context, r *rig) (_ table, err error) {
	t := table{
		title: "The ApplicationMaster is killed",
		text: fmt.Sprintf("A session runs a job with %d tasks, each in a worker of its own. `kill -9` ends the ApplicationMaster, and all times "+
			"run from there. *Next attempt started*: YARN has started the process of the next attempt; this part is YARN's. *Workers "+
			"accepted*: REST of the next attempt lists the first worker. *All tasks running*: it reports all tasks of the job as running. "+
			"The goal is 2.5 s. Bobbin and Flink run in turns, %d times, and Flink tuned %d times. The cluster is one of its own, with a "+
			"ZooKeeper for Flink's high availability. Flink has the options of its own `config.yaml`, and ZooKeeper those of its own sample. "+
			"*Flink tuned* is that of [submission](#submission-beside-flink), and its session at ZooKeeper ends after 4 s, which is the "+
			"shortest time that ZooKeeper allows. Times are lengthened by the processors that all processes share.",
			lingering, failoverRuns, longRuns),
		head: []string{"after the kill", "to reach", "Bobbin", "Flink", "Flink tuned"},
	}
	hadoop, err := cluster.Start(ctx, cluster.Config{
		Version: r.cluster.Version(), MemoryMB: 16 << 10, VCores: 128, Users: []string{user}, ZooKeeper: true,
	})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, hadoop.Close()) }()
	own, err := newRig(ctx, options{bin: r.bin, flink: r.flink, runs: r.most, calls: r.calls}, hadoop)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, own.close()) }()
	return own.failovers(ctx, t)
}

// failovers adds the rows.
func (r *rig) failovers(ctx context.Context, t table) (table, error) {
	input, err := r.hours(ctx)
	if err != nil {
		return t, err
	}
	rivals := []struct {
		survivor
		runs int
		took []handover
	}{{survivor: &lingeringBobbin{bobbin{r, input}}, runs: r.runs(failoverRuns)}, {}, {}}
	version := "not installed here"
	if r.flink != "" {
		zooKeeper, err := r.cluster.ZooKeeperAddress()
		if err != nil {
			return t, err
		}
		plain, tuned, err := installFlink(ctx, r, input, zooKeeper)
		if err != nil {
			return t, err
		}
		if version, err = plain.version(); err != nil {
			return t, err
		}
		rivals[1].survivor, rivals[1].runs = lingeringFlink{plain}, r.runs(failoverRuns)
		rivals[2].survivor, rivals[2].runs = lingeringFlink{tuned}, r.runs(longRuns)
	}
	t.text += " Flink is " + version + "."
	if _, err := r.handOver(ctx, rivals[0].survivor); err != nil { // so that programs are on the nodes
		return t, err
	}
	for i := range r.runs(failoverRuns) {
		for k := range rivals {
			if i >= rivals[k].runs {
				continue
			}
			took, err := r.handOver(ctx, rivals[k].survivor)
			if err != nil {
				return t, err
			}
			rivals[k].took = append(rivals[k].took, took)
		}
	}
	for _, row := range []struct {
		name, goal string
		of         func(handover) time.Duration
	}{
		{"next attempt started", "", func(h handover) time.Duration { return h.started }},
		{"workers accepted", "", func(h handover) time.Duration { return h.accepts }},
		{"all tasks running", "2.5 s", func(h handover) time.Duration { return h.running }},
		{"all tasks running, without YARN's part", "", func(h handover) time.Duration { return h.running - h.started }},
	} {
		cells := []string{row.name, row.goal}
		for _, rival := range rivals {
			var times []time.Duration
			for _, took := range rival.took {
				times = append(times, row.of(took))
			}
			if len(times) == 0 {
				cells = append(cells, "")
			} else {
				cells = append(cells, spread(times, seconds))
			}
		}
		t.row(cells...)
	}
	return t, nil
}

// handover holds the times from the death of an ApplicationMaster.
type handover struct{ started, accepts, running time.Duration }

// handOver measures a survivor once. When it returns, nothing of it runs.
func (r *rig) handOver(ctx context.Context, s survivor) (took handover, err error) {
	_, report, err := r.submit(ctx, s, s.session())
	if err != nil {
		return took, err
	}
	defer func() { err = errors.Join(err, r.end(ctx, report.ID)) }()
	if _, _, err := r.runIn(ctx, s.environment(), s.linger(report.ID.String())...); err != nil {
		return took, err
	}
	reached := func(what string, attempt int32, is func(workers, running int) bool) error {
		return await(ctx, what, func() (bool, error) {
			workers, running, err := s.look(ctx, report.ID, attempt)
			if errors.Is(err, errNotYet) {
				return false, nil
			}
			return err == nil && is(workers, running), err
		})
	}
	var tasks int // a system may run more than the lingering ones
	all := func(_, running int) bool {
		tasks = max(tasks, running)
		return running >= lingering && running == tasks
	}
	if err := errors.Join(reached("all tasks run", 1, all), outOfStep(ctx), reached("all tasks still run", 1, all)); err != nil {
		return took, err
	}
	pid, err := masterProcess(report.ID, 1, s)
	if err == nil && pid == 0 {
		err = fmt.Errorf("no process on this machine is the ApplicationMaster of %s", report.ID)
	}
	if err != nil {
		return took, err
	}
	began := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return took, err
	}
	err = await(ctx, "the next attempt starts", func() (bool, error) {
		pid, err := masterProcess(report.ID, 2, s)
		return pid != 0, err
	})
	if err != nil {
		return took, err
	}
	took.started = time.Since(began)
	if err := reached("the first worker is accepted", 2, func(workers, _ int) bool { return workers > 0 }); err != nil {
		return took, err
	}
	took.accepts = time.Since(began)
	err = reached("all tasks run again", 2, all)
	took.running = time.Since(began)
	return took, err
}

// masterProcess finds the process of an attempt's ApplicationMaster. It is 0 if there is none.
func masterProcess(id records.ApplicationID, attempt int32, s survivor) (int, error) {
	running, err := processIDs()
	if err != nil {
		return 0, err
	}
	container := fmt.Sprintf("%s_%02d_", strings.TrimPrefix(id.String(), "application"), attempt)
	name, argument := s.entry()
	for _, pid := range running {
		command, err := readProcess(pid, "cmdline")
		if err != nil {
			return 0, err
		}
		args := strings.Split(string(command), "\x00")
		if filepath.Base(args[0]) != name || !slices.Contains(args[1:], argument) {
			continue
		}
		environ, err := readProcess(pid, "environ")
		if err != nil {
			return 0, err
		}
		_, value, _ := strings.Cut("\x00"+string(environ), "\x00CONTAINER_ID=container")
		if held, _, _ := strings.Cut(value, "\x00"); strings.Contains(held, container) {
			return pid, nil
		}
	}
	return 0, nil
}
