package taskrunner

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/testing/processtest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// asTaskExecutor makes this test binary a TaskExecutor.
const asTaskExecutor = "BOBBIN_TEST_TASKEXECUTOR"

func TestMain(m *testing.M) {
	if os.Getenv(asTaskExecutor) != "" {
		os.Exit(Main(time.Now(), os.Getenv))
	}
	goleak.VerifyTestMain(m)
}

// container returns the environment of a worker's container whose ApplicationMaster is at an address, and its
// folder for logs.
func container(t *testing.T, address string) (variables []string, logs string) {
	t.Helper()
	const id = "container_1_0001_01_000002"
	own := issued(t, id)
	secret, err := own.PEM()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tokens := filepath.Join(dir, "container_tokens")
	held := creds.Credentials{Secrets: map[string][]byte{launch.SecretCredentials: secret}}
	if err := os.WriteFile(tokens, held.Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
	worker, err := memory.WorkerOf(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := launch.Encode(launch.TaskExecutor{
		Application: "application_1_0001", AMAddress: address, Host: "127.0.0.1", Memory: worker, VCores: 1, User: "alice",
		Config: map[string]string{"taskmanager.numberOfTaskSlots": "1", "containerized.taskmanager.env.KEY": "hunter2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"CONTAINER_ID=" + id, "LOG_DIRS=" + dir, "LOCAL_DIRS=" + dir, "GOMEMLIMIT=32MiB", "KEY=hunter2", asTaskExecutor + "=1",
		launch.TokenFileVariable + "=" + tokens, launch.Variable + "=" + encoded,
	}, dir
}

// TestSignalsEndATaskExecutor starts a TaskExecutor as a process. It would catch a signal that is not obeyed or not
// logged, another exit code than a JVM's, first lines that are missing, and a secret in them; and a half copy or partitions of an
// earlier worker in the container, with which those of this one would collide.
func TestSignalsEndATaskExecutor(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // an ApplicationMaster that does not answer
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, test := range map[string]struct {
		signal syscall.Signal
		code   int
	}{"SIGTERM": {syscall.SIGTERM, 143}, "SIGINT": {syscall.SIGINT, 130}, "SIGHUP": {syscall.SIGHUP, 129}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variables, logs := container(t, silent.Addr().String())
			folder := filepath.Join(logs, "container_1_0001_01_000002")
			left := []string{filepath.Join(folder, artifactDir, "1", "f.part"), filepath.Join(folder, partitionDir, "w-1", "e1-v0-s0-a0-o0")}
			for _, file := range left {
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("half"), 0o400)); err != nil {
					t.Fatal(err)
				}
			}
			worker := exec.CommandContext(t.Context(), os.Args[0])
			worker.Env, worker.Dir = variables, t.TempDir()
			processtest.Start(t, worker)
			log := filepath.Join(logs, "taskmanager.log")
			processtest.AwaitLog(t, log, "opening stream")
			processtest.EndBySignal(t, worker, test.signal, test.code)
			text := processtest.AwaitLog(t, log, "process ends")
			processtest.CheckLog(t, text,
				"TaskExecutor starts", "user=alice", "container=container_1_0001_01_000002", `gomemlimit="32 MB"`, "machine_cores=", "work=", `of=TaskExecutor`, `of=slot`,
				"name=taskmanager.numberOfTaskSlots", "signal="+name)
			if strings.Contains(text, "hunter2") || strings.Contains(text, "PRIVATE KEY") {
				t.Errorf("the log has a secret:\n%s", text)
			}
			for _, file := range left {
				if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("of an earlier worker: %v", err)
				}
			}
		})
	}
}
