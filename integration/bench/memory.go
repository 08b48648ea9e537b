package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const memoryRuns = 5

// residentMemory measures the memory of the containers of a tiny job.
func residentMemory(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Memory of containers",
		text: fmt.Sprintf("The most memory that all processes of a container hold at one time during the tiny job, read every %v. The "+
			"NodeManager counts RSS, in which a page of the program file counts for each process that maps it. PSS divides "+
			"shared pages among their processes.", sampleInterval),
		head: []string{"container", "to reach", "RSS", "PSS"},
	}
	_, input, err := r.text(ctx, tinySize)
	if err != nil {
		return t, err
	}
	var masters, workers []resident
	for range r.runs(memoryRuns) {
		master, worker, err := r.memoryOf(ctx, input)
		if err != nil {
			return t, err
		}
		masters, workers = append(masters, master), append(workers, worker)
	}
	t.row("ApplicationMaster", "40 MB", rss(masters), pss(masters))
	t.row("TaskExecutor and task host", "60 MB", rss(workers), pss(workers))
	return t, nil
}

// memoryOf runs the job once.
func (r *rig) memoryOf(ctx context.Context, input string) (master, worker resident, err error) {
	stop, err := watchContainers(ctx, sampleInterval, 1)
	if err != nil {
		return master, worker, err
	}
	_, err = r.wordcount(ctx, input, "counts")
	seen, watching := stop()
	if err == nil {
		err = watching
	}
	if err != nil {
		return master, worker, err
	}
	master, worker = seen.largest()
	if master.RSS == 0 || worker.RSS == 0 {
		return master, worker, fmt.Errorf("of %d containers none was an ApplicationMaster's, or none a worker's", len(seen.peaks))
	}
	return master, worker, nil
}

func rss(list []resident) string { return spreadOf(list, func(m resident) int64 { return m.RSS }) }

func pss(list []resident) string { return spreadOf(list, func(m resident) int64 { return m.PSS }) }

func spreadOf(list []resident, of func(resident) int64) string {
	var values []int64
	for _, m := range list {
		values = append(values, of(m))
	}
	return spread(values, megabytes)
}

// masterOf returns the resident bytes of the ApplicationMaster of an application's first attempt,
// without the shells that wait for it.
func masterOf(id records.ApplicationID) (int64, error) {
	running, err := processIDs()
	if err != nil {
		return 0, err
	}
	container := strings.TrimPrefix(id.String(), "application") + "_01_000001\x00"
	var held int64
	for _, pid := range running {
		environ, err := readProcess(pid, "environ")
		if err != nil {
			return 0, err
		}
		_, value, _ := strings.Cut("\x00"+string(environ), "\x00CONTAINER_ID=container")
		if !strings.HasPrefix(value, container) {
			continue
		}
		memory, err := residentOf(pid)
		if err != nil {
			return 0, err
		}
		held = max(held, memory.RSS)
	}
	if held == 0 {
		return 0, fmt.Errorf("no process on this machine is the ApplicationMaster of %s: %w", id, os.ErrNotExist)
	}
	return held, nil
}
