package jobs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestOnlyTheProducersOfLostPartitionsRunAgain kills a worker with partitions that the running tasks read. It would
// catch readers that run again although their partitions are there; a job that waits for partitions that are lost;
// records that are missing or counted twice then; and files of partitions that stay on a node.
func TestOnlyTheProducersOfLostPartitionsRunAgain(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"all exchanges are blocking": {"-p", "2", "-D", "execution.batch-shuffle-mode=ALL_EXCHANGES_BLOCKING"},
		"the job runs in waves":      {"-p", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alice := suite.User(t, bobbintest.Alice)
			d := suite.DawdleLate(t, alice, append(flags, "-D", "restart-strategy.type=none")...)
			before := d.Readers(t)
			victim := d.First(t, bobbintest.TaskExecutor)
			victim.Kill(t)
			d.AwaitRestart(t)
			d.CheckReaders(t, before, victim.Container)
			d.CheckSucceeds(t)
			wait.Until(t, "no partition is left", func() bool { return len(alice.Partitions(t, d.Application)) == 0 })
		})
	}
}

// TestALostDiskCostsOnlyItsProducers loses a worker's disk with partitions, and lets a task read them again. It would catch
// readers that run again although their partitions are there, a job that takes the loss for a failure of the tasks that
// read, and a worker that cannot write any more.
func TestALostDiskCostsOnlyItsProducers(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.DawdleLate(t, alice, "-p", "2", "-D", "execution.batch-shuffle-mode=ALL_EXCHANGES_BLOCKING")
	before := d.Readers(t)
	victim := d.First(t, bobbintest.TaskExecutor).Container
	for _, p := range alice.Partitions(t, d.Application) {
		if p.Container != victim {
			continue
		}
		if err := os.Truncate(p.File, 0); err != nil && !errors.Is(err, fs.ErrNotExist) { // the worker has it open
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Dir(filepath.Dir(p.File))); err != nil {
			t.Fatal(err)
		}
	}
	for container, host := range d.Processes(t, bobbintest.TaskHost) {
		if container != victim { // the next attempt of its task reads again
			host.Kill(t)
		}
	}
	d.AwaitRestart(t)
	d.CheckReaders(t, before, victim)
	d.CheckSucceeds(t)
}

// TestTwoThousandByTwoThousand has 2,000 tasks that each read from 2,000 others, in one worker of 1 GB. It would catch memory of
// the worker, or of the ApplicationMaster, that grows with the 4 million channels of the job, and records that are lost among them.
func TestTwoThousandByTwoThousand(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	l := stageLanguage(t, "100m", "1m")
	l.count(t, []string{
		"-p", "2000", "-s", "4", "-D", "taskmanager.memory.process.size=1024m", "-D", "slotmanager.number-of-slots.max=4",
		"-D", "execution.batch-shuffle-mode=ALL_EXCHANGES_BLOCKING", "-D", "restart-strategy.type=none",
	}, func(testing.TB, string) {})
}
