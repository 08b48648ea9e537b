package rest

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	measure "github.com/bobbin-yarn/bobbin/internal/metrics/status"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// herd has workers from the number first on, each with task hosts of the same jobs. After each tick they have used more.
type herd struct {
	first, n, hosts int
	ticks           int64

	together measure.Together
	used     msg.Usage                 // of workers
	last     map[int]msg.Usage         // of each worker
	made     int                       // workers of which samples were made
	jobs     map[ids.JobID]msg.Usage   // of the hosts of each job
	ofHosts  map[string]msg.Usage      // of each host
	reports  map[int]msg.WorkerMetrics // of the present workers
}

// tick lets the workers report.
func (c *herd) tick() {
	c.ticks++
	if c.last == nil {
		c.last, c.jobs, c.ofHosts = make(map[int]msg.Usage), make(map[ids.JobID]msg.Usage), make(map[string]msg.Usage)
	}
	c.reports, c.together = make(map[int]msg.WorkerMetrics), measure.Together{}
	for w := c.first; w < c.first+c.n; w++ {
		process := msg.ProcessMetrics{Resident: 2, Threads: 1, CPUTime: time.Duration(c.ticks * int64(w+1))}
		calls := msg.CallMetrics{Calls: c.ticks * int64(w+1), Latency: &metrics.Summary{Count: 1}}
		m := msg.WorkerMetrics{Process: process, HDFS: &msg.HDFSMetrics{NameNode: calls, Read: calls, Write: calls}}
		for h := range c.hosts {
			m.Hosts = append(m.Hosts, msg.HostMetrics{Job: ids.JobID(fmt.Sprint("j", h)), Resident: 3, HDFS: m.HDFS, Process: &process})
		}
		c.reports[w] = m
		c.together.Add(m)
		now := msg.UsageOf(&m.Process, m.HDFS, c.last[w])
		c.used.Grow(c.last[w], now)
		c.last[w] = now
		for _, h := range m.Hosts {
			key := fmt.Sprint(w, h.Job)
			job, now := c.jobs[h.Job], msg.UsageOf(h.Process, h.HDFS, c.ofHosts[key])
			job.Grow(c.ofHosts[key], now)
			c.jobs[h.Job], c.ofHosts[key] = job, now
		}
	}
}

// metrics are those of the herd, as the ApplicationMaster makes them.
func (c *herd) metrics(m Metrics) Metrics {
	known := func(ids.JobID) (string, bool) { return "count", true }
	m.Workers = func(context.Context) (iter.Seq[MeasuredWorker], error) {
		c.made = 0
		return func(yield func(MeasuredWorker) bool) {
			for w := c.first; w < c.first+c.n; w++ {
				if !yield(MeasuredWorker{ID: fmt.Sprint("w", w), Samples: func() []metrics.Sample {
					c.made++
					return measure.OfWorker("node2", fmt.Sprint("w", w), c.reports[w], known)
				}}) {
					return
				}
			}
		}, nil
	}
	m.Together = func(context.Context) ([]metrics.Sample, error) {
		all := c.together.OfWorkers(c.used)
		for h := range c.hosts {
			job := ids.JobID(fmt.Sprint("j", h))
			all = append(all, c.together.OfJob(job, "count", c.jobs[job])...)
		}
		return all, nil
	}
	return m
}

// server serves the metrics of the herd.
func (c *herd) server() *Server {
	s := newServer(&fakeGateway{})
	s.config.Metrics = c.metrics(s.config.Metrics)
	return s
}

