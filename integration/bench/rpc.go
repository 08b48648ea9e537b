package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

const (
	rpcRuns  = 5
	rpcWarm  = 20_000
	rpcCalls = 20_000
)

// callTimes is the output of both programs of calls/.
type callTimes struct{ PerSecond, P50Micros, P99Micros, CPUPerCall float64 }

// rpcCallers measures calls of yarnrpc and of Hadoop's own client, in turns.
func rpcCallers(ctx context.Context, r *rig) (table, error) {
	warmCalls, allCalls := r.callsOf(rpcWarm), r.callsOf(rpcCalls)
	t := table{
		title: "Calls",
		text: fmt.Sprintf("`integration/bench/calls` calls getApplicationReport for an ended application on the cluster's ResourceManager: "+
			"%d calls from a number of callers at a time, after %d calls to warm up. Java is a program with Hadoop's "+
			"YarnClient, which runs in turns with ours. The processor time is the client's. The ResourceManager runs on the same "+
			"two processors as the clients. The goal is at most Java's processor time at one caller, and half of it at 16 and 64. perf(1) "+
			"measured our client once, on 2026-11-21 at commit c0914a5. At one caller, sending takes 14 %% of the processor "+
			"time, waiting and receiving 10 %%, and decoding 21 %%. Each packet also wakes a thread of Go's network poller "+
			"without need, which takes 13 %%. The thread that monitors Go's other threads takes 20 %%. To avoid both costs, "+
			"the client would need a socket that Go's runtime does not poll. Decoding takes a third at 16 callers, and two fifths at 64. A generated "+
			"decoder for each message could reduce that.", allCalls, warmCalls),
		head: []string{"callers", "client", "calls/s", "half within", "99 % within", "processor time of a call"},
	}
	app, err := endedApplication(ctx, r)
	if err != nil {
		return t, err
	}
	java, err := compileJava(ctx, r, "calls", "Calls")
	if err != nil {
		return t, err
	}
	for _, callers := range []int{1, 16, 64} {
		n, warm, calls := strconv.Itoa(callers), strconv.Itoa(warmCalls), strconv.Itoa(allCalls)
		clients := []struct {
			name    string
			command []string
			times   []callTimes
		}{
			{name: "Bobbin", command: []string{r.program("calls"), "-app", app.String(), "-callers", n, "-warm", warm, "-calls", calls}},
			{name: "Java", command: slices.Concat(java, []string{app.String(), n, warm, calls})},
		}
		for range r.runs(rpcRuns) {
			for i := range clients {
				last, err := r.lastLine(ctx, clients[i].command)
				if err != nil {
					return t, err
				}
				var times callTimes
				if err := json.Unmarshal(last, &times); err != nil {
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

// rpcProcesses measures the cost of starting a program for a few calls.
func rpcProcesses(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Calls of a program that has just started",
		text: "The same programs, without calls to warm up. The time runs from the start of the process to its end, as its " +
			"parent sees it. The goal is one call within a twentieth of Java's time, and ten thousand calls with a fifth of " +
			"its processor time.",
		head: []string{"calls", "callers", "client", "time", "processor time", "peak memory"},
	}
	app, err := endedApplication(ctx, r)
	if err != nil {
		return t, err
	}
	java, err := compileJava(ctx, r, "calls", "Calls")
	if err != nil {
		return t, err
	}
	for _, load := range []struct{ calls, callers string }{{"1", "1"}, {"10000", "1"}, {"10000", "16"}} {
		clients := []struct {
			name    string
			command []string
			used    []usage
		}{
			{name: "Bobbin", command: []string{r.program("calls"), "-app", app.String(), "-callers", load.callers, "-calls", load.calls}},
			{name: "Java", command: slices.Concat(java, []string{app.String(), load.callers, "0", load.calls})},
		}
		for range r.runs(rpcRuns) {
			for i := range clients {
				used, _, err := r.run(ctx, clients[i].command...)
				if err != nil {
					return t, err
				}
				clients[i].used = append(clients[i].used, used)
			}
		}
		for _, c := range clients {
			t.row(load.calls, load.callers, c.name,
				spread(pick(c.used, func(u usage) time.Duration { return u.Wall }), millis),
				spread(pick(c.used, func(u usage) time.Duration { return u.CPU }), millis),
				spread(pick(c.used, func(u usage) int64 { return u.Peak }), megabytes))
		}
	}
	return t, nil
}

func pick[T, V any](runs []T, one func(T) V) []V {
	var all []V
	for _, run := range runs {
		all = append(all, one(run))
	}
	return all
}

func micros(f float64) string { return fmt.Sprintf("%.0f µs", f) }

// endedApplication makes an application that has ended and that YARN still knows.
func endedApplication(ctx context.Context, r *rig) (records.ApplicationID, error) {
	id, err := idleApplication(ctx, r.client.YARN)
	if err != nil {
		return id, err
	}
	return id, r.client.YARN.Kill(ctx, id, "there to be asked for")
}

// idleApplication makes an application that waits for its master.
func idleApplication(ctx context.Context, client *yarnclient.Client) (records.ApplicationID, error) {
	created, err := client.NewApplication(ctx)
	if err != nil {
		return created.ID, err
	}
	_, err = client.Submit(ctx, records.SubmissionContext{
		ID: created.ID, Name: "bench", Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
	})
	return created.ID, err
}
