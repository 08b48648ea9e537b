package failover

import (
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// late starts a job on two workers. Its readers have finished, and have written partitions for the tasks that run.
func late(t *testing.T, u *bobbintest.User, flags ...string) *bobbintest.Dawdler {
	t.Helper()
	return suite.DawdleLate(t, u, append(flags, "-p", "2", "-tm", "512m",
		"-D", "execution.batch-shuffle-mode=ALL_EXCHANGES_BLOCKING", "-D", "restart-strategy.type=none")...)
}

// written lists the partitions of the job's readers.
func written(t *testing.T, d *bobbintest.Dawdler) []bobbintest.Partition {
	t.Helper()
	return slices.DeleteFunc(d.User.Partitions(t, d.Application), func(p bobbintest.Partition) bool { return p.Producer.Vertex > 0 })
}

// checkPartitionsEnd checks the job's result, and waits until no partition is left on the nodes.
func checkPartitionsEnd(t *testing.T, d *bobbintest.Dawdler) {
	t.Helper()
	d.CheckSucceeds(t)
	wait.Until(t, "no partition is left", func() bool { return len(d.User.Partitions(t, d.Application)) == 0 })
}

// TestFinishedPartitionsOutliveTheMaster would catch a next ApplicationMaster that lets finished readers run again, workers that
// remove partitions when their ApplicationMaster is lost, and partitions that nobody removes at the end.
func TestFinishedPartitionsOutliveTheMaster(t *testing.T) {
	t.Parallel()
	d := late(t, suite.User(t, bobbintest.Alice))
	before, workers := written(t, d), d.Processes(t, bobbintest.TaskExecutor)
	if len(before) != 2 {
		t.Fatalf("the partitions are %v, want 2", before)
	}
	master(t, d.Application).Kill(t)
	d.AwaitSuccessor(t)
	if diff := cmp.Diff(workers, d.Processes(t, bobbintest.TaskExecutor)); diff != "" {
		t.Errorf("the workers are not the same (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, written(t, d)); diff != "" {
		t.Errorf("the readers' partitions are not the same (-before +after):\n%s", diff)
	}
	checkPartitionsEnd(t, d)
}

// TestMasterAndWorkerDieAtTheSameTime would catch a next ApplicationMaster that waits for the dead worker's partitions for
// ever, and splits that are read twice or by nobody: it cannot know which of them the lost reader had.
func TestMasterAndWorkerDieAtTheSameTime(t *testing.T) {
	t.Parallel()
	d := late(t, suite.User(t, bobbintest.Alice), "-D", "execution.batch.job-recovery.previous-worker.recovery.timeout=5s")
	victims := []bobbintest.Process{master(t, d.Application), d.First(t, bobbintest.TaskExecutor)}
	for _, p := range victims {
		p.Kill(t)
	}
	d.AwaitSuccessor(t)
	for _, p := range written(t, d) {
		if p.Container == victims[1].Container || p.Producer.Epoch == 1 {
			t.Errorf("the tasks read %s, which is of a source of two ApplicationMasters", p.File)
		}
	}
	checkPartitionsEnd(t, d)
}

// TestAFrozenWorkerServesNothingAfterItsLoss freezes a worker with partitions, and its node, and wakes them up when another
// worker has written the partitions again. It would catch readers that run again although their partitions are there, and
// records of the woken worker's tasks in the result.
func TestAFrozenWorkerServesNothingAfterItsLoss(t *testing.T) {
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "pauses the NodeManager of a worker")
	d := late(t, suite.UserOf(t, c, bobbintest.Alice), "-D", "heartbeat.interval=1s", "-D", "heartbeat.timeout=5s")
	before, victim := d.Readers(t), d.First(t, bobbintest.TaskExecutor)
	frozen := slices.DeleteFunc(processes(t, d.Application), func(p bobbintest.Process) bool { return p.Container != victim.Container })
	node := freeze(t, c, victim)
	for _, p := range frozen {
		p.Signal(t, syscall.SIGSTOP)
	}
	d.AwaitRestart(t)
	d.CheckReaders(t, before, victim.Container)
	for _, p := range frozen {
		p.Signal(t, syscall.SIGCONT)
	}
	d.Release(t)
	wait.Until(t, "the woken worker has ended", func() bool {
		return !slices.ContainsFunc(processes(t, d.Application), func(p bobbintest.Process) bool { return slices.Contains(frozen, p) })
	})
	node.resume(t)
	checkPartitionsEnd(t, d)
}
