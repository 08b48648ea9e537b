package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// job is a failed job with two attempts of a subtask.
const job = ids.JobID("0123456789abcdef0123456789abcdef")

// TestFlinksHistoryServerReadsOurArchives would catch an archive that Flink's HistoryServer refuses, answers that it takes for
// those of another path, and a file of a running job that disturbs it.
func TestFlinksHistoryServerReadsOurArchives(t *testing.T) {
	dir := t.TempDir()
	done := filepath.Join(dir, "done")
	archive := archived(t)
	write(t, filepath.Join(done, string(job)), archive)
	write(t, filepath.Join(done, restapi.RunningArchive{Job: ids.JobID(strings.Repeat("1", 32)), Epoch: 1}.String()), archive)
	base := startHistoryServer(t, dir, "file://"+done)

	var read struct {
		Archive []struct{ Path, JSON string }
	}
	if err := json.Unmarshal(archive, &read); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, want := range read.Archive {
		var got, wanted any
		text := fetch(t, base+want.Path)
		if err := json.Unmarshal(text, &got); err != nil {
			t.Errorf("%s: %v: %s", want.Path, err, text)
			continue
		}
		if err := json.Unmarshal([]byte(want.JSON), &wanted); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s is\n%s\nwant\n%s", want.Path, text, want.JSON)
		}
		compared++
	}
	if compared < 20 {
		t.Errorf("%d answers were compared", compared)
	}
}

// archived is the archive of the job, as the ApplicationMaster writes it.
func archived(t *testing.T) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := archiveOf(t, 2).Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// archiveOf describes the job with so many subtasks. The first one has an earlier attempt.
func archiveOf(t *testing.T, parallelism int) rest.Archive {
	t.Helper()
	options, err := config.New()
	if err != nil {
		t.Fatal(err)
	}
	start := time.UnixMilli(1_795_356_515_783)
	vertex := msg.VertexDetails{
		ID: strings.Repeat("a", 32), Name: "read -> \"split\"", Parallelism: parallelism, Group: "default", Status: msg.ExecutionFailed, Start: start, End: start.Add(time.Second),
		Tasks: map[msg.ExecutionState]int{msg.ExecutionFailed: 1, msg.ExecutionCanceled: parallelism - 1},
	}
	root := msg.ExceptionEntry{Time: start.Add(time.Second), Failure: msg.Failure{Message: "panic: <boom>", Stack: "main.f()\n\t/src/main.go:7"}, Task: "read (1/2)", Location: "node1", Resource: "container_1"}
	attempt := func(number int, state msg.ExecutionState) msg.TaskAttempt {
		a := msg.TaskAttempt{Number: number, State: state, Resource: "container_1", Node: "node1", Traffic: msg.Traffic{ReadRecords: 7, ReadBytes: 70}}
		for i, s := range []msg.ExecutionState{msg.ExecutionCreated, msg.ExecutionScheduled, msg.ExecutionDeploying, msg.ExecutionRunning, state} {
			a.Entered.Enter(s, start.Add(time.Duration(i)*time.Millisecond))
		}
		return a
	}
	subtasks := []msg.Subtask{{TaskAttempt: attempt(1, msg.ExecutionFailed), Earlier: []msg.TaskAttempt{attempt(0, msg.ExecutionFailed)}}}
	for range parallelism - 1 {
		subtasks = append(subtasks, msg.Subtask{TaskAttempt: attempt(0, msg.ExecutionCanceled)})
	}
	return rest.Archive{
		Job: msg.JobDetails{
			ID: job, Name: "word <count>", Status: msg.JobFailed, Start: start, End: start.Add(time.Second), Parallelism: parallelism,
			Timestamps: map[msg.JobStatus]time.Time{msg.JobInitializing: start, msg.JobFailed: start.Add(time.Second)},
			Vertices:   []msg.VertexDetails{vertex}, Root: &root, Exceptions: []msg.ExceptionEntry{root}, TaskFailures: []msg.ExceptionEntry{root},
			Counters: map[string]int64{"words": 7},
		},
		Now: start.Add(time.Minute), Options: options,
		Subtasks: func(string) (msg.VertexSubtasks, error) {
			return msg.VertexSubtasks{VertexDetails: vertex, Subtasks: subtasks}, nil
		},
	}
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// startHistoryServer starts Flink's HistoryServer, waits until it has read an archive, and returns its URL.
func startHistoryServer(t *testing.T, dir, archives string) string {
	t.Helper()
	java, err := artifacts.FindJava()
	if err != nil {
		t.Fatal(err)
	}
	home, err := exec.CommandContext(t.Context(), "../../scripts/flink").Output()
	if err != nil {
		t.Fatal(err)
	}
	port := bobbintest.FreePort(t)
	write(t, filepath.Join(dir, "conf", "config.yaml"), fmt.Appendf(nil, `historyserver.archive.fs.dir: %s
historyserver.web.address: 127.0.0.1
historyserver.web.port: %d
historyserver.archive.fs.refresh-interval: 500
historyserver.web.tmpdir: %s/web
io.tmp.dirs: %s
`, archives, port, dir, dir))
	var log bytes.Buffer // read after the process
	server := exec.CommandContext(t.Context(), java, "-Xmx256m", "-cp", filepath.Join(strings.TrimSpace(string(home)), "lib", "*"),
		"org.apache.flink.runtime.webmonitor.history.HistoryServer", "--configDir", filepath.Join(dir, "conf"))
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = server.Wait(); close(ended) }() // it is killed
	t.Cleanup(func() {
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	wait.For(t, "Flink's HistoryServer to list the job, which it does when it has all its answers", func() (bool, error) {
		select {
		case <-ended:
			return false, fmt.Errorf("Flink's HistoryServer has ended: %w", wait.ErrGivenUp)
		default:
		}
		response, err := http.Get(base + "/jobs/overview")
		if err != nil {
			return false, err
		}
		list, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		return bytes.Contains(list, []byte(job)), err
	})
	return base
}

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, error %v", url, response.Status, err)
	}
	return text
}
