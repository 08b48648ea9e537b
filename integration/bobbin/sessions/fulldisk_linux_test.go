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

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestAFullDiskCostsTheJobNothing fills the disk of one node under idle workers, and then
// runs a program that no worker has. It would catch a job that fails for one sick node,
// one that uses up restarts for it, a slot that is asked for there again and again, and a
// node that is set aside without anybody being told.
func TestAFullDiskCostsTheJobNothing(t *testing.T) {
	t.Parallel()
	u, _ := person(t)
	id := start(t, u, "-s", "1", "-D", "resourcemanager.taskmanager-timeout=10min")
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\nor not\n")
	counts := func(i int, program string) bobbintest.Report {
		t.Helper()
		output := fmt.Sprintf("%s/counts%d", dir, i)
		report := run(t, u, "-p", "4", "-D", "restart-strategy.type=none", program, "--input", dir+"/lines", "--output", output)
		if diff := cmp.Diff([]string{"be\t1", "not\t1", "or\t1", "to\t1"}, u.Output(t, output)); diff != "" {
			t.Errorf("output %d (-want +got):\n%s", i, diff)
		}
		return report
	}
	counts(1, suite.Program(t, "wordcount"))
	sick := away(t, id)
	node := sick.Variable(t, "NM_HOST")
	fill(t, sick.Variable(t, "LOCAL_DIRS"))

	report := counts(2, suite.Unseen(t, "wordcount", "counter"))

	type entry struct {
		Stacktrace string `json:"stacktrace"`
	}
	var history struct {
		ExceptionHistory struct {
			Entries []entry `json:"entries"`
		} `json:"exceptionHistory"`
	}
	if err := u.Master(t, id).Get(wait.Context(t), "/jobs/"+report.Job+"/exceptions", &history); err != nil {
		t.Fatal(err)
	}
	told := slices.ContainsFunc(history.ExceptionHistory.Entries, func(e entry) bool {
		return strings.Contains(e.Stacktrace, "node "+node+" is set aside") && strings.Contains(e.Stacktrace, "no space left on device")
	})
	if !told {
		t.Errorf("nothing tells of node %s: %+v", node, history)
	}
}

// away gives a worker on another node than the master: four are asked for on two nodes.
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

// fill puts a small disk without room in the place of a folder until the test ends.
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
	// A page at a time, until no content finds room.
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
