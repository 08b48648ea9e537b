package bobbin

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/processtest"
)

// asTaskHost makes this test binary a program.
const asTaskHost = "BOBBIN_TEST_TASK_HOST"

// TestSignalsEndATaskHost starts a task host as a process. It would catch a signal that is not obeyed or not logged,
// another exit code than a JVM's, and a log without its first lines.
func TestSignalsEndATaskHost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		signal syscall.Signal
		code   int
	}{"SIGTERM": {syscall.SIGTERM, 143}, "SIGINT": {syscall.SIGINT, 130}, "SIGHUP": {syscall.SIGHUP, 129}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, socket, err := control.Pair()
			if err != nil {
				t.Fatal(err)
			}
			logs := t.TempDir()
			host := exec.CommandContext(t.Context(), os.Args[0])
			host.Env = []string{asTaskHost + "=1", control.Variable + "=" + control.Value(control.RoleTaskHost, control.ChildFD), "GOMEMLIMIT=100MiB"}
			host.ExtraFiles = []*os.File{socket}
			processtest.Start(t, host)
			socket.Close()
			channel := control.New(conn, msg.HostToTaskExecutor)
			defer channel.Close()
			if hello, err := channel.Receive(); err != nil {
				t.Fatalf("the host says %v, %v", hello, err)
			}
			plan, err := dataflow.Compile("exits", []byte(`""`), dataflow.PlanOptions{Parallelism: 1})
			if err != nil {
				t.Fatal(err)
			}
			start := msg.StartHost{
				Host: "h1", Resource: "container_1_0001_01_000002", ListenHost: "127.0.0.1", LogDir: logs, LogLevel: "info", User: "alice",
				Job:    msg.JobSpec{ID: "j1", Job: "exits", Name: "exits", Args: []byte(`""`), Parallelism: 1, Digest: plan.Graph.Digest, Config: map[string]string{config.BufferTimeout.Name(): "1 s"}},
				Memory: memory.Slot{Heap: 100 << 20, OffHeap: 7 << 20},
			}
			if err := channel.Send(start); err != nil {
				t.Fatal(err)
			}
			if ready, err := channel.Receive(); err != nil || msg.Kind(ready) != "HostReady" {
				t.Fatalf("the host says %+v, %v", ready, err)
			}
			processtest.EndBySignal(t, host, test.signal, test.code)
			text, err := os.ReadFile(filepath.Join(logs, "taskhost-j1.log"))
			if err != nil {
				t.Fatal(err)
			}
			processtest.CheckLog(t, string(text),
				"task host starts", "user=alice", "job=j1", "container=container_1_0001_01_000002", `gomemlimit="100 MB"`, `task_off-heap="7 MB"`,
				"name=execution.buffer-timeout", "signal="+name)
		})
	}
}

// hostsOnly is the driver of a program that is only a task host here.
func hostsOnly(context.Context, *dataflow.Env) error {
	return errors.New("this program is no driver here")
}
