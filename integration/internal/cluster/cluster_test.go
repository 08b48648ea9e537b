package cluster

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
)

var shared = NewShared(Config{Users: []string{"alice"}})

// testLimit bounds each wait of a test (eventually); a healthy machine needs a tenth of it.
const testLimit = 90 * time.Second

// TestDaemonsCanBeStoppedKilledPausedAndRestarted would catch a harness that acts on the wrong process, or that calls a
// daemon healthy before it is.
func TestDaemonsCanBeStoppedKilledPausedAndRestarted(t *testing.T) {
	c := ForTest(t, Config{
		Users: []string{"alice"},
		YARN: map[string]string{
			"yarn.nm.liveness-monitor.expiry-interval-ms":          "3000",
			"yarn.resourcemanager.nm.liveness-monitor.interval-ms": "500",
		},
	})
	ctx := t.Context()

	if diff := cmp.Diff([]string{"127.0.0.2", "127.0.0.3"}, c.NodeManagers()); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	wantNodes(ctx, t, c, map[string]string{"127.0.0.2": "RUNNING", "127.0.0.3": "RUNNING"})

	listing, err := c.CLI(ctx, FsShell, "-ls", "-d", "/tmp", "/user/alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"drwxrwxrwt", "drwxr-xr-x   - alice"} {
		if !strings.Contains(listing, want) {
			t.Errorf("hadoop fs -ls prints %q, want %q in it", listing, want)
		}
	}

	app := mustSubmit(ctx, t, c, application{user: "alice", queue: "default", command: "exec sleep 3141", attempts: 10})
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
		if err := listening(ctx, c.RMAddress()); err != nil {
			t.Errorf("the resourcemanager, just after the restart of the %s: %v", name, err)
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

	attached, err := Attach(ctx, c.Dir())
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

// TestSettingsThatTestsRelyOnHaveTheirEffect would catch a property that the servers read back faithfully and do not heed.
func TestSettingsThatTestsRelyOnHaveTheirEffect(t *testing.T) {
	c := shared.Cluster(t)
	ctx := t.Context()

	_, err := submit(ctx, c, application{user: "alice", queue: "small", command: "true", attempts: 1})
	if err == nil || !strings.Contains(err.Error(), "AccessControlException") {
		t.Errorf("queue small takes alice's application: %v", err)
	}

	// These run side by side; each ends FAILED, as no ApplicationMaster registers. None is alice's: tests of other packages,
	// which may have the same cluster, look at what she has.
	allowed := mustSubmit(ctx, t, c, application{user: "small", queue: "small", command: "true", attempts: 1})
	greedy := mustSubmit(ctx, t, c, application{user: "small", queue: "default", command: "dd if=/dev/zero of=/dev/null bs=300M", attempts: 1})
	talkative := mustSubmit(ctx, t, c, application{user: "small", queue: "default", command: "echo hello from $NM_HOST", attempts: 1})

	for id, want := range map[string]string{
		allowed:   "exited with  exitCode: 0",
		greedy:    "beyond the 'PHYSICAL' memory limit",
		talkative: "exited with  exitCode: 0",
	} {
		app := ended(ctx, t, c, id)
		if app.State != "FAILED" || !strings.Contains(app.Diagnostics, want) {
			t.Errorf("application %s is %s with %q, want FAILED with %q", id, app.State, app.Diagnostics, want)
		}
	}

	eventually(ctx, t, func() error {
		app, err := c.RM().App(ctx, talkative)
		if err == nil && app.LogAggregation != "SUCCEEDED" {
			err = fmt.Errorf("log aggregation is %s", app.LogAggregation)
		}
		return err
	})
	logs := c.Command(ctx, LogsCLI, "-applicationId", talkative)
	logs.Env = append(logs.Env, "HADOOP_USER_NAME=small")
	out, err := logs.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "hello from 127.0.0.") {
		t.Errorf("yarn logs prints\n%s", out)
	}
}

// TestDaemonThatCannotStartIsReportedWithItsLog would catch a start that waits out its limit, or that leaves the healthy
// daemons behind.
func TestDaemonThatCannotStartIsReportedWithItsLog(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(t.Context(), Config{
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
	if _, err := Attach(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("attach to a cluster that did not start: %v", err)
	}
}

// wantNodes waits until the ResourceManager has exactly these hosts in these states.
func wantNodes(ctx context.Context, t *testing.T, c *Cluster, want map[string]string) {
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

// application is what a test submits: an ApplicationMaster that is a shell command.
type application struct {
	user, queue, command string
	attempts             int
}

// submit starts an application through the REST API and returns its id.
func submit(ctx context.Context, c *Cluster, a application) (string, error) {
	answer, err := post(ctx, c, a.user, "apps/new-application", nil)
	if err != nil {
		return "", err
	}
	var created struct {
		ID string `json:"application-id"`
	}
	if err := json.Unmarshal(answer, &created); err != nil {
		return "", err
	}
	_, err = post(ctx, c, a.user, "apps", map[string]any{
		"application-id":    created.ID,
		"application-name":  "harness test",
		"queue":             a.queue,
		"max-app-attempts":  a.attempts,
		"am-container-spec": map[string]any{"commands": map[string]any{"command": a.command}},
		"resource":          map[string]any{"memory": 128, "vCores": 1},
	})
	return created.ID, err
}

func mustSubmit(ctx context.Context, t *testing.T, c *Cluster, a application) string {
	t.Helper()
	id, err := submit(ctx, c, a)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// ended waits until an application is over.
func ended(ctx context.Context, t *testing.T, c *Cluster, id string) RMApp {
	t.Helper()
	var app RMApp
	eventually(ctx, t, func() (err error) {
		app, err = c.RM().App(ctx, id)
		if err == nil && app.FinishedTime == 0 {
			err = fmt.Errorf("application %s is %s", id, app.State)
		}
		return err
	})
	return app
}

func post(ctx context.Context, c *Cluster, user, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	url := "http://" + c.RMWebAddress() + "/ws/v1/cluster/" + path + "?user.name=" + user
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("POST %s: %s: %s", path, resp.Status, answer)
	}
	return answer, err
}

// waitContainer waits for the process of the application that submit started.
func waitContainer(ctx context.Context, t *testing.T, c *Cluster) int {
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
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
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
