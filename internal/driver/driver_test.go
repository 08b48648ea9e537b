package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestMain is also the program that the tests run as a driver. Its first argument selects what it
// does.
func TestMain(m *testing.M) {
	if value, set := os.LookupEnv(control.Variable); set {
		os.Exit(program(value, os.Args[1:]))
	}
	// The race detector makes each child wait for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func graph(name string) jobgraph.JobGraph {
	g := jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: name, Name: name, Args: []byte("{}"),
		Vertices: []jobgraph.Vertex{{Name: "source", Operators: []string{"source"}, Parallelism: 1, Source: true}},
	}
	g.Digest = g.ComputeDigest()
	return g
}

// program is a driver without the SDK. It ends with 9 after an unexpected message.
func program(value string, args []string) int {
	_, fd, err := control.Parse(value)
	if err != nil {
		return 9
	}
	socket, err := control.FromFD(fd)
	if err != nil {
		return 9
	}
	conn := control.New(socket, msg.StarterToDriver)
	switch args[0] {
	case "exit-at-once":
		return 3
	case "older":
		_ = conn.Send(msg.DriverHello{ProtocolVersion: jobgraph.ProtocolVersion + 1})
		_, _ = conn.Receive() // until the client leaves
		return 0
	case "rude":
		_ = conn.Send(msg.DriverFailed{})
		return 0
	}
	if conn.Send(msg.DriverHello{ProtocolVersion: jobgraph.ProtocolVersion}) != nil {
		return 9
	}
	m, err := conn.Receive()
	start, ok := m.(msg.DriverStart)
	if err != nil || !ok {
		return 9
	}
	fmt.Fprintf(os.Stdout, "args %q, parallelism %s, detached %t\n", args, start.Config["parallelism.default"], start.Detached)
	fmt.Fprintln(os.Stderr, "the user's stderr")
	if args[0] == "stubborn" || args[0] == "waits" || args[0] == "deaf" {
		fmt.Fprintln(os.Stdout, os.Getpid())
	}
	switch args[0] {
	case "no-job":
		return 0
	case "fails":
		_ = conn.Send(msg.DriverFailed{Message: "the plan is cursed", Stack: "main.plan"})
		return 1
	case "bad-graph":
		_ = conn.Send(msg.ExecuteJob{Graph: jobgraph.JobGraph{Name: "broken"}})
		return 0
	case "unprepared":
		_ = conn.Send(msg.ExecuteJob{Graph: graph("one"), Unprepared: true})
		return 0
	case "huge":
		g := graph("one")
		g.Args = make([]byte, 2*mostJob)
		_ = conn.Send(msg.ExecuteJob{Graph: g})
		return 0
	case "stubborn": // continues after its client has left
		_, _ = conn.Receive()
		return goOn()
	case "deaf": // closes its connection, and continues
		_ = conn.Close()
		return goOn()
	}
	if args[0] == "lists" {
		for n := range 3 {
			_ = conn.Send(msg.ListingInput{Files: 1000 * n})
		}
	}
	jobs := []string{"one"}
	if args[0] == "two-jobs" {
		jobs = append(jobs, "two")
	}
	for _, name := range jobs {
		if conn.Send(msg.ExecuteJob{Graph: graph(name)}) != nil {
			return 9
		}
	}
	for {
		m, err := conn.Receive()
		if errors.Is(err, io.EOF) {
			return 0
		}
		if ended, is := m.(msg.JobEnded); is {
			fmt.Fprintf(os.Stdout, "job is %s\n", ended.Status)
			if args[0] == "fails-after" {
				return 4
			}
			return 0
		}
	}
}

// goOn outlives every test. It waits in a way that Go's runtime does not detect as a deadlock.
func goOn() int {
	for {
		_, _ = unix.Poll(nil, -1) // a signal ends it
	}
}

// mostJob bounds jobs, in bytes.
const mostJob = 64 << 10

