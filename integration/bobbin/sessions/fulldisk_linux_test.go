package sessions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestAFullDiskCostsTheJobNothing fills the disk of one node below idle workers, and then runs a
// program that no worker has. It would catch a job that fails because of one bad node, one that
// uses up restarts for it, repeated requests for a slot on that node, and a blocked node that is
// not reported: by REST and by status while the job runs, and by the job's exceptions.
func TestAFullDiskCostsTheJobNothing(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	id := start(t, u, "-s", "1", "-D", "resourcemanager.taskmanager-timeout=10min")
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\nor not\n")
	run(t, u, "-p", "4", suite.Program(t, "wordcount"), "--input", dir+"/lines", "--output", dir+"/counts")
	sick := away(t, id)
	node := sick.Variable(t, "NM_HOST")
	fill(t, sick.Variable(t, "LOCAL_DIRS"))

	slow := suite.SlowJob(t, u)
	slow.Args[0] = suite.Unseen(t, "dawdle", "unseen")
	job := u.Start(t, append([]string{"run", "-o", "json", "-p", "4", "-D", "restart-strategy.type=none"}, slow.Args...)...)
	master := u.Master(t, id)
	checkSetAside(t, master, job, node)
	status := u.Run(t, "status", "-id", id)
	if line := factOf(status.Stdout, "set aside"); status.Code != 0 || !strings.HasPrefix(line, "node "+node+" until ") || !strings.Contains(line, full) {
		t.Errorf("the status does not tell of node %s: %s", node, status)
	}
	slow.Release(t)
	got := job.Wait(t)
	if got.Code != 0 {
		t.Fatal(got)
	}
	if diff := cmp.Diff(slow.Want, u.Output(t, slow.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	report := got.JSON(t)

	type entry struct {
		Stacktrace string `json:"stacktrace"`
	}
	var history struct {
		ExceptionHistory struct {
			Entries []entry `json:"entries"`
		} `json:"exceptionHistory"`
	}
	if err := master.Get(wait.Context(t), "/jobs/"+report.Job+"/exceptions", &history); err != nil {
		t.Fatal(err)
	}
	told := slices.ContainsFunc(history.ExceptionHistory.Entries, func(e entry) bool {
		return strings.Contains(e.Stacktrace, "node "+node+" is set aside") && strings.Contains(e.Stacktrace, full)
	})
	if !told {
		t.Errorf("no exception tells of node %s: %+v", node, history)
	}
	wait.For(t, "the node's block ends with the job", func() (bool, error) {
		nodes, err := setAside(t, master)
		return len(nodes) == 0, err
	})
}

// full is the reason that the kernel gives for a full disk.
const full = "no space left on device"

// blocked is a node in the answer to GET /blocklist.
type blocked struct {
	Node  string `json:"node"`
	Cause string `json:"cause"`
	Until int64  `json:"until"` // ms since 1970
}

// setAside returns the nodes that jobs have set aside, according to REST.
func setAside(t *testing.T, master *bobbintest.Master) ([]blocked, error) {
	t.Helper()
	var told struct {
		Nodes []blocked `json:"nodes"`
	}
	err := master.Get(wait.Context(t), "/blocklist", &told)
	return told.Nodes, err
}

// checkSetAside waits until a running job has set a node aside, and checks its name, the reason and
// the time.
func checkSetAside(t *testing.T, master *bobbintest.Master, job *bobbintest.Command, node string) {
	t.Helper()
	began := time.Now()
	var nodes []blocked
	wait.For(t, "a node is set aside", func() (found bool, err error) {
		if !job.Running() {
			return false, fmt.Errorf("the job has ended: %s", job.Seen())
		}
		nodes, err = setAside(t, master)
		return len(nodes) > 0, err
	})
	end := time.UnixMilli(nodes[0].Until)
	if len(nodes) > 1 || nodes[0].Node != node || !strings.Contains(nodes[0].Cause, full) || !end.After(began) {
		t.Errorf("set aside are %+v, want node %s for %q and some time", nodes, node, full)
	}
}

// factOf returns the value of a fact in a command's output, or "".
func factOf(printed, name string) string {
	for line := range strings.Lines(printed) {
		if value, is := strings.CutPrefix(line, name); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// away returns a worker on another node than the master's. Four workers are requested on two nodes.
func away(t *testing.T, application string) bobbintest.Process {
	t.Helper()
	master := bobbintest.ProcessesIn(t, application, bobbintest.ApplicationMaster)[0].Variable(t, "NM_HOST")
	for _, p := range bobbintest.ProcessesIn(t, application, bobbintest.TaskExecutor) {
		if host := p.Variable(t, "NM_HOST"); host != "" && host != master {
			return p
		}
	}
	t.Fatalf("all workers are on %s, the master's node", master)
	return bobbintest.Process{}
}

// fill mounts a full small disk over a folder until the test ends.
func fill(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=0777"); err != nil {
		t.Fatalf("mount a small disk on %s, which needs root: %v", dir, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	// A page at a time, until the disk is full.
	for i := 0; ; i++ {
		err := os.WriteFile(filepath.Join(dir, fmt.Sprint("filling", i)), make([]byte, 4<<10), 0o600)
		if errors.Is(err, syscall.ENOSPC) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
