package randomjobs_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/randomjobs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setting is how a job runs.
type setting struct {
	parallelism int
	kills       []randomjobs.Kill
	config      map[string]string
}

// leastMemory makes operators spill, and edges wait for buffers.
func leastMemory() map[string]string {
	return map[string]string{
		"taskmanager.memory.managed.size": "1m",
		"taskmanager.memory.network.min":  "1m", "taskmanager.memory.network.max": "1m",
		"taskmanager.network.sort-shuffle.min-buffers": "16",
	}
}

// settle chooses how the job of a seed runs.
func settle(seed uint64, j randomjobs.Job, kills bool) setting {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
	s := setting{parallelism: 1 + random.IntN(4), config: leastMemory()}
	s.config["execution.batch-shuffle-mode"] = []string{"AUTOMATIC", "ALL_EXCHANGES_BLOCKING", "ALL_EXCHANGES_PIPELINED"}[random.IntN(3)]
	s.config["table.optimizer.join.broadcast-threshold"] = []string{"-1", "2000", "1048576"}[random.IntN(3)]
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
		o.Config["execution.batch-shuffle-mode"] = "AUTOMATIC"
		result, err = clustertest.NewEnv(t, o).Execute(t.Context(), randomjobs.Registered, j)
	}
	if err != nil {
		return "", err
	}
	return j.Check(files.Files(), result)
}

// jobs runs the jobs of some seeds.
func jobs(t *testing.T, from, n uint64, kills bool) {
	t.Helper()
	if text := os.Getenv("BOBBIN_RANDOM_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		from, n = seed, 1
	}
	for seed := from; seed < from+n; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			j := randomjobs.Generate(seed)
			s := settle(seed, j, kills)
			if difference, err := s.run(t, j); err != nil || difference != "" {
				t.Errorf("seed %d, %+v: %v\n%s\n%s", seed, s, err, difference, j)
			}
		})
	}
}

func TestRandomJobs(t *testing.T) {
	t.Parallel()
	jobs(t, 1, 100, false)
}

func TestRandomJobsWithKills(t *testing.T) {
	t.Parallel()
	jobs(t, 1001, 100, true)
}
