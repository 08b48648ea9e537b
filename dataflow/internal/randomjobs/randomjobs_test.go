package randomjobs_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"strconv"
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
	spills      bool // an operator must write to files
}

const shuffleMode = "execution.batch-shuffle-mode"

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
	s := setting{parallelism: 1 + random.IntN(4), config: leastMemory()}
	s.config[shuffleMode] = []string{"AUTOMATIC", "ALL_EXCHANGES_BLOCKING", "ALL_EXCHANGES_PIPELINED"}[random.IntN(3)]
	s.config["table.optimizer.join.broadcast-threshold"] = []string{"-1", "2000", "1048576"}[random.IntN(3)]
	if s.config[shuffleMode] != "ALL_EXCHANGES_PIPELINED" && random.IntN(2) == 0 {
		s.config["taskmanager.numberOfTaskSlots"] = "1" // the job runs in waves, perhaps after a part of it has run
	}
	if kills {
		s.kills = j.Kills(random, 1+random.IntN(3))
	}
	return s
}

// run runs a job, and compares its result with the evaluation.
func (s setting) run(t *testing.T, j randomjobs.Job) (difference string, err error) {
	t.Helper()
	files := dataflowtest.NewFiles(j.Files())
	o := clustertest.Options{Files: files, Parallelism: s.parallelism, Config: s.config}
	for _, k := range s.kills {
		o.Faults = append(o.Faults, clustertest.KillWorker(k.Operator).After(k.After))
	}
	result, err := clustertest.NewEnv(t, o).Execute(t.Context(), randomjobs.Registered, j)
	if errors.Is(err, dataflow.ErrWouldDeadlock) {
		o.Config[shuffleMode] = "AUTOMATIC"
		result, err = clustertest.NewEnv(t, o).Execute(t.Context(), randomjobs.Registered, j)
	}
	if err != nil {
		return "", err
	}
	if s.spills && result.Counters["spilledBytes"] == 0 {
		return "no operator has written to files: the job needs more input", nil
	}
	return j.Check(files.Files(), result)
}

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
	for seed := from; seed < from+n; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			j := randomjobs.Generate(seed)
			s := settle(seed, j, kills)
			difference, err := s.run(t, j)
			if err == nil && difference == "" {
				return
			}
			t.Errorf("%v\n%s\nThe job (run it alone with -seed %d), with parallelism %d, %v, %v:\n%s", err, difference, seed, s.parallelism, s.kills, s.config, j)
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
			if difference, err := s.run(t, smaller); err != nil || difference != "" {
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

// TestRandomJobsWithKills would catch an operator that counts elements of a lost attempt, or misses some.
func TestRandomJobsWithKills(t *testing.T) { jobs(t, 100_001, 60, 400, true) }
