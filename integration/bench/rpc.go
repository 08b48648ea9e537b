package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/cluster/artifacts"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	rpcRuns   = 5
	rpcWarm   = 20_000
	rpcCalls  = 20_000
	javaCalls = "Calls"
)

// callTimes is what both programs of calls/ print.
type callTimes struct{ PerSecond, P50Micros, P99Micros, CPUPerCall float64 }

// rpcCallers measures calls of yarnrpc beside those of Hadoop's own client, in turns.
func rpcCallers(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Calls",
		text: fmt.Sprintf("getApplicationReport of an application that has ended, on the ResourceManager of the cluster, by `integration/bench/calls`: "+
			"%d calls from a number of callers at a time, after %d to warm up. Java is Hadoop's YarnClient in a program beside ours, in turns with it. "+
			"Processor time is the client's; the ResourceManager has the same two processors.", rpcCalls, rpcWarm),
		head: []string{"callers", "client", "calls/s", "half within", "99 % within", "processor time of a call"},
	}
	app, err := endedApplication(ctx, r)
	if err != nil {
		return t, err
	}
	java, err := compileJava(ctx, r)
	if err != nil {
		return t, err
	}
	for _, callers := range []int{1, 16, 64} {
		n, warm, calls := strconv.Itoa(callers), strconv.Itoa(rpcWarm), strconv.Itoa(rpcCalls)
		clients := []struct {
			name    string
			command []string
			times   []callTimes
		}{
			{name: "Bobbin", command: []string{r.program("calls"), "-app", app.String(), "-callers", n, "-warm", warm, "-calls", calls}},
			{name: "Java", command: append(java, app.String(), n, warm, calls)},
		}
		for range r.runs(rpcRuns) {
			for i := range clients {
				times, err := r.calls(ctx, clients[i].command)
				if err != nil {
					return t, err
				}
				clients[i].times = append(clients[i].times, times)
			}
		}
		for _, c := range clients {
			t.row(n, c.name,
				spread(pick(c.times, func(t callTimes) float64 { return t.PerSecond }), func(f float64) string { return fmt.Sprintf("%.0f", f) }),
				spread(pick(c.times, func(t callTimes) float64 { return t.P50Micros }), micros),
				spread(pick(c.times, func(t callTimes) float64 { return t.P99Micros }), micros),
				spread(pick(c.times, func(t callTimes) float64 { return t.CPUPerCall }), micros))
		}
	}
	return t, nil
}

func pick(times []callTimes, one func(callTimes) float64) []float64 {
	var all []float64
	for _, t := range times {
		all = append(all, one(t))
	}
	return all
}

func micros(f float64) string { return fmt.Sprintf("%.0f µs", f) }

// endedApplication makes an application that YARN knows and does nothing for.
func endedApplication(ctx context.Context, r *rig) (records.ApplicationID, error) {
	created, err := r.client.YARN.NewApplication(ctx)
	if err != nil {
		return created.ID, err
	}
	_, err = r.client.YARN.Submit(ctx, records.SubmissionContext{
		ID: created.ID, Name: "bench", Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
	})
	if err != nil {
		return created.ID, err
	}
	return created.ID, r.client.YARN.Kill(ctx, created.ID, "there to be asked for")
}

// compileJava gives the command of calls/Calls.java, without its arguments.
func compileJava(ctx context.Context, r *rig) ([]string, error) {
	jars, err := artifacts.Fetch(ctx, r.cluster.Version())
	if err != nil {
		return nil, err
	}
	java, err := artifacts.FindJava()
	if err != nil {
		return nil, err
	}
	classes := filepath.Join(r.scratch, "classes")
	source := filepath.Join("integration", "bench", "calls", javaCalls+".java")
	compile := exec.CommandContext(ctx, filepath.Join(filepath.Dir(java), "javac"), "-d", classes, "-cp", jars.Classpath(), source)
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile %s: %w\n%s", source, err, out)
	}
	return []string{java, "-cp", jars.Classpath(r.cluster.ConfDir(), classes), javaCalls}, nil
}

// calls runs one of the two programs.
func (r *rig) calls(ctx context.Context, command []string) (times callTimes, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(r.environment(), "HADOOP_CONF_DIR="+r.cluster.ConfDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return times, fmt.Errorf("%s: %w", filepath.Base(command[0]), err)
	}
	_, last := cutLastLine(out)
	return times, json.Unmarshal(last, &times)
}
