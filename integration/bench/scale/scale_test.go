package scale

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

var (
	deployWorkers = flag.Int("deploy-workers", 20, "workers of TestDeployment; its job has as many subtasks of each vertex as they have slots")
	steadyWorkers = flag.Int("steady-workers", 40, "workers of TestSteadyState")
	output        = flag.String("figures", "", "`file` for the figures, in JSON")
)

// slotsPerWorker is the number of slots of each worker.
const slotsPerWorker = 4

func (m *master) slotsOfWorker() int { return m.options.Int(config.TaskSlots) }

// Figures of a test, by name. Processor time and memory are the master's. Times are in ns, sizes in bytes.
type figures map[string]int64

func (f figures) write(t *testing.T) {
	t.Helper()
	t.Log(f)
	if *output == "" {
		return
	}
	data, err := json.Marshal(f)
	if err == nil {
		err = os.WriteFile(*output, data, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// graph is a job with an all-to-all edge.
func graph(parallelism int) *jobgraph.JobGraph {
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "scale", Name: "scale",
		Vertices: []jobgraph.Vertex{{Name: "read", Parallelism: parallelism, Source: true}, {Name: "count", Parallelism: parallelism}},
		Edges:    []jobgraph.Edge{{From: 0, To: 1, Pattern: jobgraph.AllToAll}},
	}
	g.Digest = g.ComputeDigest()
	return g
}

func (m *master) submit(parallelism int) {
	m.job = "0123456789abcdef0123456789abcdef"
	m.measure(func() {
		err := m.Submit(m.t.Context(), dispatcher.Submission{
			Job: m.job, Graph: graph(parallelism), Program: msg.Program{Name: "scale", SHA256: strings.Repeat("5a", 32)},
		})
		if err != nil {
			m.t.Error(err)
		}
	})
}

// running checks that so many tasks of the job run.
func (m *master) running(want int) {
	m.t.Helper()
	d, err := m.Dispatcher.JobDetails(m.t.Context(), m.job)
	if err != nil {
		m.t.Fatal(err)
	}
	n := 0
	for _, v := range d.Vertices {
		n += v.Tasks[msg.ExecutionRunning]
	}
	if n != want {
		m.t.Fatalf("%d of %d tasks run; job is %s: %v", n, want, d.Status, d.Root)
	}
}

// TestDeployment submits a job to a session without workers, until all tasks run; then a worker is lost.
// It would catch a cluster of this size that does not deploy its job, and shows what that costs.
func TestDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := figures{}
		m := begin(t, slotsPerWorker, nil)
		parallelism := *deployWorkers * slotsPerWorker
		m.submit(parallelism)
		m.settle()
		m.running(2 * parallelism)
		f["processor time to RUNNING"], f["bytes to RUNNING"] = int64(m.spent), m.sent
		for _, w := range m.list {
			f["bytes of deployment"] += int64(w.deployed)
		}
		f["peak memory"] = peak(t)
		f["decoding in a TaskExecutor"], f["decoding in a task host"] = decoding(t, m.deployment, parallelism)

		before := m.spent
		m.measure(func() { m.lose(m.list[len(m.list)/2]) })
		f["processor time of a loss"] = int64(m.spent - before)
		m.settle()
		m.running(2 * parallelism)
		f["processor time to RUNNING again"] = int64(m.spent - before)
		restarts := 0
		for _, w := range m.list {
			restarts += w.restarts
		}
		if restarts != *deployWorkers-1 {
			t.Errorf("%d hosts got their tasks again, want %d", restarts, *deployWorkers-1)
		}
		f.write(t)
	})
}

// decoding gives the time that one deployment takes a TaskExecutor, which passes it on, and a task host.
func decoding(t *testing.T, frame []byte, parallelism int) (executor, host int64) {
	t.Helper()
	const rounds = 20
	for range rounds {
		before := processorTime()
		f, err := rolerpc.DecodeFrame(frame, msg.JobMasterToTaskExecutor)
		if err != nil {
			t.Fatal(err)
		}
		data, err := codec.Encode(f.Message)
		if err != nil {
			t.Fatal(err)
		}
		between := processorTime()
		m, err := codec.Decode(data, msg.TaskExecutorToHost)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := placement.Decode(m.(msg.DeployTasks).Producers, []int{parallelism, parallelism}); err != nil {
			t.Fatal(err)
		}
		executor, host = executor+int64(between-before), host+int64(processorTime()-between)
	}
	return executor / rounds, host / rounds
}

// TestSteadyState has a cluster whose workers only beat, idle and with a job in a quarter of the slots, one on each
// worker. It would catch a worker that is lost though it beats, and shows what the heartbeats and the progress cost.
func TestSteadyState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := figures{}
		n := *steadyWorkers
		m := begin(t, slotsPerWorker, map[string]string{
			config.SlotsMin.Name(): fmt.Sprint(n * slotsPerWorker), config.LoadBalanceMode.Name(): config.BalanceSlots,
			config.SlotsMax.Name(): fmt.Sprint(n * slotsPerWorker),
		})
		m.settle()
		if len(m.list) != n {
			t.Fatalf("%d workers have started, want %d", len(m.list), n)
		}
		f["processor time to registered"] = int64(m.spent)
		f["idle, share of a core in ppm"] = m.steady()
		m.submit(n)
		m.settle()
		m.running(2 * n)
		f["busy, share of a core in ppm"] = m.steady()
		m.running(2 * n)
		executors, err := m.ResourceManager.Status(t.Context())
		if err != nil || len(executors.TaskExecutors) != n {
			t.Errorf("%d workers are left, error %v", len(executors.TaskExecutors), err)
		}
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		f["memory"] = int64(stats.HeapAlloc + stats.StackInuse)
		f.write(t)
	})
}

// steady lets a minute pass in which all workers beat each 10 s (heartbeat.interval), a hundredth of them each 100 ms,
// and gives the master's share of a core in millionths.
func (m *master) steady() int64 {
	const ticks, interval = 100, 10 * time.Second
	beats := make([][]func(), ticks)
	for i, w := range m.list {
		beats[i%ticks] = append(beats[i%ticks], w.beat()...)
	}
	before := m.spent
	begin := time.Now()
	for range 6 {
		for _, say := range beats {
			m.measure(func() {
				for _, f := range say {
					f()
				}
				time.Sleep(interval / ticks)
			})
		}
		for _, w := range m.list { // they drop what they hear
			for _, l := range []*link{w.rm, w.jm} {
				if l != nil {
					l.read()
				}
			}
		}
	}
	return int64(m.spent-before) * 1_000_000 / int64(time.Since(begin))
}

// peak is the most memory of this process so far.
func peak(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), "VmHWM:")
	var kilobytes int64
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
