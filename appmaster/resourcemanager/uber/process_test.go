package uber

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// behaviour is the variable that selects what the test binary does as a process.
const behaviour = "UBER_TEST_BEHAVIOUR"

// child is the test binary as a worker, or as the ApplicationMaster that has one.
func child(role string) int {
	switch role {
	case "worker":
		return workerProcess()
	case "frozen":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		for { // another thread may take the signal, a moment later
			_ = syscall.Pause()
		}
	case "master":
		return masterProcess()
	}
	return 10
}

// workerProcess prints what it was started with, leaves a child behind, and ends with its stdin.
func workerProcess() int {
	points, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return 12
	}
	file := os.Getenv(launch.TokenFileVariable)
	content, err := os.ReadFile(file)
	if err != nil {
		return 13
	}
	info, err := os.Stat(file)
	if err != nil {
		return 14
	}
	left := exec.Command("sleep", "1000") // outlives this process
	if err := left.Start(); err != nil {
		return 15
	}
	fmt.Println(strings.TrimSpace(string(points)), string(content), info.Mode(), os.Getenv("OWN"), os.Getenv("BOTH"), os.Getenv(launch.Variable), left.Process.Pid, strings.Join(os.Args[1:], " "))
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Fprintln(os.Stderr, "stdin has ended")
	return 3
}

// masterProcess starts a worker, says so, and waits.
func masterProcess() int {
	if _, err := processes(os.Getenv("DIR")).Start(context.Background(), "of-the-master-uber-1", launch.WorkerProcess{Environment: map[string]string{behaviour: "worker"}}); err != nil {
		fmt.Println(err)
		return 16
	}
	fmt.Println("started")
	select {}
}

func processes(dir string) Processes {
	return Processes{Environment: os.Environ(), WorkDir: dir, LogDir: dir, Logger: silent()}
}

// TestAWorkerIsAProcessOfThisContainer would catch a worker without its credentials, or with this process'; credentials
// that other users can read, or that stay; a worker that the kernel ends after this process; one that does not end
// when it is told to; children that it leaves behind; and an end without the last words.
func TestAWorkerIsAProcessOfThisContainer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := processes(dir)
	p.Environment = append(p.Environment, "BOTH=master", launch.Variable+"=of the master", launch.TokenFileVariable+"=/of/the/master")
	w, err := p.Start(t.Context(), "c-uber-1", launch.WorkerProcess{
		Environment: map[string]string{behaviour: "worker", "OWN": "o", "BOTH": "worker", launch.Variable: "l"}, Credentials: []byte("secret"),
	})
	if err != nil {
		t.Fatal(err)
	}
	words := firstWords(t, filepath.Join(dir, launch.WorkerLog+".stdout"))
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	points, err := strconv.Atoi(strings.TrimSpace(string(own)))
	if err != nil {
		t.Fatal(err)
	}
	left, err := strconv.Atoi(words[6])
	if err != nil {
		t.Fatal(err)
	}
	words[6] = ""
	if got, want := strings.Join(words, " "), fmt.Sprintf("%d secret -rw------- o worker l  %s", min(points+500, 1000), launch.WorkerRole); got != want {
		t.Errorf("the worker has %q, want %q", got, want)
	}
	w.Stop()
	w.Stop()
	if how := w.Wait(); how != "process ended: exit status 3: "+strings.Join(firstWords(t, filepath.Join(dir, launch.WorkerLog+".stdout")), " ")+"\nstdin has ended" {
		t.Errorf("it ended so: %s", how)
	}
	awaitEnd(t, left)
	if files, err := filepath.Glob(filepath.Join(dir, "*.tokens")); err != nil || len(files) > 0 {
		t.Errorf("credentials stay: %v, %v", files, err)
	}
}

// awaitEnd waits until a killed process has ended: the kernel ends it some time after the signal.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("process goes on: %s", state)
		}
	}
}

// firstWords waits for the first line of a file, and returns its words.
func firstWords(t *testing.T, file string) []string {
	t.Helper()
	for {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if line, _, found := strings.Cut(string(content), "\n"); found {
			return strings.Split(line, " ")
		}
		if t.Context().Err() != nil {
			t.Fatal("no line")
		}
	}
}

// TestAFrozenWorkerIsKilled would catch a container that a stopped worker occupies for ever.
func TestAFrozenWorkerIsKilled(t *testing.T) {
	t.Parallel()
	w, err := processes(t.TempDir()).Start(t.Context(), "c-uber-2", launch.WorkerProcess{Environment: map[string]string{behaviour: "frozen"}})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	if how := w.Wait(); how != "process ended: signal: killed" {
		t.Errorf("it ended so: %s", how)
	}
}

// TestAWorkerEndsWithItsMaster would catch a worker that goes on for minutes when the ApplicationMaster was killed.
func TestAWorkerEndsWithItsMaster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	master := exec.CommandContext(t.Context(), os.Args[0])
	master.Env = append(os.Environ(), behaviour+"=master", "DIR="+dir)
	out, err := master.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := master.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("the master says %q, error %v", line, err)
	}
	left, err := strconv.Atoi(firstWords(t, filepath.Join(dir, launch.WorkerLog+".stdout"))[6])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(left, syscall.SIGKILL) }) // this worker leaves it behind
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", left))
	if err != nil {
		t.Fatal(err)
	}
	worker := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[1]
	if err := master.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = master.Wait()
	for { // until the worker has ended
		state, err := os.ReadFile("/proc/" + worker + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
	}
}

// TestAWorkerThatCannotStartLeavesNothing would catch credentials that stay.
func TestAWorkerThatCannotStartLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := processes(dir)
	p.Executable = filepath.Join(dir, "none")
	if _, err := p.Start(t.Context(), "c-uber-3", launch.WorkerProcess{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a worker without a binary: %v", err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*.tokens")); err != nil || len(files) > 0 {
		t.Errorf("credentials stay: %v, %v", files, err)
	}
}