// run starts the program in a mode. Its output is complete after Close.
func run(t *testing.T, mode ...string) (*driver.Driver, *bytes.Buffer, *bytes.Buffer, error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	d, err := driver.Start(t.Context(), os.Args[0], mode, driver.Options{
		Config: map[string]string{"parallelism.default": "4"}, Detached: true,
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, MaxJob: mostJob,
	})
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
	}
	return d, &stdout, &stderr, err
}

// TestEachJobHoldsItsOwnRoom would catch a job that is read without room, and one whose room is given
// back with that of the job before it, while its receiver has no room of his own yet.
func TestEachJobHoldsItsOwnRoom(t *testing.T) {
	var held, given atomic.Int32
	d, err := driver.Start(t.Context(), os.Args[0], []string{"two-jobs"}, driver.Options{
		Config: map[string]string{"parallelism.default": "4"}, Stdout: io.Discard, Stderr: io.Discard,
		Hold: func(context.Context, int) (func(), error) {
			held.Add(1)
			return func() { given.Add(1) }, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	var leave [2]func()
	for i := range leave {
		if _, leave[i], err = d.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if held.Load() != 3 || given.Load() != 1 {
		t.Errorf("of a hello and two jobs %d are held, and %d are given back", held.Load(), given.Load())
	}
	for i := range leave {
		if leave[i](); given.Load() != int32(2+i) {
			t.Errorf("with job %d, %d of three are given back", i+1, given.Load())
		}
	}
	full := errors.New("no room")
	_, err = driver.Start(t.Context(), os.Args[0], []string{"job"}, driver.Options{
		Stdout: io.Discard, Stderr: io.Discard, Hold: func(context.Context, int) (func(), error) { return nil, full },
	})
	if !errors.Is(err, full) {
		t.Errorf("without room: %v", err)
	}
}

// TestJobGoesFromProgramToClientAndBack would catch a lost message of either side, and output of
// the program that does not reach the user.
func TestJobGoesFromProgramToClientAndBack(t *testing.T) {
	d, stdout, stderr, err := run(t, "job", "-x", "a b")
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := d.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(msg.ExecuteJob{Graph: graph("one")}, got); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
	for _, m := range []msg.Message{msg.JobAccepted{Job: "j"}, msg.JobEnded{Job: "j", Status: msg.JobFinished}} {
		if err := d.Tell(m); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := d.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("a program that has ended well gives %v, want io.EOF", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	const want = "args [\"job\" \"-x\" \"a b\"], parallelism 4, detached true\njob is FINISHED\n"
	if got := stdout.String(); got != want {
		t.Errorf("stdout is %q, want %q", got, want)
	}
	if got := stderr.String(); got != "the user's stderr\n" {
		t.Errorf("stderr is %q", got)
	}
}

// TestStartTellsProgramsThatAreNoDrivers would catch a client that waits forever, or blames the
// network, although the program is at fault.
func TestStartTellsProgramsThatAreNoDrivers(t *testing.T) {
	for mode, want := range map[string]struct {
		is   error
		says string
	}{
		"exit-at-once": {driver.ErrExit, "exit status 3"},
		"older":        {driver.ErrProtocolVersion, fmt.Sprintf("%d and %d", jobgraph.ProtocolVersion+1, jobgraph.ProtocolVersion)},
		"rude":         {nil, "unexpected DriverFailed"},
	} {
		t.Run(mode, func(t *testing.T) {
			_, _, _, err := run(t, mode)
			if err == nil || want.is != nil && !errors.Is(err, want.is) || !strings.Contains(err.Error(), want.says) || !strings.Contains(err.Error(), os.Args[0]) {
				t.Errorf("got %v, want %v with %q", err, want.is, want.says)
			}
		})
	}
	if _, err := driver.Start(t.Context(), t.TempDir()+"/nothing", nil, driver.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there gives %v", err)
	}
}

// TestNextTellsHowADriverEnds would catch a failed program that counts as one without a job, and
// the reverse.
func TestNextTellsHowADriverEnds(t *testing.T) {
	t.Run("without a job", func(t *testing.T) {
		d, _, _, err := run(t, "no-job")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Next(t.Context()); !errors.Is(err, driver.ErrNoJob) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("with a plan that failed", func(t *testing.T) {
		d, _, _, err := run(t, "fails")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = d.Next(t.Context())
		if plan, ok := errors.AsType[*driver.PlanError](err); !ok || plan.Message != "the plan is cursed" || plan.Stack != "main.plan" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("with a graph that cannot be", func(t *testing.T) {
		d, _, _, err := run(t, "bad-graph")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "job of "+os.Args[0]) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("with a job that no earlier run can have executed", func(t *testing.T) {
		d, _, _, err := run(t, "unprepared")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Next(t.Context()); !errors.Is(err, msg.ErrNotPrepared) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("with a job that is too large", func(t *testing.T) {
		d, _, _, err := run(t, "huge")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Next(t.Context()); !errors.Is(err, msg.ErrJobTooLarge) || !strings.Contains(err.Error(), "at most 65536") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("with an error after its job", func(t *testing.T) {
		d, _, _, err := run(t, "fails-after")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.Tell(msg.JobEnded{Status: msg.JobFinished}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Next(t.Context()); !errors.Is(err, driver.ErrExit) || !strings.Contains(err.Error(), "exit status 4") {
			t.Errorf("got %v", err)
		}
	})
}

// TestInterruptEndsAWait would catch a planning program that delays Ctrl-C, and a program that
// continues without its client.
func TestInterruptEndsAWait(t *testing.T) {
	t.Parallel()
	interrupted := errors.New("interrupted")
	for _, mode := range []string{"waits", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			d, stdout, _, err := run(t, mode)
			if err != nil {
				t.Fatal(err)
			}
			if mode == "waits" {
				if _, _, err := d.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Millisecond, func() { cancel(interrupted) })
			if _, _, err := d.Next(ctx); !errors.Is(err, interrupted) {
				t.Errorf("got %v", err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if err := syscall.Kill(printedPID(t, stdout.String()), 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the program goes on: %v", err)
			}
			if err := d.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
		})
	}
}

// printedPID returns the process id that a program prints which runs until it is killed.
func printedPID(t *testing.T, stdout string) int {
	t.Helper()
	_, line, _ := strings.Cut(stdout, "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestWhoeverIsInterruptedHearsOfThat would catch an interruption that is reported as a fault of
// the program, because the signal reached the program first.
func TestWhoeverIsInterruptedHearsOfThat(t *testing.T) {
	t.Parallel()
	d, _, _, err := run(t, "deaf")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	interruption := errors.New("interrupted")
	time.AfterFunc(100*time.Millisecond, func() { // mostly when the socket is closed
		cancel(interruption)
		d.Kill()
	})
	if _, _, err := d.Next(ctx); !errors.Is(err, interruption) {
		t.Errorf("got %v", err)
	}
}

// TestADriverThatLeavesIsNotWaitedForForever would catch a program that closes its inherited socket
// and blocks the process that waits for its next job, such as the ApplicationMaster.
func TestADriverThatLeavesIsNotWaitedForForever(t *testing.T) {
	t.Parallel()
	d, stdout, _, err := run(t, "deaf")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Next(t.Context()); !errors.Is(err, driver.ErrExit) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v", err)
	}
	if err := syscall.Kill(printedPID(t, stdout.String()), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the program goes on: %v", err)
	}
}

// A listing's progress must not count as a job, nor hold room for one.
func TestHowFarAListingIsComesBeforeTheJob(t *testing.T) {
	t.Parallel()
	var told []int
	var held atomic.Int64
	d, err := driver.Start(t.Context(), os.Args[0], []string{"lists"}, driver.Options{
		Stdout: io.Discard, Stderr: io.Discard,
		Listing: func(files int) { told = append(told, files) },
		Hold: func(context.Context, int) (func(), error) {
			held.Add(1)
			return func() { held.Add(-1) }, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	job, _, err := d.Next(t.Context())
	if err != nil || job.Graph.Name != "one" || held.Load() != 1 {
		t.Errorf("job %q, %v; room is held for %d messages", job.Graph.Name, err, held.Load())
	}
	if diff := cmp.Diff([]int{0, 1000, 2000}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
