package history

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/integration/internal/flink"
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
	t.Parallel()
	done := t.TempDir()
	archive := archived(t)
	write(t, filepath.Join(done, string(job)), archive)
	write(t, filepath.Join(done, restapi.RunningArchive{Job: ids.JobID(strings.Repeat("1", 32)), Epoch: 1}.String()), archive)
	server := flink.StartHistoryServer(t, nil, "file://"+done)
	server.Await(t, string(job))
	if compared := server.Check(t, archive); len(compared) < 20 {
		t.Errorf("%d answers were compared", len(compared))
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
