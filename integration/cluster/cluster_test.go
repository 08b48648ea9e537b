package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// testLimit bounds each wait of a test; a healthy machine needs a tenth of it.
const testLimit = 90 * time.Second

// TestDaemonsCanBeStoppedKilledPausedAndRestarted would catch a harness that acts on the wrong process, or that calls a
// daemon healthy before it is.
func TestDaemonsCanBeStoppedKilledPausedAndRestarted(t *testing.T) {
	c := cluster.ForTest(t, cluster.Config{
		Users: []string{"alice"},
		YARN: map[string]string{
			"yarn.nm.liveness-monitor.expiry-interval-ms":          "3000",
			"yarn.resourcemanager.nm.liveness-monitor.interval-ms": "500",
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()

	if diff := cmp.Diff([]string{"127.0.0.2", "127.0.0.3"}, c.NodeManagers()); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	wantNodes(ctx, t, c, map[string]string{"127.0.0.2": "RUNNING", "127.0.0.3": "RUNNING"})

	listing, err := c.CLI(ctx, cluster.FsShell, "-ls", "-d", "/tmp", "/user/alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"drwxrwxrwt", "drwxr-xr-x   - alice"} {
		if !strings.Contains(listing, want) {
			t.Errorf("hadoop fs -ls prints %q, want %q in it", listing, want)
		}
	}

	app := submit(ctx, t, c)
	waitContainer(ctx, t, c)

	if err := c.Kill(ctx, "nodemanager1"); err != nil {
		t.Fatal(err)
	}
	if c.Running("nodemanager1") || !c.Running("nodemanager2") {
		t.Errorf("after killing nodemanager1: nodemanager1 runs: %t, nodemanager2 runs: %t", c.Running("nodemanager1"), c.Running("nodemanager2"))
	}
	wantNodes(ctx, t, c, map[string]string{"127.0.0.2": "LOST", "127.0.0.3": "RUNNING"})
	if err := c.Restart(ctx, "nodemanager1"); err != nil {
		t.Fatal(err)
	}
	wantNodes(ctx, t, c, map[string]string{"127.0.0.2": "RUNNING", "127.0.0.3": "RUNNING"})

	for _, name := range []string{"resourcemanager", "namenode", "datanode"} {
		if err := c.Restart(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	wantNodes(ctx, t, c, map[string]string{"127.0.0.2": "RUNNING", "127.0.0.3": "RUNNING"})
	if got, err := c.RM().App(ctx, app); err != nil || got.ID != app {
		t.Errorf("application %s after the resourcemanager's restart: %+v, %v", app, got, err)
	}

	if err := c.Pause(ctx, "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	short, cancelShort := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancelShort()
	if _, err := c.RM().Info(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused resourcemanager answers %v, want no answer", err)
	}
	if err := c.Resume("resourcemanager"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RM().Info(ctx); err != nil {
		t.Errorf("a resumed resourcemanager: %v", err)
	}

	attached, err := cluster.Attach(ctx, c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if err := attached.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RM().Info(ctx); err != nil {
		t.Errorf("after an attached test has closed the cluster: %v", err)
	}

	container := waitContainer(ctx, t, c)
	c.Keep()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if pids, err := c.Processes(); err != nil || len(pids) > 0 {
		t.Errorf("processes left after Close: %v, %v", pids, err)
	}
	if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(container), "cwd")); err == nil {
		t.Errorf("container process %d outlives the cluster", container)
	}
	if err := os.RemoveAll(c.Dir()); err != nil {
		t.Error(err)
	}
}

// TestDaemonThatCannotStartIsReportedWithItsLog would catch a start that waits out its limit, or that leaves the healthy
// daemons behind.
func TestDaemonThatCannotStartIsReportedWithItsLog(t *testing.T) {
	dir := t.TempDir()
	_, err := cluster.Start(t.Context(), cluster.Config{
		Dir:          dir,
		NodeManagers: 1,
		YARN:         map[string]string{"yarn.resourcemanager.scheduler.class": "org.example.NoSuchScheduler"},
	})
	if err == nil {
		t.Fatal("cluster with an impossible scheduler starts")
	}
	for _, want := range []string{"resourcemanager", "NoSuchScheduler", filepath.Join(dir, "logs", "resourcemanager.log")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not hold %q", err, want)
		}
	}
	if _, err := cluster.Attach(t.Context(), dir); !errors.Is(err, cluster.ErrNotRunning) {
		t.Errorf("attach to a cluster that did not start: %v", err)
	}
}

// wantNodes waits until the ResourceManager has exactly these hosts in these states.
func wantNodes(ctx context.Context, t *testing.T, c *cluster.Cluster, want map[string]string) {
	t.Helper()
	eventually(ctx, t, func() error {
		nodes, err := c.RM().Nodes(ctx)
		if err != nil {
			return err
		}
		got := map[string]string{}
		for _, n := range nodes {
			got[n.Host] = n.State
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("nodes (-want +got):\n%s", diff)
		}
		return nil
	})
}

// submit starts an application whose ApplicationMaster only sleeps, through the REST API.
func submit(ctx context.Context, t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	var created struct {
		ID string `json:"application-id"`
	}
	if err := json.Unmarshal(post(ctx, t, c, "apps/new-application", nil), &created); err != nil {
		t.Fatal(err)
	}
	post(ctx, t, c, "apps", map[string]any{
		"application-id":    created.ID,
		"application-name":  "harness test",
		"am-container-spec": map[string]any{"commands": map[string]any{"command": "exec sleep 3141"}},
		"resource":          map[string]any{"memory": 128, "vCores": 1},
	})
	return created.ID
}

func post(ctx context.Context, t *testing.T, c *cluster.Cluster, path string, body any) []byte {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + c.RMWebAddress() + "/ws/v1/cluster/" + path + "?user.name=alice"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("POST %s: %s %v: %s", path, resp.Status, err, answer)
	}
	return answer
}

// waitContainer waits for the process of the application that submit started.
func waitContainer(ctx context.Context, t *testing.T, c *cluster.Cluster) int {
	t.Helper()
	const commandLine = "sleep\x003141\x00"
	found := 0
	eventually(ctx, t, func() error {
		pids, err := c.Processes()
		if err != nil {
			return err
		}
		for _, pid := range pids {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
			if err == nil && string(text) == commandLine {
				found = pid
				return nil
			}
		}
		return fmt.Errorf("none of %v runs %q", pids, commandLine)
	})
	return found
}

func eventually(ctx context.Context, t *testing.T, condition func() error) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%v: %v", context.Cause(ctx), err)
		}
	}
}
