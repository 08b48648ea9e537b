package sessions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

const (
	// footing bounds the growth of a master's memory from before its first job until after all jobs, in KiB, once it
	// has returned the free part of its heap. The growth is buffers and stacks of connections to workers, clients and
	// HDFS, and some KiB for each ended job. If a seventh of a MB stayed for each of 50 jobs, the bound would be
	// exceeded.
	footing = 7 << 10
	// descriptors bounds the growth of a master's open files and connections: to the NameNode and DataNodes, which it
	// keeps, and to clients that are about to end.
	descriptors = 8
)

// TestTwentyJobsTenAtATime would catch jobs of several users that get each other's results, programs that each user
// uploads again, workers that remain although no job needs them, and a master that keeps files or connections of each
// job.
func TestTwentyJobsTenAtATime(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	manyJobs(t, suite, 20)
}

// TestAMasterKeepsNothingOfItsJobs would catch a master that keeps memory of each job.
func TestAMasterKeepsNothingOfItsJobs(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	master, idle := manyJobs(t, suite.Plain(), 50)
	wait.Until(t, fmt.Sprintf("the ApplicationMaster had %d KiB before its jobs, and at most %d more during them", idle, footing), func() bool {
		return master.Memory(t) <= idle+footing
	})
}

// manyJobs runs jobs in a session, ten at a time, and returns its master and the memory that the master had before, in
// KiB.
func manyJobs(t *testing.T, suite *bobbintest.Suite, number int) (master bobbintest.Process, idle int64) {
	t.Helper()
	const atOnce = 10
	u := owner(t, suite)
	id := start(t, u, "-D", "resourcemanager.taskmanager-timeout=2s")
	master = bobbintest.ProcessesIn(t, id, bobbintest.ApplicationMaster)[0]
	began := master.Files(t)
	idle = master.Memory(t)
	tally := suite.Unseen(t, "wordcount", "tally")
	dir := u.Scratch(t)

	commands := make([]*bobbintest.Command, number)
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
	for i := range number {
		if i >= atOnce {
			check(i - atOnce)
		}
		begin(i)
	}
	for i := number - atOnce; i < number; i++ {
		check(i)
	}
	if uploaded != 1 {
		t.Errorf("the program is uploaded %d times", uploaded)
	}
	if listed := jobs(t, u, "-a", "-id", id); len(listed) != number {
		t.Errorf("%d jobs are listed", len(listed))
	}
	wait.Until(t, "all workers are given back", func() bool {
		return u.App(t, id).RunningContainers == 1 // the master's own
	})
	wait.Until(t, "the master has closed its files", func() bool { return master.Files(t) <= began+descriptors })
	return master, idle
}
