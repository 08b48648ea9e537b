package sessions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

const (
	manyJobs = 50
	atOnce   = 10

	// footing bounds what a master may have more after all jobs than before the first, in
	// KiB, once it has returned what they have left of its heap: buffers and stacks of
	// connections to workers, clients and HDFS, and what is kept of jobs that have ended, some
	// KiB each. A seventh of a MB that stays of each job is over it.
	footing = 7 << 10
	// descriptors bounds the files and connections that a master may have more after all
	// jobs than before: to the NameNode and DataNodes, which it keeps, and to clients that
	// are about to leave.
	descriptors = 8
)

// TestFiftyJobsTenAtATime would catch jobs of several users that get each other's results,
// programs that each of them uploads, workers that stay when nobody needs them, and a
// master that keeps memory, files or connections of each job that it has run.
func TestFiftyJobsTenAtATime(t *testing.T) {
	t.Parallel()
	u, _ := person(t)
	id := start(t, u, "-D", "resourcemanager.taskmanager-timeout=2s")
	master := bobbintest.ProcessesIn(t, id, bobbintest.ApplicationMaster)[0]
	began, idle := master.Files(t), master.Memory(t)
	tally := unseen(t, suite.Program(t, "wordcount"), "tally")
	dir := u.Scratch(t)

	commands := make([]*bobbintest.Command, manyJobs)
	place := func(kind string, i int) string { return fmt.Sprintf("%s/%s-%d", dir, kind, i) }
	begin := func(i int) {
		u.Write(t, place("text", i), strings.Repeat(fmt.Sprintf("word%d other\n", i), i+1))
		commands[i] = u.Start(t, "run", "-o", "json", tally, "--input", place("text", i), "--output", place("counts", i))
	}
	uploaded := 0
	check := func(i int) {
		got := commands[i].Wait(t)
		if got.Code != 0 {
			t.Fatal(got)
		}
		if uploads(got.JSON(t), "tally") {
			uploaded++
		}
		want := []string{fmt.Sprintf("other\t%d", i+1), fmt.Sprintf("word%d\t%d", i, i+1)}
		if diff := cmp.Diff(want, u.Output(t, place("counts", i))); diff != "" {
			t.Errorf("job %d (-want +got):\n%s", i, diff)
		}
	}
	run := func(from, to int) {
		for i := from; i < to; i++ {
			if i >= from+atOnce {
				check(i - atOnce)
			}
			begin(i)
		}
		for i := to - atOnce; i < to; i++ {
			check(i)
		}
	}
	run(0, atOnce)
	warm := master.Memory(t)
	run(atOnce, manyJobs)
	if uploaded != 1 {
		t.Errorf("the program is uploaded %d times", uploaded)
	}
	if listed := jobs(t, u, "-a", "-id", id); len(listed) != manyJobs {
		t.Errorf("%d jobs are listed", len(listed))
	}
	wait.For(t, "all workers are given back", func() (bool, error) {
		return u.App(t, id).RunningContainers == 1, nil // the master's own
	})
	var after int64
	wait.Until(t, fmt.Sprintf("the master, which had %d KiB before its jobs and %d after the first %d, has %d more than at first at most", idle, warm, atOnce, footing), func() bool {
		after = master.Memory(t)
		return after <= idle+footing
	})
	t.Logf("memory of the master: %d KiB before its jobs, %d after %d, %d after %d", idle, warm, atOnce, after, manyJobs)
	wait.For(t, "the master has closed its files", func() (bool, error) {
		return master.Files(t) <= began+descriptors, nil
	})
}

// unseen is a program that no cache has: a copy with something behind its end.
func unseen(t *testing.T, program, name string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, append(content, ids.Random()...), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
