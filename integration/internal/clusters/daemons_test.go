package clusters

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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// The test would catch a harness that acts on the wrong process, that calls a daemon healthy too early, or that leaves
// this test's changes to the next test.
func TestDaemonsAreChangedAndHealed(t *testing.T) {
	cluster.Long(t)
	c := Change(t, Victim, "kills, pauses and restarts every kind of daemon")
	ctx := t.Context()

	if diff := cmp.Diff([]string{"127.0.0.2", "127.0.0.3"}, c.NodeManagers()); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	hdfs, err := c.HDFS()
	if err != nil {
		t.Fatal(err)
	}
	homes, err := hdfs.List(ctx, "/user")
	if err != nil || !slices.ContainsFunc(homes, func(f cluster.FileStatus) bool {
		return f.Name == Alice && f.Owner == Alice && f.Permission == "755"
	}) {
		t.Errorf("homes are %+v, %v", homes, err)
	}
	app := mustSubmit(ctx, t, c, application{user: Alice, queue: "default", command: "exec sleep 3141", attempts: 10})
	defer kill(t, c, app)
	container := waitContainer(t, c)

	for _, name := range []string{"nodemanager1", "datanode2"} {
		if err := c.Kill(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range c.Daemons() {
		if want := name != "nodemanager1" && name != "datanode2"; c.Running(name) != want {
			t.Errorf("after the kills, %s runs: %t", name, c.Running(name))
		}
	}
	if err := c.Pause(ctx, "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := c.RM().Info(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused resourcemanager answers %v, want no answer", err)
	}
	if err := c.Reconfigure(ctx, "datanode1", map[string]string{"dfs.datanode.handler.count": "11"}); err != nil {
		t.Fatal(err)
	}

	if err := c.Heal(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range c.Daemons() {
		if !c.Running(name) {
			t.Errorf("%s does not run", name)
		}
	}
	settings, err := c.Settings(ctx, "datanode1")
	if err != nil || settings["dfs.datanode.handler.count"] == "11" {
		t.Errorf("datanode1 still has the test's configuration: %v", err)
	}
	if _, err := c.RM().Info(ctx); err != nil {
		t.Errorf("a resumed resourcemanager: %v", err)
	}
	if got := waitContainer(t, c); got != container {
		t.Errorf("the container is process %d, and was %d before its NodeManager was killed", got, container)
	}
}

// TestSettingsThatTestsRelyOnHaveTheirEffect would catch a property that servers report but do not obey.
func TestSettingsThatTestsRelyOnHaveTheirEffect(t *testing.T) {
	cluster.Thorough(t)
	c := Use(t, Open)
	ctx := t.Context()

	_, err := submit(ctx, c, application{user: "alice", queue: "small", command: "true", attempts: 1})
	if err == nil || !strings.Contains(err.Error(), "AccessControlException") {
		t.Errorf("queue small takes alice's application: %v", err)
	}

	// These run side by side. Each ends FAILED, because no ApplicationMaster registers. None belongs to alice, because
	// tests of other packages on the same cluster look at her applications.
	allowed := mustSubmit(ctx, t, c, application{user: "small", queue: "small", command: "true", attempts: 1})
	greedy := mustSubmit(ctx, t, c, application{user: "small", queue: "default", command: "dd if=/dev/zero of=/dev/null bs=300M", attempts: 1})
	talkative := mustSubmit(ctx, t, c, application{user: "small", queue: "default", command: "echo hello from $NM_HOST", attempts: 1})

	for id, want := range map[string]string{
		allowed:   "exited with  exitCode: 0",
		greedy:    "beyond the 'PHYSICAL' memory limit",
		talkative: "exited with  exitCode: 0",
	} {
		app := ended(t, c, id)
		if app.State != "FAILED" || !strings.Contains(app.Diagnostics, want) {
			t.Errorf("application %s is %s with %q, want FAILED with %q", id, app.State, app.Diagnostics, want)
		}
	}

	wait.Satisfied(t, "the logs", func() error {
		app, err := c.RM().App(ctx, talkative)
		if err == nil && app.LogAggregation != "SUCCEEDED" {
			err = fmt.Errorf("log aggregation is %s", app.LogAggregation)
		}
		return err
	})
	logs := c.Command(ctx, cluster.LogsCLI, "-applicationId", talkative)
	logs.Env = append(logs.Env, "HADOOP_USER_NAME=small")
	out, err := logs.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "hello from 127.0.0.") {
		t.Errorf("yarn logs prints\n%s", out)
	}
}

// application is an application to submit: its ApplicationMaster is a shell command.
type application struct {
	user, queue, command string
	attempts             int
}

// submit starts an application through the REST API and returns its id.
func submit(ctx context.Context, c *cluster.Cluster, a application) (string, error) {
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

func mustSubmit(ctx context.Context, t *testing.T, c *cluster.Cluster, a application) string {
	t.Helper()
	id, err := submit(ctx, c, a)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// kill ends an application.
func kill(t *testing.T, c *cluster.Cluster, id string) {
	t.Helper()
	if _, err := send(wait.Context(t), c, http.MethodPut, Alice, "apps/"+id+"/state", map[string]string{"state": "KILLED"}); err != nil {
		t.Error(err)
	}
}

// ended waits for the end of an application.
func ended(t *testing.T, c *cluster.Cluster, id string) cluster.RMApp {
	t.Helper()
	var app cluster.RMApp
	wait.Satisfied(t, "the end of "+id, func() (err error) {
		app, err = c.RM().App(t.Context(), id)
		if err == nil && app.FinishedTime == 0 {
			err = fmt.Errorf("application %s is %s", id, app.State)
		}
		return err
	})
	return app
}

func post(ctx context.Context, c *cluster.Cluster, user, path string, body any) ([]byte, error) {
	return send(ctx, c, http.MethodPost, user, path, body)
}

func send(ctx context.Context, c *cluster.Cluster, method, user, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	url := "http://" + c.RMWebAddress() + "/ws/v1/cluster/" + path + "?user.name=" + user
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
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
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer, err
}

// waitContainer waits for the process of the application that submit started.
func waitContainer(t *testing.T, c *cluster.Cluster) int {
	t.Helper()
	const commandLine = "sleep\x003141\x00"
	found := 0
	wait.Satisfied(t, "the container's process", func() error {
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
