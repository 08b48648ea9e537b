package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/fleet"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	asksRuns       = 3
	asksNodes      = 100
	asksContainers = 10_000
)

// manyAsks measures how an ApplicationMaster gets thousands of containers, with amrm and with
// Hadoop's own client.
func manyAsks(ctx context.Context, r *rig) (_ table, err error) {
	t := table{
		title: "Asks",
		text: fmt.Sprintf("`integration/bench/asks` is an ApplicationMaster that registers and asks for %d containers at once. They are "+
			"spread over %d simulated NodeManagers (`integration/internal/fleet`), which heartbeat to the real ResourceManager "+
			"each second. The ApplicationMaster heartbeats every 100 ms until it has all containers. The time begins with "+
			"the registration. The processor time is the ApplicationMaster's, with the start of its process. Java is "+
			"Hadoop's AMRMClient. The time depends mainly on the ResourceManager, and on how soon after the ask "+
			"the NodeManagers send their heartbeats.", asksContainers, asksNodes),
		head: []string{"client", "all granted", "heartbeats", "processor time"},
	}
	conf, err := hadoopconf.Load(r.cluster.ConfDir(), hadoopconf.Environment{})
	if err != nil {
		return t, err
	}
	const room = 2 * asksContainers / asksNodes
	nodes, err := fleet.StartNodes(ctx, fleet.NodesConfig{
		Conf: conf, Version: r.cluster.Version(), Count: asksNodes, Resource: records.Resource{MemoryMB: room * 128, VCores: room},
	})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, nodes.Stop(context.WithoutCancel(ctx))) }()
	java, err := compileJava(ctx, r, "asks", "Asks")
	if err != nil {
		return t, err
	}
	type spent struct{ Seconds, CPUSeconds, Heartbeats float64 }
	n := strconv.Itoa(asksContainers)
	clients := []struct {
		name    string
		command func(app string) []string
		spent   []spent
	}{
		{name: "Bobbin", command: func(app string) []string {
			return append([]string{r.program("asks"), "-app", app, "-containers", n}, nodes.Hosts()...)
		}},
		{name: "Java", command: func(app string) []string {
			return slices.Concat(java, []string{app, n}, nodes.Hosts())
		}},
	}
	for range r.runs(asksRuns) {
		for i := range clients {
			app, err := unmanagedApplication(ctx, r)
			if err != nil {
				return t, err
			}
			last, err := r.lastLine(ctx, clients[i].command(app.String()))
			if err != nil {
				return t, err
			}
			var s spent
			if err := json.Unmarshal(last, &s); err != nil {
				return t, err
			}
			clients[i].spent = append(clients[i].spent, s)
		}
	}
	for _, c := range clients {
		t.row(c.name,
			spread(pick(c.spent, func(s spent) float64 { return s.Seconds }), decimals),
			spread(pick(c.spent, func(s spent) float64 { return s.Heartbeats }), func(f float64) string { return strconv.Itoa(int(f)) }),
			spread(pick(c.spent, func(s spent) float64 { return s.CPUSeconds }), decimals))
	}
	return t, nil
}

func decimals(seconds float64) string { return fmt.Sprintf("%.2f s", seconds) }

// unmanagedApplication makes an application that waits for its master.
func unmanagedApplication(ctx context.Context, r *rig) (records.ApplicationID, error) {
	id, err := idleApplication(ctx, r.client.YARN)
	if err != nil {
		return id, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		report, err := r.client.YARN.ApplicationReport(ctx, id)
		if err != nil || report.AMRMToken != nil {
			return id, err
		}
		if err := pause.For(ctx, 50*time.Millisecond); err != nil {
			return id, fmt.Errorf("%s is %v and has no token for its master: %w", id, report.State, err)
		}
	}
}
