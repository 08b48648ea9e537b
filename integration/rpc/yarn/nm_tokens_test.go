package yarn

import (
	"bytes"
	"errors"
	"maps"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// A NodeManager that starts anew knows the newest key alone. It would catch a token that YARN replaces and that is dropped
// on the way to the NodeManager: the container could not be started then.
func TestATokenForANodeIsReplaced(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Config{NodeManagers: 1, YARN: map[string]string{
		// The shortest that YARN takes: more than three times the limit for a NodeManager's silence. A new key is in use
		// after one and a half times that limit.
		"yarn.nm.liveness-monitor.expiry-interval-ms":                     "4000",
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs": "13",
		"yarn.nodemanager.recovery.enabled":                               "false",
	}})
	m, _ := unmanaged(t, c)
	containers, tokens := m.allocate(t, 1)
	node := containers[0].Node
	first := tokens[node]
	if first == nil {
		t.Fatalf("the first container on %s came with tokens of %d nodes", node, len(tokens))
	}
	if err := m.nm.Start(t.Context(), containers[0], run("sleep 1000")); err != nil {
		t.Fatal(err)
	}

	var rolled *creds.Token
	wait.Until(t, "YARN has replaced the token", func() bool {
		containers, tokens := m.allocate(t, 1)
		m.rm.Release(containers[0].ID)
		rolled = tokens[node]
		return rolled != nil
	})
	if bytes.Equal(rolled.Identifier, first.Identifier) {
		t.Error("the token that has come again is the same")
	}
	if _, err := m.nm.Statuses(t.Context(), node, containers[0].ID); err != nil {
		t.Errorf("with the new token: %v", err)
	}

	if err := c.Restart(t.Context(), "nodemanager1"); err != nil {
		t.Fatal(err)
	}
	nm := nmclient.New(nmclient.Options{})
	defer nm.Close()
	nm.SetTokens(map[records.NodeID]*creds.Token{node: first})
	containers, tokens = m.allocate(t, 1)
	launch := run("sleep 1000")
	if err := nm.Start(t.Context(), containers[0], launch); !errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("with the token of before: %v", err)
	}
	if newest := m.rm.NMTokens(); !maps.Equal(newest, tokens) {
		t.Errorf("the newest tokens are %v, those that came last %v", newest, tokens)
	}
	nm.SetTokens(tokens)
	if err := nm.Start(t.Context(), containers[0], launch); err != nil {
		t.Errorf("with the newest token: %v", err)
	}
	if statuses, err := m.nm.Statuses(t.Context(), node, containers[0].ID); err != nil || statuses[0].State != records.ContainerRunning {
		t.Errorf("the container is %+v, %v", statuses, err)
	}
}

func TestAMastersPageMoves(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, report := unmanaged(t, c)
	const moved = "http://localhost:2/moved"
	m.rm.SetTrackingURL(moved)
	if _, err := m.rm.Allocate(t.Context(), 0.5); err != nil {
		t.Fatal(err)
	}
	await(t, newClient(t, c, me(t)), report.ID, "shown with its new page", func(r records.ApplicationReport) bool {
		return r.OriginalTrackingURL == moved
	})
	if err := m.rm.Finish(t.Context(), records.FinalSucceeded, "", ""); err != nil {
		t.Error(err)
	}
}
