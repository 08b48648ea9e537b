package taskexecutor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
)

// behaviour is the variable that selects what the test binary does as a child process.
const behaviour = "TASKEXECUTOR_TEST_BEHAVIOUR"

// TestMain also runs as the task host of tests that start one, and as the TaskExecutor of the test
// that kills it.
func TestMain(m *testing.M) {
	if value, set := os.LookupEnv(control.Variable); set {
		os.Exit(hostProcess(value))
	}
	if os.Getenv(behaviour) == "parent" {
		os.Exit(parentProcess())
	}
	goleak.VerifyTestMain(m)
}

// hostProcess is a task host: it says hello, and when it is told its job, it does what the variable
// says.
func hostProcess(value string) int {
	_, fd, err := control.Parse(value)
	if err != nil {
		return 10
	}
	conn, err := control.FromFD(fd)
	if err != nil {
		return 11
	}
	c := control.New(conn, msg.TaskExecutorToHost)
	if err := c.Send(msg.HostHello{ProtocolVersion: jobgraph.ProtocolVersion}); err != nil {
		return 12
	}
	for {
		m, err := c.Receive()
		if errors.Is(err, io.EOF) {
			return 42
		}
		if err != nil {
			return 13
		}
		switch m.(type) {
		case msg.StartHost:
			if code := work(c); code >= 0 {
				return code
			}
		case msg.StopHost:
			return 0
		default:
		}
	}
}

func work(c *control.Conn) int {
	switch os.Getenv(behaviour) {
	case "settings":
		fmt.Println(os.Getenv("GOMAXPROCS"), os.Getenv("GOMEMLIMIT"), os.Getenv("GREETING"), exposure())
		fmt.Fprintln(os.Stderr, "to stderr")
		return 3
	case "panic":
		go panic("no such word")
		forever()
	case "terminated": // in order, by a signal
		return 143
	case "hang":
		if err := c.Close(); err != nil {
			return 14
		}
		forever()
	case "hog":
		held := make([]byte, 512<<20)
		for i := 0; i < len(held); i += 4096 {
			held[i] = 1
		}
		forever()
		runtime.KeepAlive(held)
	case "family": // a child, and one that has left its parent
		first := exec.Command("sleep", "1000")
		var second bytes.Buffer
		shell := exec.Command("sh", "-c", "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!")
		shell.Stdout = &second
		if first.Start() != nil || shell.Run() != nil {
			return 18
		}
		if err := c.Send(msg.HostReady{DataAddress: fmt.Sprintf("%d %s", first.Process.Pid, strings.TrimSpace(second.String()))}); err != nil {
			return 19
		}
		return -1
	case "heir": // its child keeps its output open
		if err := exec.Command("sleep", "3").Start(); err != nil {
			return 16
		}
		return 4
	}
	if err := c.Send(msg.HostReady{DataAddress: strconv.Itoa(os.Getpid())}); err != nil {
		return 17
	}
	return -1
}

// exposure is the process' oom_score_adj; -1 if it cannot be read.
func exposure() int {
	content, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return -1
	}
	points, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return -1
	}
	return points
}