// TestTheTextIsBoundedForManyWorkers would catch a text of a hundred megabytes, samples of ten thousand workers that are made and
// thrown away, sums that lack the workers which are not shown, and a number of these that is wrong.
func TestTheTextIsBoundedForManyWorkers(t *testing.T) {
	t.Parallel()
	c := &herd{n: 10_000, hosts: 4}
	c.tick()
	body := askServer(c.server(), http.MethodGet, "/metrics").Body.String()
	if len(body) > 6<<20 {
		t.Errorf("the text has %d bytes", len(body))
	}
	lines := strings.Split(body, "\n")
	series := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "bobbin_taskmanager_") {
			series++
		}
	}
	if series > mostWorkerSeries || series < mostWorkerSeries*9/10 {
		t.Errorf("workers have %d series", series)
	}
	shown := c.made - 1 // and one in part, or not at all
	for _, want := range []string{
		"bobbin_taskmanagers_Status_Process_Memory_Resident 20000", `bobbin_taskmanagers_job_Status_Process_Memory_Resident{job_id="j3",job_name="count"} 30000`,
		"bobbin_taskmanagers_Status_Container_Memory_Resident 140000", "bobbin_taskmanagers_Status_Go_CPU_Time 5.0005e+07",
		`bobbin_taskmanagers_job_Hdfs_calls{job_id="j0",job_name="count",operation="read"} 5.0005e+07`,
		fmt.Sprintf(`bobbin_jobmanager_numTaskManagersNotShown{host="node1"} %d`, c.n-shown),
		fmt.Sprintf(`bobbin_taskmanager_Status_Go_Threads_Count{host="node2",tm_id="w%d"} 1`, shown-1),
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
}

// TestFewWorkersAreShownWhole would catch a worker without its metrics although there is room.
func TestFewWorkersAreShownWhole(t *testing.T) {
	t.Parallel()
	c := &herd{n: 50, hosts: 4}
	c.tick()
	lines := strings.Split(askServer(c.server(), http.MethodGet, "/metrics").Body.String(), "\n")
	for _, want := range []string{
		`bobbin_jobmanager_numTaskManagersNotShown{host="node1"} 0`, `bobbin_taskmanager_job_Hdfs_latency_count{host="node2",job_id="j3",job_name="count",operation="write",tm_id="w49"} 1`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
}

// TestTheTextOfManyWorkersAllocatesNoMore would catch samples of all workers that are made before most of them are left out: each
// worker with four hosts has more than two hundred.
func TestTheTextOfManyWorkersAllocatesNoMore(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the allocations of the process
	allocations := func(workers int) float64 {
		c := &herd{n: workers, hosts: 4}
		c.tick()
		all := c.metrics(Metrics{})
		return testing.AllocsPerRun(1, func() {
			if _, err := all.all(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	const few, many = 200, 10_000
	if a, b := allocations(few), allocations(many); b-a > 4*(many-few) { // the ids of the herd, and a closure
		t.Errorf("the samples of %d workers make %v allocations, and those of %d make %v", few, a, many, b)
	}
}

// countersIn are the values of the counters of a text, by series.
func countersIn(t *testing.T, text string) map[string]float64 {
	t.Helper()
	values, counters := make(map[string]float64), make(map[string]bool)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if strings.HasPrefix(line, "# TYPE ") {
			counters[words[2]] = words[3] == "counter"
			continue
		}
		if name, _, _ := strings.Cut(words[0], "{"); counters[name] {
			at := strings.LastIndexByte(line, ' ')
			value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			values[line[:at]] = value
		}
	}
	return values
}

// TestNoCounterFallsWhileWorkersComeAndGo would catch a sum that loses what a worker has counted when it ends or gets a place in the
// text: Prometheus takes that for a new beginning, and its rate() has a peak as high as the sum.
func TestNoCounterFallsWhileWorkersComeAndGo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	c := &herd{n: 110, hosts: 4}
	s := c.server()
	before := make(map[string]float64)
	for _, step := range []struct{ end, come int }{{0, 0}, {20, 0}, {0, 50}, {60, 60}, {100, 0}, {0, 0}} {
		c.first += step.end
		c.n += step.come - step.end
		c.tick()
		now := countersIn(t, askServer(s, http.MethodGet, "/metrics").Body.String())
		if len(now) < 50 {
			t.Fatalf("there are %d counters", len(now))
		}
		for series, value := range before {
			if after, shown := now[series]; shown && after < value {
				t.Errorf("after %d workers have ended and %d have come, %s falls from %v to %v", step.end, step.come, series, value, after)
			}
		}
		if now["bobbin_taskmanagers_Status_Go_CPU_Time"] <= before["bobbin_taskmanagers_Status_Go_CPU_Time"] {
			t.Error("the processor time of all workers does not grow")
		}
		before = now
	}
}
