package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	scaleRuns     = 3
	deployWorkers = 2_500
	steadyWorkers = 10_000
)

// thousandsOfWorkers measures the master of clusters that no machine of ours holds. See package scale.
func thousandsOfWorkers(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Thousands of workers",
		text: "`integration/bench/scale` is the ApplicationMaster's ResourceManager, " +
			"Dispatcher and JobMaster, with their loops, streams, outboxes and logs, in virtual time. State machines take the place " +
			"of the workers; their processor time does not count. Each message is encoded by its sender and decoded by its receiver. gRPC, TLS, YARN " +
			"and HDFS are outside. The first job has an all-to-all edge of 10000 to 10000 subtasks, on 2500 workers with four slots each; the " +
			"workers start when the job is submitted. The memory is the most that the process has held, and includes all messages to all " +
			"workers, as if no worker had read one yet. The other rows have 10000 workers with four slots each. Without a job, each " +
			"worker exchanges a heartbeat with the ResourceManager every 10 s. The job takes a quarter of the slots, one on each worker: 20000 tasks, whose " +
			"progress changes all the time. Each worker then also exchanges a heartbeat with the JobMaster and reports " +
			"its progress, every 10 s. The workers beat one after the other.",
		head: []string{"measured", "to reach", "result"},
	}
	deployment, err := scaleFigures(ctx, r, "TestDeployment", fmt.Sprint("-deploy-workers=", deployWorkers))
	if err != nil {
		return t, err
	}
	steady, err := scaleFigures(ctx, r, "TestSteadyState", fmt.Sprint("-steady-workers=", steadyWorkers))
	if err != nil {
		return t, err
	}
	for _, row := range []struct {
		figures           []map[string]int64
		name, label, goal string
		format            func(int64) string
	}{
		{deployment, "processor time to RUNNING", "from submission until all tasks run, processor time", "1 s", asTime},
		{deployment, "peak memory", "memory until then", "512 MB", megabytes},
		{deployment, "bytes of deployment", "encoded deployment, sum of all workers", "100 MB", megabytes},
		{deployment, "bytes to RUNNING", "all messages to workers until then", "", megabytes},
		{deployment, "decoding in a TaskExecutor", "a TaskExecutor passes its deployment on", "", asTime},
		{deployment, "decoding in a task host", "a task host decodes it", "", asTime},
		{deployment, "processor time of a loss", "a worker is lost: its region is cancelled on all other workers", "20 ms", asTime},
		{deployment, "processor time to RUNNING again", "from the loss until all tasks run again", "", asTime},
		{steady, "processor time to registered", "10000 workers register", "", asTime},
		{steady, "idle, share of a core in ppm", "10000 workers without a job", "5 % of a core", asShare},
		{steady, "busy, share of a core in ppm", "10000 workers, a quarter of the slots in use", "5 % of a core", asShare},
		{steady, "memory", "memory then, with the workers' ends of the streams", "", megabytes},
	} {
		var values []int64
		for _, f := range row.figures {
			value, has := f[row.name]
			if !has {
				return t, fmt.Errorf("the measurement gives no %q", row.name)
			}
			values = append(values, value)
		}
		t.row(row.label, row.goal, spread(values, row.format))
	}
	return t, nil
}

func asTime(ns int64) string { return fmt.Sprintf("%.1f ms", float64(ns)/float64(time.Millisecond)) }

func asShare(ppm int64) string { return fmt.Sprintf("%.1f %%", float64(ppm)/10_000) }

// scaleFigures runs a test of package scale in processes of its own, and gives what it measures.
func scaleFigures(ctx context.Context, r *rig, test, size string) ([]map[string]int64, error) {
	dir, err := os.MkdirTemp("", "bobbin-scale-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var all []map[string]int64
	for range r.runs(scaleRuns) {
		file := filepath.Join(dir, "figures")
		out, err := exec.CommandContext(ctx, r.program("scale"), "-test.run=^"+test+"$", "-figures="+file, size).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("run %s of integration/bench/scale: %w\n%s", test, err, out)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var figures map[string]int64
		if err := json.Unmarshal(data, &figures); err != nil {
			return nil, fmt.Errorf("read figures of %s: %w", test, err)
		}
		all = append(all, figures)
	}
	return all, nil
}