func starter(t *testing.T, behave string) ProcessStarter {
	t.Helper()
	return ProcessStarter{
		Environment: append(os.Environ(), behaviour+"="+behave, "GREETING=hello there"),
		VCores:      1, LogDir: t.TempDir(), Logger: quiet(),
	}
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// direct starts a host without a TaskExecutor and tells it its job. The host has the name of the
// test, because Wait kills all processes with the mark of this name.
func direct(t *testing.T, p ProcessStarter) (Host, control.Channel) {
	t.Helper()
	h, err := p.Start(t.Context(), HostSpec{Host: ids.HostID(t.Name()), Job: "j1", Program: executable(t), Memory: memory.Slot{Heap: 60 << 20, Managed: 10 << 20, Network: 7 << 20, OffHeap: 9 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	c := h.Control()
	t.Cleanup(func() { c.Close() })
	if m, err := c.Receive(); err != nil || msg.Kind(m) != "HostHello" {
		t.Fatalf("first message is %v, %v", m, err)
	}
	if err := c.Send(msg.StartHost{}); err != nil {
		t.Fatal(err)
	}
	return h, c
}

// TestHostProcessGetsItsSettingsAndItsOutputIsKept would catch a host with the TaskExecutor's settings, one whose output
// is lost, and one that the kernel ends after the ApplicationMaster in the same container (oom_score_adj).
func TestHostProcessGetsItsSettingsAndItsOutputIsKept(t *testing.T) {
	t.Parallel()
	own := exposure()
	for _, exposed := range []bool{false, true} {
		p := starter(t, "settings")
		p.Exposed = exposed
		points := own
		if exposed {
			points = min(own+500, 1000)
		}
		said := fmt.Sprintf("2 77MiB hello there %d", points)
		h, _ := direct(t, p)
		exit := h.Wait()
		if exit.How != "exit status 3" || !strings.Contains(exit.Output, said) || !strings.Contains(exit.Output, "to stderr") {
			t.Errorf("exposed: %t, it ended as %+v, want %q", exposed, exit, said)
		}
		for file, want := range map[string]string{"taskhost-j1.out": said + "\n", "taskhost-j1.err": "to stderr\n"} {
			if got, err := os.ReadFile(filepath.Join(p.LogDir, file)); err != nil || string(got) != want {
				t.Errorf("exposed: %t, %s holds %q, %v, want %q", exposed, file, got, err, want)
			}
		}
	}
}

func TestPanicOfAHostIsReported(t *testing.T) {
	t.Parallel()
	h, c := direct(t, starter(t, "panic"))
	if exit := h.Wait(); exit.How != "exit status 2" || !strings.HasPrefix(exit.Crash, "panic: no such word\n") || !strings.Contains(exit.Output, "goroutine") {
		t.Errorf("it ended as %+v", exit)
	}
	if _, err := c.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("its control connection gives %v, want io.EOF", err)
	}
}

func TestKilledHostIsReported(t *testing.T) {
	t.Parallel()
	h, _ := direct(t, starter(t, ""))
	h.Kill()
	h.Kill()
	if exit := h.Wait(); exit.How != "signal: killed" {
		t.Errorf("it ended as %+v", exit)
	}
	h.Kill() // after its end
}

// TestOutputHeldOpenIsNotWaitedFor would catch a worker that cannot restart a host because a child
// of the old one still runs.
func TestOutputHeldOpenIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	h, _ := direct(t, starter(t, "heir"))
	if exit := h.Wait(); exit.How != "exit status 4" {
		t.Errorf("it ended as %+v", exit)
	}
}

// TestChildrenEndWithTheirHost would catch commands of user code that continue after their host was
// killed, and hold memory of the container.
func TestChildrenEndWithTheirHost(t *testing.T) {
	t.Parallel()
	family := func(host ids.HostID) (Host, []int) {
		h, err := starter(t, "family").Start(t.Context(), HostSpec{Host: host, Job: "j1", Program: executable(t), Memory: memory.Slot{Heap: 77 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		c := h.Control()
		t.Cleanup(func() { c.Close() })
		if err := c.Send(msg.StartHost{}); err != nil {
			t.Fatal(err)
		}
		for {
			m, err := c.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if ready, is := m.(msg.HostReady); is {
				var first, second int
				if n, err := fmt.Sscan(ready.DataAddress, &first, &second); n != 2 || err != nil {
					t.Fatalf("children %q: %v", ready.DataAddress, err)
				}
				return h, []int{first, second}
			}
		}
	}
	// Ids must differ from those of tests that run at the same time.
	h1, children := family("family-1")
	h2, others := family("family-11")
	h1.Kill()
	h1.Wait()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for _, pid := range children {
		for alive(pid) { // until the test binary's deadline, which fails
			<-ticker.C
		}
	}
	for _, pid := range others {
		if !alive(pid) {
			t.Error("a child of another host has ended")
		}
	}
	h2.Kill()
	h2.Wait()
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Parallel()
	p := starter(t, "")
	if _, err := p.Start(t.Context(), HostSpec{Host: ids.HostID(t.Name()), Job: "j1", Program: filepath.Join(t.TempDir(), "wordcount")}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "wordcount") {
		t.Errorf("got error %v", err)
	}
	p.LogDir = filepath.Join(t.TempDir(), "missing")
	if _, err := p.Start(t.Context(), HostSpec{Host: ids.HostID(t.Name()), Job: "j1", Program: executable(t)}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v", err)
	}
}

// The following tests run a whole TaskExecutor with real hosts, in real time. They do not depend on
// how long this takes.

func processCluster(t *testing.T, behave string, change func(*Config)) *cluster {
	t.Helper()
	return startCluster(t, starter(t, behave), func(c *Config, _ *Environment) {
		c.Programs = map[string]string{"5a": executable(t)}
		if change != nil {
			change(c)
		}
	})
}

// await gives the next message of a kind; only the test's deadline bounds it.
func await[M msg.Message](t *testing.T, in <-chan msg.Message) M {
	t.Helper()
	for {
		select {
		case m := <-in:
			if found, is := m.(M); is {
				return found
			}
		case <-t.Context().Done():
			t.Fatal("test ended")
		}
	}
}

func TestKilledHostIsReplaced(t *testing.T) {
	t.Parallel()
	c := processCluster(t, "", nil)
	c.register()
	first := await[msg.HostReady](t, c.jm.in)
	pid, err := strconv.Atoi(first.DataAddress)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	lost := await[msg.HostLost](t, c.jm.in)
	if lost.Host != first.Host || lost.Failure.Permanent || !strings.Contains(lost.Failure.Message, "signal: killed") {
		t.Errorf("the JobMaster is told %+v", lost)
	}
	if second := await[msg.HostReady](t, c.jm.in); second.Host == first.Host {
		t.Error("the second host has the first one's id")
	}
	c.stop(nil)
	c.finish(context.Canceled)
}

// TestTheExitOfASignalledHostIsNamed would catch a failure that says "exit status 143" to a user who does not
// know the number.
func TestTheExitOfASignalledHostIsNamed(t *testing.T) {
	t.Parallel()
	h, _ := direct(t, starter(t, "terminated"))
	if exit := h.Wait(); exit.How != "exit status 143: the process received SIGTERM" {
		t.Errorf("it ended as %+v", exit)
	}
}

// TestAStoppedWorkerLeavesInOrder would catch a worker that ends at a signal without a word to the JobMaster, or
// leaves its host behind.
func TestAStoppedWorkerLeavesInOrder(t *testing.T) {
	t.Parallel()
	c := processCluster(t, "", nil)
	c.register()
	ready := await[msg.HostReady](t, c.jm.in)
	pid, err := strconv.Atoi(ready.DataAddress)
	if err != nil {
		t.Fatal(err)
	}
	c.executor.Terminate(t.Context(), "the process received SIGTERM")
	for _, role := range []*role{c.rm, c.jm} {
		if left := await[msg.Disconnect](t, role.in); left.Cause != "the process received SIGTERM" {
			t.Errorf("a role is told %+v", left)
		}
	}
	c.finish(ErrTerminated)
	if alive(pid) {
		t.Error("the host is left behind")
	}
}

func TestHostThatLetsGoOfItsSocketIsKilled(t *testing.T) {
	t.Parallel()
	c := processCluster(t, "hang", nil)
	c.register()
	if lost := await[msg.HostLost](t, c.jm.in); !strings.Contains(lost.Failure.Message, "signal: killed") {
		t.Errorf("the JobMaster is told %+v", lost)
	}
	c.stop(nil)
	c.finish(context.Canceled)
}

// TestHostOverItsShareIsEndedBeforeTheContainer would catch a worker that lets YARN kill the
// container with all its jobs.
func TestHostOverItsShareIsEndedBeforeTheContainer(t *testing.T) {
	t.Parallel()
	own := procmem.OfProcess(os.Getpid())
	c := processCluster(t, "hog", func(c *Config) { c.Memory = memory.Worker{Process: own + 400<<20, By: config.TaskManagerProcessSize} })
	c.register()
	lost := await[msg.HostLost](t, c.jm.in)
	if !strings.Contains(lost.Failure.Message, config.TaskManagerProcessSize.Name()) || !strings.Contains(lost.Failure.Message, "137 MB") {
		t.Errorf("the JobMaster is told %+v", lost)
	}
	c.stop(nil)
	c.finish(context.Canceled)
}

// TestOffHeapMemoryIsOfTheShare would catch a host that is ended because of the child processes for which
// taskmanager.memory.task.off-heap.size makes room. That its GOMEMLIMIT is without this memory, is in
// TestHostProcessGetsItsSettingsAndItsOutputIsKept.
func TestOffHeapMemoryIsOfTheShare(t *testing.T) {
	t.Parallel()
	h, _ := direct(t, starter(t, "work"))
	defer func() { h.Kill(); h.Wait() }()
	c := &hostControl{host: h, memory: memory.Slot{Heap: 60 << 20, Managed: 10 << 20, Network: 7 << 20, OffHeap: 9 << 20}}
	usage, is := c.usage("h", func(int) config.Bytes { return 108 << 20 })
	if !is || usage.Share != (60+10+7+9+32)<<20 {
		t.Fatalf("usage is %+v, %t", usage, is)
	}
	if victim, found := memory.Victim(100<<20, 0, []memory.Usage[ids.HostID]{usage}); found {
		t.Errorf("%+v is ended within its share", victim)
	}
}

// parentProcess is a TaskExecutor for its hosts: it starts two, prints their process ids and waits
// to be killed.
func parentProcess() int {
	dir, err := os.MkdirTemp("", "hosts")
	if err != nil {
		return 20
	}
	program, err := os.Executable()
	if err != nil {
		return 21
	}
	p := ProcessStarter{Environment: append(os.Environ(), behaviour+"="), LogDir: dir, Logger: quiet()}
	for _, job := range []ids.JobID{"j1", "j2"} {
		h, err := p.Start(context.Background(), HostSpec{Program: program, Job: job, Memory: memory.Slot{Heap: 64 << 20}})
		if err != nil {
			return 22
		}
		fmt.Println(h.PID())
	}
	forever()
	return 0
}

// forever blocks in a way that the Go runtime does not report as a deadlock.
func forever() {
	for range time.Tick(time.Hour) { // do nothing
	}
}

// TestHostsEndWithTheirTaskExecutor would catch a host that holds its own control socket open, or
// another's: it would outlive the worker until YARN finds it.
func TestHostsEndWithTheirTaskExecutor(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), executable(t))
	parent.Env = append(os.Environ(), behaviour+"=parent", "TMPDIR="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var pids []int
	for len(pids) < 2 && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	if len(pids) != 2 {
		t.Fatalf("%d hosts were started, want 2", len(pids))
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for _, pid := range pids {
		for alive(pid) { // until the test binary's deadline, which fails
			<-ticker.C
		}
	}
}

// alive tells whether a process runs. A zombie, which waits for its parent, does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
