package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// protectedCalls measures the cost of protection for a call, on a secure cluster of its own.
func protectedCalls(ctx context.Context, r *rig) (_ table, err error) {
	const principal, callers = "alice", 16
	t := table{
		title: "Calls under protection",
		text: fmt.Sprintf("The same calls from %d callers at a time, to the ResourceManager of a cluster with Kerberos that accepts all "+
			"values of `hadoop.rpc.protection`. A Kerberos ticket with an AES key protects with AES and SHA-1, a delegation "+
			"token with MD5 and RC4. Relative to the processor time of authentication alone, the goal is 1.5 times under "+
			"integrity, and 2 times under privacy.", callers),
		head: []string{"login", "protection", "calls/s", "half within", "processor time of a call"},
	}
	secure, err := cluster.Start(ctx, cluster.Config{
		Version: r.cluster.Version(), NodeManagers: 1, Kerberos: &cluster.Kerberos{Protection: "authentication,integrity,privacy"},
	})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, secure.Close()) }()
	app, err := newApplicationOf(ctx, secure, principal)
	if err != nil {
		return t, err
	}
	environment := []string{"HADOOP_CONF_DIR=" + secure.ConfDir(), "KRB5_CONFIG=" + secure.Krb5Conf()}
	asAlice := []string{"-app", app.String(), "-principal", principal, "-keytab", secure.Keytab(principal)}
	var first []time.Duration
	for range r.runs(rpcRuns) {
		used, _, err := r.runIn(ctx, append(r.environment(), environment...), slices.Concat([]string{r.program("calls")}, asAlice)...)
		if err != nil {
			return t, err
		}
		first = append(first, used.Wall)
	}
	t.text += fmt.Sprintf(" A program that has just started, logs in with a keytab and makes one call under authentication ends after %s, the waits for the KDC included.",
		spread(first, millis))
	for _, login := range []string{"Kerberos", "token"} {
		for _, protection := range []string{"authentication", "integrity", "privacy"} {
			command := slices.Concat([]string{r.program("calls")}, asAlice, []string{
				"-callers", strconv.Itoa(callers), "-warm", strconv.Itoa(r.callsOf(rpcWarm)), "-calls", strconv.Itoa(r.callsOf(rpcCalls)),
				"-protection", protection, "-token=" + strconv.FormatBool(login == "token"),
			})
			var runs []callTimes
			for range r.runs(rpcRuns) {
				last, err := r.lastLine(ctx, command, environment...)
				if err != nil {
					return t, err
				}
				var times callTimes
				if err := json.Unmarshal(last, &times); err != nil {
					return t, err
				}
				runs = append(runs, times)
			}
			t.row(login, protection,
				spread(pick(runs, func(t callTimes) float64 { return t.PerSecond }), func(f float64) string { return fmt.Sprintf("%.0f", f) }),
				spread(pick(runs, func(t callTimes) float64 { return t.P50Micros }), micros),
				spread(pick(runs, func(t callTimes) float64 { return t.CPUPerCall }), micros))
		}
	}
	return t, nil
}

// newApplicationOf submits an application on a secure cluster. It belongs to a user and waits for
// its master.
func newApplicationOf(ctx context.Context, c *cluster.Cluster, principal string) (records.ApplicationID, error) {
	login, err := c.Login(principal)
	if err != nil {
		return records.ApplicationID{}, err
	}
	conf, err := hadoopconf.Load(c.ConfDir(), hadoopconf.Environment{})
	if err != nil {
		return records.ApplicationID{}, err
	}
	o, err := yarnclient.FromConf(conf, "")
	if err != nil {
		return records.ApplicationID{}, err
	}
	o.RPC.Login = login
	client := yarnclient.New(o)
	defer client.Close()
	return idleApplication(ctx, client)
}
