package jobs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// operatorsSeed is the environment variable with the seed of a run to repeat.
const operatorsSeed = "BOBBIN_TEST_SEED"

// TestEachOperatorIsExactThoughWorkersDie compares the program operators with a naive evaluation. It kills workers when
// random vertices have begun. It would catch an operator whose state or spilled files outlive an attempt, one that reads a
// part of its input twice or takes a lost worker for the end of its input, and partitions of two attempts in one result.
func TestEachOperatorIsExactThoughWorkersDie(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	seed := rand.Uint64()
	if text := os.Getenv(operatorsSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", operatorsSeed, err)
		}
	}
	t.Logf("to repeat this run, set %s=%d", operatorsSeed, seed)
	for i, mode := range []string{"AUTOMATIC", "ALL_EXCHANGES_BLOCKING"} {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			alice := suite.User(t, bobbintest.Alice)
			left, right := records(random, 4000, 300), records(random, 600, 400)
			dir := alice.Scratch(t)
			put(t, alice, dir+"/left", left, 4)
			put(t, alice, dir+"/right", right, 2)
			d := suite.Gated(t, alice, "operators", []string{dir + "/left", dir + "/right"}, []string{
				"-p", "2", "-s", "1", "-tm", "640m", "-D", "taskmanager.memory.managed.size=1m",
				"-D", "restart-strategy.type=none", "-D", "execution.batch-shuffle-mode=" + mode,
			})
			for range 3 {
				killWhenBegun(t, d, random)
			}
			checkOperators(t, d.Result(t), left, right)
			if ended := d.Run.Wait(t); !strings.Contains(ended.Stdout+ended.Stderr, "spilledBytes: ") {
				t.Errorf("no operator has written to files: the job needs less memory\n%s", ended)
			}
		})
	}
}

// killWhenBegun kills a worker when a task of a vertex has begun, and waits until there are two others. The last vertex commits, and
// begins only when the gate is open.
func killWhenBegun(t *testing.T, d *bobbintest.Dawdler, random *rand.Rand) {
	t.Helper()
	place, at := random.Float64(), random.IntN(2)
	wait.Until(t, "a vertex has begun", func() bool {
		vertices := d.Details(t).Vertices
		if len(vertices) == 0 {
			return false
		}
		v := vertices[int(place*float64(len(vertices)-1))]
		begun := v.Tasks[msg.ExecutionRunning]+v.Tasks[msg.ExecutionFinished] > 0
		if begun {
			t.Logf("kills worker %d when %q has begun", at, v.Name)
		}
		return begun
	})
	var workers map[string]bobbintest.Process
	two := func() bool {
		workers = d.Processes(t, bobbintest.TaskExecutor)
		return len(workers) == 2
	}
	wait.Until(t, "the job has two workers", two)
	victim := workers[slices.Sorted(maps.Keys(workers))[at]]
	victim.Kill(t)
	wait.Until(t, "the job has two other workers", func() bool {
		_, alive := d.Processes(t, bobbintest.TaskExecutor)[victim.Container]
		return !alive && two()
	})
}

// record is a line of the program's input.
type record struct {
	key   string
	value int64
}

// records makes records of so many keys. Their values are different.
func records(random *rand.Rand, n, keys int) []record {
	all := make([]record, n)
	for i, v := range random.Perm(n) {
		all[i] = record{fmt.Sprint("key-", random.IntN(1+random.IntN(keys))), int64(v)} // skewed
	}
	return all
}

// put writes records into files of a directory on HDFS.
func put(t *testing.T, u *bobbintest.User, dir string, all []record, files int) {
	t.Helper()
	local := t.TempDir()
	for i, part := range slices.Collect(slices.Chunk(all, len(all)/files)) {
		var text strings.Builder
		for _, r := range part {
			fmt.Fprintln(&text, r.key, r.value)
		}
		if err := os.WriteFile(filepath.Join(local, fmt.Sprint(i)), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u.Put(t, local, dir)
}

// checkOperators compares the lines of each operator with a naive evaluation.
func checkOperators(t *testing.T, lines []string, left, right []record) {
	t.Helper()
	got := make(map[string][]string) // by operator; sorted, because lines are
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, " ")
		got[name] = append(got[name], rest)
	}
	checkLimit(t, got["limit"], left)
	checkPartitionOrder(t, got["sorted-partition"], left)
	want := naive(left, right)
	for name, down := range map[string]bool{"sort": false, "descending": true} {
		want[name] = ordered(left, down)
		got[name] = withoutPlaces(got[name])
	}
	delete(got, "limit")
	delete(got, "sorted-partition")
	for name := range want {
		if name != "sort" && name != "descending" {
			slices.Sort(want[name])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results differ (-want +got):\n%.3000s", diff)
	}
}

// checkLimit checks that the lines are different records.
func checkLimit(t *testing.T, lines []string, of []record) {
	t.Helper()
	all := make(map[string]bool)
	for _, r := range of {
		all[r.String()] = true
	}
	for _, line := range lines {
		if !all[line] {
			t.Errorf("limit: %q is no record, or comes twice", line)
		}
		delete(all, line)
	}
	if len(lines) != 25 {
		t.Errorf("limit: %d lines, want 25", len(lines))
	}
}

// checkPartitionOrder checks that the values of each subtask ascend, and that all are there.
func checkPartitionOrder(t *testing.T, lines []string, of []record) {
	t.Helper()
	last := make(map[string]int64) // by subtask
	var values []int64
	for _, line := range lines {
		subtask, _, _ := strings.Cut(line, " ")
		v, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if before, there := last[subtask]; there && before >= v {
			t.Errorf("sorted-partition: %d comes before %d", before, v)
		}
		last[subtask] = v
		values = append(values, v)
	}
	slices.Sort(values)
	for i, v := range values { // the values are the numbers from 0
		if int64(i) != v {
			t.Errorf("sorted-partition: value %d is at %d", v, i)
			break
		}
	}
	if len(values) != len(of) {
		t.Errorf("sorted-partition: %d values, want %d", len(values), len(of))
	}
}

// withoutPlaces returns the last words of lines.
func withoutPlaces(lines []string) []string {
	var values []string
	for _, line := range lines {
		values = append(values, line[strings.LastIndexByte(line, ' ')+1:])
	}
	return values
}
