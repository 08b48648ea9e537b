package main

import (
	"context"
	"fmt"
)

const memoryRuns = 5

// residentMemory measures what the containers of a tiny job hold.
func residentMemory(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Memory of containers",
		text: fmt.Sprintf("The most that all processes of a container of the tiny job hold at one time, read every %v. RSS is what the NodeManager counts: "+
			"a page of the program file counts in each process that maps it. PSS divides shared pages among those that share them. Flink 1.20: 340 MB and 380 MB.", sampleInterval),
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
	stop, err := watchContainers(ctx)
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
