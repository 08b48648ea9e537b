package randomjobs_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/randomjobs"
	"github.com/bobbin-yarn/bobbin/internal/testing/longtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var one = flag.Uint64("seed", 0, "run only the job of this seed")

// setting is how a job runs.
type setting struct {
	parallelism int
	kills       []randomjobs.Kill
	config      map[string]string
	yields      bool // to AUTOMATIC, if the job would wait for itself with pipelined edges
}

// outcome is how a job has run.
type outcome struct {
	difference string // from the evaluation; "": none
	spilled    bool   // operators have written to files
	restarts   int
}

const (
	shuffleMode = "execution.batch-shuffle-mode"
	pipelined   = "ALL_EXCHANGES_PIPELINED"
)

// leastMemory makes operators spill, and edges wait for buffers.
func leastMemory() map[string]string {
	return map[string]string{
		"taskmanager.memory.managed.size": "1m",
		"taskmanager.memory.network.min":  "64k", "taskmanager.memory.network.max": "64k",
		"taskmanager.network.sort-shuffle.min-buffers": "16",
	}
}

// settle chooses how the job of a seed runs.
func settle(seed uint64, j randomjobs.Job, kills bool) setting {
	random := rand.New(rand.NewPCG(seed, 1))
	s := setting{parallelism: 1 + random.IntN(4), config: leastMemory(), yields: true}
	s.config[shuffleMode] = []string{"AUTOMATIC", "ALL_EXCHANGES_BLOCKING", pipelined}[random.IntN(3)]
	s.config["table.optimizer.join.broadcast-threshold"] = []string{"-1", "2000", "1048576"}[random.IntN(3)]
	if s.config[shuffleMode] != pipelined && random.IntN(2) == 0 {
		s.config["taskmanager.numberOfTaskSlots"] = "1" // the job runs in waves, perhaps after a part of it has run
	}
	if kills {
		s.kills = j.Kills(random, 1+random.IntN(3), s.parallelism)
	}
	return s
}

// run runs a job, and compares its result with the evaluation. The error is that of the job, or says that a kill has not happened.
func (s setting) run(t *testing.T, j randomjobs.Job) (out outcome, err error) {
	t.Helper()
	files := dataflowtest.NewFiles(j.Files())
	o := clustertest.Options{Files: files, Parallelism: s.parallelism, Config: s.config, Restarts: &out.restarts}
	for _, k := range s.kills {
		o.Faults = append(o.Faults, clustertest.KillWorker(k.Operator).After(k.After))
	}
	result, err := clustertest.NewEnv(t, o).Execute(t.Context(), randomjobs.Registered, j)
	if s.yields && errors.Is(err, dataflow.ErrWouldDeadlock) {
		o.Config[shuffleMode] = "AUTOMATIC"
		result, err = clustertest.NewEnv(t, o).Execute(t.Context(), randomjobs.Registered, j)
	}
	if err != nil {
		return out, err
	}
	out.spilled = result.Counters["spilledBytes"] > 0
	out.difference, err = j.Check(files.Files(), result)
	return out, err
}

// tally counts what has happened in the jobs of a test.
type tally struct {
	jobs, spilled, restarted atomic.Int64
	kills                    atomic.Int64 // of workers. A job that ends before one of its kills fails
	restarts                 atomic.Int64
}

func (c *tally) add(s setting, out outcome) {
	c.jobs.Add(1)
	if out.spilled {
		c.spilled.Add(1)
	}
	if out.restarts > 0 {
		c.restarted.Add(1)
	}
	c.kills.Add(int64(len(s.kills)))
	c.restarts.Add(int64(out.restarts))
}

// judge fails the test if too few jobs have met what they are for. The jobs are the same in each run, but whether an operator writes to
// files also depends on which others run.
func (c *tally) judge(t *testing.T, kills bool) {
	t.Helper()
	jobs, spilled := c.jobs.Load(), c.spilled.Load()
	t.Logf("%d jobs: %d have written to files; %d workers were killed, and %d jobs have restarted %d times", jobs, spilled, c.kills.Load(), c.restarted.Load(), c.restarts.Load())
	if spilled < jobs/leastSpilled {
		t.Errorf("only %d of %d jobs have written to files: they need more input, or less memory", spilled, jobs)
	}
	if restarted := c.restarted.Load(); kills && restarted < jobs-jobs/mostSpared {
		t.Errorf("only %d of %d jobs have restarted: the others have lost no worker", restarted, jobs)
	}
}

const (
	leastSpilled = 6  // at least one in so many jobs writes to files
	mostSpared   = 20 // at most one in so many jobs loses no worker, because it has no element
)

// jobs runs the jobs of n seeds in CI, and of long seeds in a long run.
func jobs(t *testing.T, from, n, long uint64, kills bool) {
	t.Helper()
	t.Parallel()
	if longtest.Is() {
		n = long
	}
	if *one != 0 {
		from, n = *one, 1
	}
	var count tally
	if *one == 0 {
		t.Cleanup(func() { count.judge(t, kills) })
	}
	for seed := from; seed < from+n; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			j := randomjobs.Generate(seed)
			s := settle(seed, j, kills)
			out, err := s.run(t, j)
			if err == nil && out.difference == "" {
				count.add(s, out)
				return
			}
			t.Errorf("%v\n%s\nThe job (run it alone with -seed %d), with parallelism %d, %v, %v:\n%s", err, out.difference, seed, s.parallelism, s.kills, s.config, j)
			if smaller := s.shrink(t, j); len(smaller.Nodes) < len(j.Nodes) {
				t.Errorf("A smaller job fails, too:\n%s", smaller)
			}
		})
	}
}

// shrink removes nodes from a job that fails, as long as it fails. It does not look for the same error.
func (s setting) shrink(t *testing.T, j randomjobs.Job) randomjobs.Job {
	t.Helper()
	s.kills = nil // they name nodes
	for tries := 0; tries < maxTries; {
		smaller := j
		for _, smaller = range j.Smaller() {
			if tries++; tries > maxTries {
				break
			}
			if out, err := s.run(t, smaller); err != nil || out.difference != "" {
				break
			}
			smaller = j
		}
		if len(smaller.Nodes) == len(j.Nodes) {
			break
		}
		j = smaller
	}
	return j
}

// maxTries bounds the runs of smaller jobs.
const maxTries = 60

// TestRandomJobs would catch each wrong result of an operator, and of operators together: elements that are lost, come twice, or are
// overwritten while someone needs them; keys that two codecs encode differently; and jobs that wait for themselves.
func TestRandomJobs(t *testing.T) { jobs(t, 1, 200, 1000, false) }

// TestRandomJobsWithKills would catch an operator that counts elements of a lost attempt, or misses some, and a sink whose parts come
// twice or not at all if a worker is lost between their end and their commit.
func TestRandomJobsWithKills(t *testing.T) { jobs(t, 100_001, 200, 1000, true) }
